// Times layers on oneDNN and on the library's own kernels: one line per layer, shape, layout and
// pass. Passes of both take turns; a line has the medians in milliseconds and their ratio, above 1
// where oneDNN is faster. Where oneDNN has nothing for a configuration both are the library's own,
// and the ratio is 1.
//
//     engine_benchmark [word]     only the lines in which the word occurs
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "benchmark_support.hpp"
#include "caffe/layer.hpp"
#include "caffe/onednn/onednn.hpp"

namespace {

using caffe::Blob;
using caffe::ElementType;
using caffe::Layer;
using caffe::LayerParameter;
using caffe::Layout;

struct Row {
  std::string name;
  std::string prototxt;
  std::vector<std::vector<int>> bottoms;
  bool blocked = false;   // also with channels in blocks of 8
  bool training = false;  // also the backward pass
  int begins = -1;        // bottom 1 marks where sequences begin: at the first step
};

std::string Convolution(int outputs, int kernel, int stride, int pad, int group) {
  return "type: 'Deconvolution' convolution_param { num_output: " + std::to_string(outputs) +
         " kernel_size: " + std::to_string(kernel) + " stride: " + std::to_string(stride) +
         " pad: " + std::to_string(pad) + " group: " + std::to_string(group) +
         " bias_term: false weight_filler { type: 'gaussian' std: 0.1 } }";
}

std::string InnerProduct(int outputs) {
  return "type: 'InnerProduct' inner_product_param { num_output: " + std::to_string(outputs) +
         " weight_filler { type: 'gaussian' std: 0.01 } }";
}

std::string Pooling(const std::string& fields) {
  return "type: 'Pooling' pooling_param { " + fields + " }";
}

std::vector<Row> Rows() {
  std::vector<Row> rows;
  for (int batch : {1, 8}) {
    const std::string n = ", batch " + std::to_string(batch);
    rows.push_back({"InnerProduct VGG fc6" + n, InnerProduct(4096), {{batch, 512, 7, 7}}, true});
    rows.push_back(
        {"InnerProduct AlexNet fc6" + n, InnerProduct(4096), {{batch, 256, 6, 6}}, true});
    rows.push_back({"InnerProduct fc7" + n, InnerProduct(4096), {{batch, 4096}}});
    rows.push_back({"InnerProduct fc8" + n, InnerProduct(1000), {{batch, 4096}}});
    rows.push_back(
        {"InnerProduct ResNet fc1000" + n, InnerProduct(1000), {{batch, 2048, 1, 1}}, true});
  }
  rows.push_back(
      {"InnerProduct AlexNet fc7, batch 64", InnerProduct(4096), {{64, 4096}}, false, true});
  rows.push_back(
      {"InnerProduct AlexNet fc7, batch 256", InnerProduct(4096), {{256, 4096}}, false, true});
  rows.push_back(
      {"InnerProduct ResNet fc1000, batch 32", InnerProduct(1000), {{32, 2048}}, false, true});
  rows.push_back(
      {"InnerProduct LeNet ip1, batch 64", InnerProduct(500), {{64, 50, 4, 4}}, true, true});
  rows.push_back(
      {"Deconvolution FCN-8s upscore2", Convolution(21, 4, 2, 0, 1), {{1, 21, 16, 16}}, true});
  rows.push_back(
      {"Deconvolution FCN-8s upscore8", Convolution(21, 16, 8, 0, 1), {{1, 21, 66, 66}}, true});
  rows.push_back(
      {"Deconvolution FCN-32s upscore", Convolution(21, 64, 32, 0, 1), {{1, 21, 16, 16}}, true});
  rows.push_back({"Deconvolution bilinear x2 per channel",
                  Convolution(64, 4, 2, 1, 64),
                  {{1, 64, 64, 64}},
                  true});
  rows.push_back(
      {"Deconvolution U-Net 2x2", Convolution(128, 2, 2, 0, 1), {{1, 256, 32, 32}}, true, true});
  rows.push_back({"Deconvolution 4x4, 256 to 128",
                  Convolution(128, 4, 2, 1, 1),
                  {{1, 256, 32, 32}},
                  true,
                  true});
  for (int batch : {1, 8}) {
    const std::string n = ", batch " + std::to_string(batch);
    rows.push_back({"Pooling GoogLeNet pool1 max 3/2" + n,
                    Pooling("kernel_size: 3 stride: 2"),
                    {{batch, 64, 112, 112}},
                    true,
                    true});
    rows.push_back({"Pooling GoogLeNet inception max 3/1" + n,
                    Pooling("kernel_size: 3 stride: 1 pad: 1"),
                    {{batch, 256, 28, 28}},
                    true,
                    true});
    rows.push_back({"Pooling ResNet pool5 average 7" + n,
                    Pooling("pool: AVE kernel_size: 7 stride: 1"),
                    {{batch, 2048, 7, 7}},
                    true,
                    true});
    rows.push_back({"Pooling VGG pool1 max 2/2" + n,
                    Pooling("kernel_size: 2 stride: 2"),
                    {{batch, 64, 224, 224}},
                    true,
                    true});
    rows.push_back({"Softmax ImageNet" + n, "type: 'Softmax'", {{batch, 1000}}});
    rows.push_back({"Softmax SSD 8732 x 21" + n,
                    "type: 'Softmax' softmax_param { axis: 2 }",
                    {{batch, 8732, 21}}});
  }
  rows.push_back(
      {"Softmax FCN 21 x 500 x 500", "type: 'Softmax'", {{1, 21, 500, 500}}, true, true});
  const std::vector<int> activations = {8, 64, 56, 56};
  for (const char* type : {"ReLU", "Sigmoid", "TanH", "ELU", "Swish", "AbsVal", "BNLL"}) {
    rows.push_back({std::string(type) + " 8 x 64 x 56 x 56",
                    std::string("type: '") + type + "'",
                    {activations},
                    true,
                    true});
  }
  rows.push_back({"BatchNorm 8 x 64 x 56 x 56", "type: 'BatchNorm'", {activations}, true, true});
  rows.push_back({"BatchNorm 8 x 512 x 7 x 7", "type: 'BatchNorm'", {{8, 512, 7, 7}}, true, true});
  for (const char* operation : {"SUM", "PROD", "MAX"}) {
    rows.push_back({std::string("Eltwise ") + operation + " 8 x 64 x 56 x 56",
                    std::string("type: 'Eltwise' eltwise_param { operation: ") + operation + " }",
                    {activations, activations},
                    true});
  }
  rows.push_back(
      {"Eltwise SUM of 3", "type: 'Eltwise'", {activations, activations, activations}, true});
  rows.push_back({"Concat inception 3a",
                  "type: 'Concat'",
                  {{1, 64, 28, 28}, {1, 128, 28, 28}, {1, 32, 28, 28}, {1, 32, 28, 28}},
                  true});
  rows.push_back({"LRN AlexNet norm1",
                  "type: 'LRN' lrn_param { local_size: 5 alpha: 0.0001 beta: 0.75 }",
                  {{1, 96, 55, 55}},
                  true,
                  true});
  const std::string lstm =
      "type: 'LSTM' recurrent_param { num_output: 256 weight_filler { type: 'gaussian' std: 0.05 } "
      "}";
  rows.push_back({"LSTM text recogniser, 26 steps of 512, batch 1",
                  lstm,
                  {{26, 1, 512}, {26, 1}},
                  false,
                  true,
                  1});
  rows.push_back({"LSTM text recogniser, 26 steps of 512, batch 8",
                  lstm,
                  {{26, 8, 512}, {26, 8}},
                  false,
                  true,
                  1});
  return rows;
}

/// A layer with its blobs, on oneDNN or not.
class Subject {
 public:
  Subject(const Row& row, bool onednn, bool blocked, bool training)
      : onednn_(onednn), blocked_(blocked), training_(training) {
    caffe::onednn::SetEnabled(onednn);
    LayerParameter param;
    if (!google::protobuf::TextFormat::ParseFromString(row.prototxt, &param)) std::abort();
    if (onednn) param.set_engine("ONEDNN");
    param.set_phase(training ? caffe::TRAIN : caffe::TEST);
    param.set_name("timed");
    caffe::Caffe::set_random_seed(1);
    layer_ = caffe::LayerRegistry<float>::CreateLayer(param);
    for (const std::vector<int>& shape : row.bottoms) blobs_.emplace_back(new Blob<float>(shape));
    for (const auto& blob : blobs_) bottoms_.push_back(blob.get());
    tops_.push_back(&top_);
    layer_->SetUp(bottoms_, tops_);
    WriteParameters();
    std::normal_distribution<float> value;
    for (size_t i = 0; i < bottoms_.size(); ++i) {
      Blob<float>& bottom = *bottoms_[i];
      float* data = bottom.mutable_cpu_data();
      const bool marks = static_cast<int>(i) == row.begins;
      for (int k = 0; k < bottom.count(); ++k) {
        data[k] = marks ? k >= bottom.shape(1) : value(random_);
      }
      propagate_.push_back(!marks);
    }
    Forward();
    if (!training) return;
    float* diff = top_.mutable_cpu_diff();
    for (int k = 0; k < top_.count(); ++k) diff[k] = value(random_);
  }
  void Forward() {
    caffe::onednn::SetEnabled(onednn_);
    for (Blob<float>* bottom : bottoms_) WriteInBlocks(bottom->shape(), &bottom->data_tensor());
    if (training_) WriteParameters();
    layer_->Forward(bottoms_, tops_);
  }
  void Backward() {
    caffe::onednn::SetEnabled(onednn_);
    WriteInBlocks(top_.shape(), &top_.diff_tensor());
    layer_->Backward(tops_, propagate_, bottoms_);
  }

