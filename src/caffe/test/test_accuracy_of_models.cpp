// Trained nets recognise as many pictures as they did in Caffe, to the picture.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#ifdef USE_OPENCV
#include <opencv2/imgcodecs.hpp>
#endif

#include "caffe/net.hpp"
#include "caffe/util/io.hpp"
#include "deployed_net.hpp"
#include "test_data.hpp"
#include "test_files.hpp"

namespace caffe {
namespace {

namespace fs = std::filesystem;

constexpr int kBatch = 100;

struct Precision {
  const char* name;
  bool half;
  int may_differ;  ///< pictures, from rounding
};
std::ostream& operator<<(std::ostream& stream, const Precision& precision) {
  return stream << precision.name;
}

class AccuracyOfModels : public ::testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  }

  /// The net of models/`name`, for batches of kBatch pictures.
  static std::unique_ptr<Net<float>> Load(const string& name,
                                          const string& file = "deploy.prototxt") {
    const string folder = SharedData("models/" + name) + "/";
    NetParameter param = Deployed(folder + file);
    if (GetParam().half) param.set_default_forward_type(FLOAT16);
    std::unique_ptr<Net<float>> net(new Net<float>(param));
    net->CopyTrainedLayersFrom(folder + "weights.caffemodel");
    vector<int> shape = net->input_blobs()[0]->shape();
    shape[0] = kBatch;
    net->input_blobs()[0]->Reshape(shape);
    net->Reshape();
    return net;
  }

  /// How many of `count` pictures score highest at their label. `read` writes picture number i as
  /// the net takes it and returns its label.
  static int CountRight(Net<float>* net, int count, const std::function<int(int, float*)>& read) {
    int right = 0;
    for (int first = 0; first < count; first += kBatch) {
      Blob<float>* input = net->input_blobs()[0];
      vector<int> labels;
      for (int i = 0; i < kBatch; ++i) {
        labels.push_back(read(first + i, input->mutable_cpu_data() + input->offset(i)));
      }
      const Blob<float>* scores = net->Forward()[0];
      const int classes = scores->count(1);
      for (int i = 0; i < kBatch; ++i) {
        const float* own = scores->cpu_data() + size_t(i) * classes;
        right += std::max_element(own, own + classes) - own == labels[i];
      }
    }
    return right;
  }
};

// An idx file's bytes behind its header of `header` bytes.
string Idx(const string& name, size_t header) {
  const string file = NewFileName();
  const string command = "gzip -dc '" + SharedData("datasets/mnist/" + name) + "' > '" + file + "'";
  Require(std::system(command.c_str()) == 0, command, ": failed");
  return ReadFile(file).substr(header);
}

TEST_P(AccuracyOfModels, LeNetOnMnist) {
  const string pixels = Idx("t10k-images-idx3-ubyte.gz", 16);
  const string labels = Idx("t10k-labels-idx1-ubyte.gz", 8);
  ASSERT_EQ(pixels.size(), 10000u * 784);
  const auto net = Load("lenet_v1format");
  const int right = CountRight(net.get(), 10000, [&](int i, float* input) {
    for (int k = 0; k < 784; ++k) input[k] = uint8_t(pixels[size_t(i) * 784 + k]) / 256.f;
    return labels[i];
  });
  EXPECT_NEAR(right, 9905, GetParam().may_differ);
}

#ifdef USE_OPENCV
/// The 10,000 test pictures of CIFAR-10: file and class.
vector<std::pair<string, int>> CifarPictures(const string& folder) {
  // One archive a class, named after it; classes are numbered in alphabetical order.
  vector<string> archives;
  for (const auto& entry : fs::directory_iterator(folder)) archives.push_back(entry.path());
  std::sort(archives.begin(), archives.end());
  const string unpacked = fs::path(NewFileName()).parent_path();
  vector<std::pair<string, int>> pictures;
  for (size_t label = 0; label < archives.size(); ++label) {
    const string own = unpacked + "/" + std::to_string(label);
    const string command =
        "mkdir '" + own + "' && tar xzf '" + archives[label] + "' -C '" + own + "'";
    Require(std::system(command.c_str()) == 0, command, ": failed");
    for (const auto& entry : fs::recursive_directory_iterator(own)) {
      if (entry.is_regular_file()) pictures.emplace_back(entry.path(), int(label));
    }
  }
  Require(pictures.size() == 10000u, folder, ": ", pictures.size(), " pictures");
  return pictures;
}

// OpenCV's dnn counts the same.
TEST_P(AccuracyOfModels, CifarNets) {
  const string folder = SharedData("datasets/cifar10_jpg/test");
  if (!fs::exists(folder)) GTEST_SKIP() << "no " << folder;
  BlobProto mean_proto;
  ReadProtoFromBinaryFileOrDie(SharedData("models/cifar10_quick_current/mean.binaryproto"),
                               &mean_proto);
  Blob<float> mean;
  mean.FromProto(mean_proto);
  const auto pictures = CifarPictures(folder);
  const auto count = [&](Net<float>* net) {
    return CountRight(net, 10000, [&](int i, float* input) {
      const cv::Mat picture = cv::imread(pictures[i].first);
      for (int k = 0; k < 3 * 1024; ++k) {
        const int channel = 2 - k / 1024;  // R, G, B
        const int pixel = k % 1024;
        input[k] = picture.at<cv::Vec3b>(pixel / 32, pixel % 32)[channel] - mean.cpu_data()[k];
      }
      return pictures[i].second;
    });
  };
  const auto quick = Load("cifar10_quick_current");
  EXPECT_NEAR(count(quick.get()), 7387, GetParam().may_differ);
  if (GetParam().half) return;
  const auto sigmoid = Load("cifar10_full_sigmoid_bn", "train_val.prototxt");
  EXPECT_EQ(count(sigmoid.get()), 5203);
}
#endif

INSTANTIATE_TEST_SUITE_P(Models, AccuracyOfModels,
                         ::testing::Values(Precision{"FLOAT", false, 0},
                                           Precision{"FLOAT16", true, 10}),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace caffe
