#ifndef CAFFE_TEST_RANDOM_NETS_HPP_
#define CAFFE_TEST_RANDOM_NETS_HPP_

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "caffe/io/proto_text.hpp"
#include "caffe/net.hpp"
#include "caffe/util/io.hpp"
#include "seeded_numbers.hpp"

namespace caffe {

/// A small valid net of random layers on one input "data", the same for the same seed: convolutions
/// of all kinds, normalizations, activations, pooling, joints and cuts, in place and not, and
/// heads of inner products.
class RandomNet : private SeededNumbers {
 public:
  explicit RandomNet(unsigned seed) : SeededNumbers(seed) {
    batch_ = Number(1, 3);
    const Image data = {"data", Number(1, 4), Number(5, 12), Number(5, 12)};
    text_ << "name: 'random" << seed << "'\n"
          << "layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: " << batch_
          << " dim: " << data.channels << " dim: " << data.height << " dim: " << data.width
          << " } } }\n";
    images_.push_back(data);
    for (int steps = Number(4, 12); steps > 0; --steps) AddSomething();
    for (int heads = Number(0, 2); heads > 0; --heads) AddHead();
  }

  std::string text() const { return text_.str(); }

  /// The net in the TEST phase, with random parameters and a random input.
  std::unique_ptr<Net<float>> Make() {
    NetParameter param;
    ParseProtoText(text(), "random net", &param);
    param.mutable_state()->set_phase(TEST);
    auto net = std::make_unique<Net<float>>(param);
    for (const auto& layer : net->layers()) {
      for (size_t j = 0; j < layer->blobs().size(); ++j) {
        Blob<float>& blob = *layer->blobs()[j];
        const bool weights = blob.num_axes() > 1;
        const float fan = weights ? static_cast<float>(blob.count()) / blob.shape(0) : 1;
        const bool variance = std::string(layer->type()) == "BatchNorm" && j > 0;
        for (int i = 0; i < blob.count(); ++i) {
          blob.mutable_cpu_data()[i] =
              variance ? Real(0.5, 2) : Real(-1, 1) * 1.5f / std::sqrt(fan);
        }
      }
    }
    Blob<float>& data = *net->input_blobs()[0];
    for (int i = 0; i < data.count(); ++i) data.mutable_cpu_data()[i] = Real(-1, 1);
    return net;
  }

 private:
  struct Image {
    std::string name;
    int channels, height, width;
  };

  Image& Any() { return images_[Number(0, static_cast<int>(images_.size()) - 1)]; }
  // Recent ones more often, so that chains form.
  Image Recent() { return Number(0, 2) > 0 ? images_.back() : Any(); }

  std::string NewName(const std::string& type) { return type + "_" + std::to_string(++layers_); }

  std::string Layer(const std::string& type, const std::vector<std::string>& bottoms,
                    const std::vector<std::string>& tops, const std::string& parameters = "") {
    const std::string name = NewName(type);
    text_ << "layer { name: '" << name << "' type: '" << type << "'";
    for (const std::string& bottom : bottoms) {
      text_ << " bottom: '" << bottom << "'";
      read_.insert(bottom);
    }
    for (const std::string& top : tops) text_ << " top: '" << top << "'";
    text_ << " " << parameters << " }\n";
    return name;
  }

  // A layer with one top, which is added to the images (or takes its bottom's place).
  Image Pointwise(const std::string& type, const Image& from, const std::string& parameters) {
    // No layer may have read what is overwritten.
    const bool in_place = from.name != "data" && !read_.count(from.name) && Coin();
    Image to = from;
    if (!in_place) to.name = NewName("blob");
    Layer(type, {from.name}, {to.name}, parameters);
    if (in_place) read_.erase(to.name);
    if (!in_place) images_.push_back(to);
    return to;
  }

  Image Convolution(const Image& from, int outputs, int kernel, int stride, int pad, int group) {
    Image to = {NewName("blob"), outputs, 0, 0};
    std::ostringstream parameters;
    parameters << "convolution_param { num_output: " << outputs << " kernel_size: " << kernel
               << " stride: " << stride << " pad: " << pad << " group: " << group
               << " bias_term: " << (Coin() ? "true" : "false") << " }";
    Layer("Convolution", {from.name}, {to.name}, parameters.str());
    to.height = (from.height + 2 * pad - kernel) / stride + 1;
    to.width = (from.width + 2 * pad - kernel) / stride + 1;
    images_.push_back(to);
    return to;
  }

  Image Convolution(const Image& from) {
    const int side = std::min(from.height, from.width);
    int kernel = std::vector<int>{1, 2, 3, 5}[Number(0, 3)];
    if (kernel > side) kernel = 1;
    int group = 1;
    if (Number(0, 3) == 0) group = from.channels;
    const int outputs = group == 1 ? Number(1, 6) : group * Number(1, 2);
    return Convolution(from, outputs, kernel, Number(1, side > 6 ? 2 : 1), Number(0, kernel / 2),
                       group);
  }

