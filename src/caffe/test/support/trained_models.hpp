#ifndef CAFFE_TEST_TRAINED_MODELS_HPP_
#define CAFFE_TEST_TRAINED_MODELS_HPP_

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#ifdef USE_OPENCV
#include <opencv2/imgcodecs.hpp>
#endif

#include "caffe/net.hpp"
#include "caffe/util/io.hpp"
#include "deployed_net.hpp"
#include "test_data.hpp"
#include "test_files.hpp"

// Trained nets and the labelled images that they recognise, from the shared data.

namespace caffe {

constexpr int kImagesAtOnce = 100;

/// Gives the net's first input, and all that follows, another batch.
inline void SetBatch(int batch, Net<float>* net) {
  vector<int> shape = net->input_blobs()[0]->shape();
  shape[0] = batch;
  net->input_blobs()[0]->Reshape(shape);
  net->Reshape();
}

/// The net of models/`name` with its weights, for batches of kImagesAtOnce; `change` may edit it
/// before it is built.
inline std::unique_ptr<Net<float>> TrainedNet(
    const string& name, const string& file = "deploy.prototxt",
    const std::function<void(NetParameter*)>& change = nullptr) {
  const string folder = SharedData("models/" + name) + "/";
  NetParameter param = Deployed(folder + file);
  if (change) change(&param);
  std::unique_ptr<Net<float>> net(new Net<float>(param));
  net->CopyTrainedLayersFrom(folder + "weights.caffemodel");
  SetBatch(kImagesAtOnce, net.get());
  return net;
}

/// Images as a net takes them, with labels.
class LabelledImages {
 public:
  virtual ~LabelledImages() = default;
  virtual int count() const = 0;
  /// Writes image number i and returns its label.
  virtual int Read(int i, float* input) const = 0;

  /// Writes kImagesAtOnce images, from `first` on, to the net's input; their labels.
  vector<int> Feed(int first, Net<float>* net) const {
    Blob<float>* input = net->input_blobs()[0];
    vector<int> labels;
    for (int i = 0; i < kImagesAtOnce; ++i) {
      labels.push_back(Read(first + i, input->mutable_cpu_data() + input->offset(i)));
    }
    return labels;
  }
};

/// How many images score highest at their label.
inline int CountRight(Net<float>* net, const LabelledImages& images) {
  int right = 0;
  for (int first = 0; first < images.count(); first += kImagesAtOnce) {
    const vector<int> labels = images.Feed(first, net);
    const Blob<float>* scores = net->Forward()[0];
    const int classes = scores->count(1);
    for (int i = 0; i < kImagesAtOnce; ++i) {
      const float* own = scores->cpu_data() + size_t(i) * classes;
      right += std::max_element(own, own + classes) - own == labels[i];
    }
  }
  return right;
}

/// Digits, divided by 256.
class MnistImages : public LabelledImages {
 public:
  static MnistImages Test() {
    return MnistImages("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz");
  }
  /// The first part of those to train with.
  static MnistImages Training() {
    return MnistImages("train-images-part0-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz");
  }

  int count() const override { return static_cast<int>(pixels_.size() / 784); }
  int Read(int i, float* input) const override {
    for (int k = 0; k < 784; ++k) input[k] = uint8_t(pixels_[size_t(i) * 784 + k]) / 256.f;
    return labels_[i];
  }

 private:
  MnistImages(const string& images, const string& labels)
      : pixels_(Bytes(images, 16)), labels_(Bytes(labels, 8)) {}

  // An idx file's bytes behind its header of `header` bytes.
  static string Bytes(const string& name, size_t header) {
    const string file = NewFileName();
    const string command =
        "gzip -dc '" + SharedData("datasets/mnist/" + name) + "' > '" + file + "'";
    Require(std::system(command.c_str()) == 0, command, ": failed");
    return ReadFile(file).substr(header);
  }

  string pixels_, labels_;
};

#ifdef USE_OPENCV
/// Images of CIFAR-10, red, green, blue, less the mean image of the nets here.
class CifarImages : public LabelledImages {
 public:
  static bool IsThere() { return std::filesystem::exists(SharedData("datasets/cifar10_jpg/test")); }

  /// `part`: test or train; at most `per_class` of each class, the first by name.
  CifarImages(const string& part, int per_class) {
    // One archive a class, named after it; classes are numbered in alphabetical order.
    namespace fs = std::filesystem;
    vector<string> archives;
    for (const auto& entry : fs::directory_iterator(SharedData("datasets/cifar10_jpg/" + part))) {
      archives.push_back(entry.path());
    }
    std::sort(archives.begin(), archives.end());
    for (size_t label = 0; label < archives.size(); ++label) {
      ReadClass(archives[label], int(label), per_class);
    }
    BlobProto mean;
    ReadProtoFromBinaryFileOrDie(SharedData("models/cifar10_quick_current/mean.binaryproto"),
                                 &mean);
    mean_.FromProto(mean);
  }

  int count() const override { return static_cast<int>(images_.size()); }
  int Read(int i, float* input) const override {
    const cv::Mat& image = images_[i].first;
    for (int k = 0; k < 3 * 1024; ++k) {
      const int channel = 2 - k / 1024;  // R, G, B
      const int pixel = k % 1024;
      input[k] = image.at<cv::Vec3b>(pixel / 32, pixel % 32)[channel] - mean_.cpu_data()[k];
    }
    return images_[i].second;
  }

 private:
  void ReadClass(const string& archive, int label, int count) {
    namespace fs = std::filesystem;
    const fs::path folder = fs::path(NewFileName()).parent_path();
    const string command = "tar tzf '" + archive + "' | grep -v '/$' | sort | head -" +
                           std::to_string(count) + " > '" + (folder / "names").string() +
                           "' && tar xzf '" + archive + "' -C '" + folder.string() + "' -T '" +
                           (folder / "names").string() + "'";
    Require(std::system(command.c_str()) == 0, command, ": failed");
    std::ifstream names(folder / "names");
    int read = 0;
    for (string name; std::getline(names, name); ++read) {
      images_.emplace_back(cv::imread((folder / name).string()), label);
      Require(!images_.back().first.empty(), name, ": not an image");
    }
    Require(read == count, archive, ": ", read, " images");
  }

  vector<std::pair<cv::Mat, int>> images_;
  Blob<float> mean_;
};
#endif

}  // namespace caffe

#endif  // CAFFE_TEST_TRAINED_MODELS_HPP_