 private:
  /// As if a solver had just written them.
  void WriteParameters() const {
    for (const auto& blob : layer_->blobs()) {
      blob->mutable_cpu_data();
      blob->data_tensor().ForgetPointers();
    }
  }
  /// As if a neighbour had just written it.
  void WriteInBlocks(const std::vector<int>& shape, caffe::Tensor* tensor) const {
    if (!blocked_ || shape.size() < 3) return;
    const size_t num = shape[0], channels = shape[1];
    const Layout layout =
        Layout::ChannelsBlocked(8, num, channels, tensor->count() / (num * channels));
    tensor->Write(ElementType::FLOAT, layout).mutable_cpu_data();
  }

  const bool onednn_, blocked_, training_;
  std::mt19937 random_{7};
  caffe::shared_ptr<Layer<float>> layer_;
  std::vector<std::unique_ptr<Blob<float>>> blobs_;
  Blob<float> top_;
  std::vector<Blob<float>*> bottoms_, tops_;
  std::vector<bool> propagate_;
};

/// Of one of so many times.
double Milliseconds(int times, const std::function<void()>& f) {
  return ::Milliseconds([&] {
           for (int i = 0; i < times; ++i) f();
         }) /
         times;
}

void Compare(const std::string& name, const std::function<void()>& own,
             const std::function<void()>& onednn) {
  constexpr int kRounds = 15;
  constexpr double kRound = 10;  // milliseconds
  const auto often = [](const std::function<void()>& f) {
    return std::clamp(static_cast<int>(kRound / std::max(1e-4, Milliseconds(1, f))), 1, 1000);
  };
  const int own_times = often(own), onednn_times = often(onednn);
  std::vector<double> own_ms, onednn_ms;
  for (int round = 0; round < kRounds; ++round) {
    own_ms.push_back(Milliseconds(own_times, own));
    onednn_ms.push_back(Milliseconds(onednn_times, onednn));
  }
  const double a = Median(own_ms), b = Median(onednn_ms);
  std::printf("| %-58s | %9.4f | %9.4f | %5.2f |\n", name.c_str(), a, b, a / b);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string wanted = argc > 1 ? argv[1] : "";
  google::InitGoogleLogging(argv[0]);
  FLAGS_minloglevel = google::ERROR;
  if (!caffe::onednn::Enabled()) {
    std::fprintf(stderr, "this build has no oneDNN, or CAFFE_ONEDNN=0\n");
    return 1;
  }
  std::printf("oneDNN %s, milliseconds\n\n", caffe::onednn::Version());
  std::printf("| %-58s | %9s | %9s | ratio |\n|---|---|---|---|\n", "", "own", "oneDNN");
  for (const Row& row : Rows()) {
    for (bool blocked : {false, true}) {
      if (blocked && !row.blocked) continue;
      const std::string name = row.name + (blocked ? ", blocks" : "");
      if (name.find(wanted) == std::string::npos) continue;
      {
        Subject own(row, false, blocked, false), onednn(row, true, blocked, false);
        Compare(
            name, [&] { own.Forward(); }, [&] { onednn.Forward(); });
      }
      if (!row.training) continue;
      Subject own(row, false, blocked, true), onednn(row, true, blocked, true);
      Compare(
          name + ", TRAIN", [&] { own.Forward(); }, [&] { onednn.Forward(); });
      Compare(
          name + ", backward", [&] { own.Backward(); }, [&] { onednn.Backward(); });
    }
  }
  return 0;
}