  Image Deconvolution(const Image& from) {
    const int kernel = Number(1, 3), stride = Number(1, 2);
    const int group = Number(0, 2) == 0 ? from.channels : 1;
    Image to = {NewName("blob"), group * Number(1, 3), (from.height - 1) * stride + kernel,
                (from.width - 1) * stride + kernel};
    std::ostringstream parameters;
    parameters << "convolution_param { num_output: " << to.channels << " kernel_size: " << kernel
               << " stride: " << stride << " group: " << group << " }";
    Layer("Deconvolution", {from.name}, {to.name}, parameters.str());
    images_.push_back(to);
    return to;
  }

  // Over no spatial axis: the rows' values are the channels.
  Image AlongRows(const Image& from) {
    Image to = from;
    to.name = NewName("blob");
    to.width = Number(1, 7);
    Layer(Coin() ? "Convolution" : "Deconvolution", {from.name}, {to.name},
          "convolution_param { axis: 3 num_output: " + std::to_string(to.width) + " }");
    images_.push_back(to);
    return to;
  }

  Image Activation(const Image& from) {
    static const char* const kinds[][2] = {{"ReLU", ""},
                                           {"ReLU", ""},
                                           {"ReLU", "relu_param { negative_slope: 0.1 }"},
                                           {"ReLU6", ""},
                                           {"ReLU6", "relu6_param { threshold: 0.9 }"},
                                           {"ReLU6", "relu6_param { negative_slope: 0.1 }"},
                                           {"PReLU", ""},
                                           {"ELU", "elu_param { alpha: 0.5 }"},
                                           {"ELU", "elu_param { alpha: 0.6 lambda: 1.1 }"},
                                           {"Sigmoid", ""},
                                           {"Swish", ""},
                                           {"HardSwish", ""},
                                           {"GELU", ""},
                                           {"TanH", ""},
                                           {"Clip", "clip_param { min: -0.5 max: 0.8 }"}};
    const int kind = Number(0, static_cast<int>(std::size(kinds)) - 1);
    return Pointwise(kinds[kind][0], from, kinds[kind][1]);
  }

  Image Affine(const Image& from) {
    switch (Number(0, 4)) {
      case 0:
        return Pointwise("BatchNorm", from, "");
      case 1:
        return Pointwise("Scale", Pointwise("BatchNorm", from, ""),
                         "scale_param { bias_term: true }");
      case 2:
        return Pointwise("Scale", from, "");
      case 3:
        return Pointwise("Bias", from, "");
      default:
        return Pointwise("Power", from, "power_param { scale: 0.7 shift: -0.2 }");
    }
  }

  Image Pooling(const Image& from) {
    if (std::min(from.height, from.width) < 4) return from;
    const std::string name = NewName("blob");
    Layer("Pooling", {from.name}, {name},
          std::string("pooling_param { pool: ") + (Number(0, 2) ? "MAX" : "AVE") +
              " kernel_size: 2 stride: 2 }");
    images_.push_back({name, from.channels, (from.height + 1) / 2, (from.width + 1) / 2});
    return images_.back();
  }

  // Twice as large, each channel by itself, and cut to the size of what it is added to.
  void Enlarged(const Image& from) {
    const Image large = {NewName("blob"), from.channels, 2 * from.height, 2 * from.width};
    if (Coin()) {
      Layer("Upsample", {from.name}, {large.name}, "upsample_param { scale: 2 }");
    } else {
      Layer("Deconvolution", {from.name}, {large.name},
            "convolution_param { num_output: " + std::to_string(from.channels) +
                " kernel_size: 4 stride: 2 pad: 1 group: " + std::to_string(from.channels) + " }");
    }
    const Image fine = Convolution(from, from.channels, 1, 1, 0, 1);
    const Image cut = {NewName("blob"), from.channels, from.height, from.width};
    Layer("Crop", {large.name, fine.name}, {cut.name}, "crop_param { axis: 2 offset: 1 }");
    const Image to = {NewName("blob"), from.channels, from.height, from.width};
    Layer("Eltwise", {fine.name, cut.name}, {to.name},
          Coin() ? "" : "eltwise_param { operation: PROD }");
    images_.push_back(to);
  }

  // Branches on one input of which some look alike, joined again.
  void Inception(const Image& from) {
    std::vector<std::string> names;
    Image to = {NewName("blob"), 0, from.height, from.width};
    const int side = std::min({3, from.height, from.width});
    for (int branches = Number(2, 4); branches > 0; --branches) {
      Image branch = Convolution(from, Number(1, 4), Coin() ? 1 : side, 1, 0, 1);
      if (branch.height != from.height) continue;  // stays an output
      if (Coin()) branch = Pointwise("ReLU", branch, "");
      names.push_back(branch.name);
      to.channels += branch.channels;
    }
    if (names.size() < 2) return;
    Layer("Concat", names, {to.name});
    images_.push_back(to);
  }

  void Residual(const Image& from) {
    const Image a = Affine(Convolution(from, from.channels, 3, 1, 1, 1));
    const Image b = Coin() ? from : Convolution(from, from.channels, 1, 1, 0, 1);
    static const char* const kinds[] = {"", "", "eltwise_param { coeff: 0.5 coeff: -2 }",
                                        "eltwise_param { operation: MAX }"};
    Image to = from;
    to.name = NewName("blob");
    const bool swapped = Coin();
    Layer("Eltwise", {swapped ? b.name : a.name, swapped ? a.name : b.name}, {to.name},
          kinds[Number(0, 3)]);
    images_.push_back(to);
    if (Coin()) Pointwise("ReLU", to, "");
  }

  void Cut(const Image& from) {
    if (from.channels < 2) return;
    const int first = Number(1, from.channels - 1);
    const std::string names[] = {NewName("blob"), NewName("blob")};
    Layer("Slice", {from.name}, {names[0], names[1]},
          "slice_param { slice_point: " + std::to_string(first) + " }");
    images_.push_back({names[0], first, from.height, from.width});
    images_.push_back({names[1], from.channels - first, from.height, from.width});
  }

  void Join(const Image& from) {
    for (const Image& other : images_) {
      if (other.height != from.height || other.width != from.width) continue;
      const Image to = {NewName("blob"), from.channels + other.channels, from.height, from.width};
      Layer("Concat", {from.name, other.name}, {to.name});
      images_.push_back(to);
      return;
    }
  }

  void AcrossChannels(const Image& from) {
    Image to = from;
    to.name = NewName("blob");
    if (Coin()) {
      Layer("Softmax", {from.name}, {to.name});
    } else {
      Layer("LRN", {from.name}, {to.name}, "lrn_param { local_size: 3 alpha: 0.5 }");
    }
    images_.push_back(to);
  }

  void Copies(const Image& from) {
    const std::string names[] = {NewName("blob"), NewName("blob")};
    Layer("Split", {from.name}, {names[0], names[1]});
    for (const std::string& name : names) {
      images_.push_back({name, from.channels, from.height, from.width});
      read_.insert(name);  // the tops share their memory
    }
    if (Number(0, 3) == 0) Layer("Silence", {names[0]}, {});
  }

  /// The same shape once more.
  void Reshaped(const Image& from) {
    Image to = from;
    to.name = NewName("blob");
    const std::string width = std::to_string(from.width);
    const std::string dims[] = {"dim: 0 dim: 0 dim: 0 dim: 0",
                                "dim: 0 dim: -1 dim: 0 dim: " + width};
    if (Coin()) {
      Layer("Flatten", {from.name}, {to.name}, "flatten_param { axis: 1 end_axis: 1 }");
    } else {
      Layer("Reshape", {from.name}, {to.name},
            "reshape_param { shape { " + dims[Number(0, 1)] + " } }");
    }
    read_.insert(to.name);  // it shares the memory of the other
    images_.push_back(to);
  }

  void AddSomething() {
    const Image from = Recent();
    switch (Number(0, 17)) {
      case 0:
      case 1:
        Convolution(from);
        return;
      case 2:
        Activation(Convolution(from));
        return;
      case 3:
        Activation(Affine(Convolution(from)));
        return;
      case 4:
        Activation(Affine(from));
        return;
      case 5:
        Activation(Pooling(from));
        return;
      case 6:
        Pooling(Activation(from));
        return;
      case 7:
        Activation(Deconvolution(from));
        return;
      case 8:
        Inception(from);
        return;
      case 9:
        Residual(from);
        return;
      case 10:
        Cut(from);
        return;
      case 11:
        Join(from);
        return;
      case 12:
        Pointwise("Dropout", from, "");
        return;
      case 13:
        AcrossChannels(from);
        return;
      case 14:
        Enlarged(from);
        return;
      case 15:
        Activation(Affine(AlongRows(from)));
        return;
      case 16:
        Reshaped(from);
        return;
      default:
        Copies(from);
    }
  }

  void AddHead() {
    std::string name = Any().name;
    if (Coin()) {
      const std::string flat = NewName("flat");
      Layer(Coin() ? "Flatten" : "Reshape", {name}, {flat},
            "reshape_param { shape { dim: 0 dim: -1 } }");
      name = flat;
    }
    for (int depth = Number(1, 2); depth > 0; --depth) {
      const std::string top = NewName("fc"), outputs = std::to_string(Number(1, 7));
      if (name.compare(0, 4, "flat") == 0 && Number(0, 3) == 0) {
        Layer("Convolution", {name}, {top}, "convolution_param { num_output: " + outputs + " }");
      } else {
        Layer("InnerProduct", {name}, {top},
              "inner_product_param { num_output: " + outputs +
                  " transpose: " + (Coin() ? "true" : "false") + " }");
      }
      if (Coin()) Layer("BatchNorm", {top}, {top});
      if (Coin()) Layer("ReLU", {top}, {top});
      name = top;
    }
    if (Coin()) Layer("Softmax", {name}, {NewName("prob")});
  }

  int batch_ = 1;
  int layers_ = 0;
  std::vector<Image> images_;
  std::set<std::string> read_;  // names of blobs that a layer has read as they are now
  std::ostringstream text_;
};

}  // namespace caffe

#endif  // CAFFE_TEST_RANDOM_NETS_HPP_
