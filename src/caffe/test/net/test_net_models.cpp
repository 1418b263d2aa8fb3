// Trained nets compute what BVLC Caffe 1.0 computed.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#ifdef USE_OPENCV
#include <opencv2/imgcodecs.hpp>
#endif

#include "caffe/net.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/npy.hpp"
#include "caffe/test/support/test_data.hpp"
#include "caffe/test/support/test_files.hpp"
#include "caffe/util/upgrade_proto.hpp"

namespace caffe {
namespace {

struct Model {
  const char* net;
  const char* weights;
  const char* reference;
  const char* input;
  const char* output;
};

std::ostream& operator<<(std::ostream& stream, const Model& model) { return stream << model.net; }

const Model kModels[] = {
    {"lenet_v1format/deploy.prototxt", "lenet_v1format/weights.caffemodel",
     "lenet_v1format/caffe_ref/two", "data", "prob"},
    {"cifar10_quick_current/deploy.prototxt", "cifar10_quick_current/weights.caffemodel",
     "cifar10_quick_current/caffe_ref/dog4", "data", "prob"},
};

std::string Models(const std::string& file) { return SharedData("models/" + file); }

/// Feeds the reference's input and compares the output to `tolerance`.
template <typename Dtype>
void ExpectReference(const Model& model, Net<Dtype>* net, double tolerance) {
  const NpyArray input = ReadNpy(Models(model.reference) + "/input.npy");
  net->blob_by_name(model.input)->Reshape(input.shape);
  net->Reshape();
  SetValues(net->blob_by_name(model.input).get(), input.values);
  net->Forward();
  const NpyArray expected = ReadNpy(Models(model.reference) + "/out_" + model.output + ".npy");
  const std::vector<double> actual = Values(*net->blob_by_name(model.output));
  ASSERT_EQ(actual.size(), expected.values.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i], expected.values[i], tolerance) << model.output << " " << i;
  }
}

class TrainedNet : public testing::TestWithParam<Model> {
 protected:
  void SetUp() override {
    if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  }
};

TEST_P(TrainedNet, ReproducesCaffeInFloat) {
  Net<float> net(Models(GetParam().net), TEST);
  net.CopyTrainedLayersFrom(Models(GetParam().weights));
  ExpectReference(GetParam(), &net, 1e-4);
}

TEST_P(TrainedNet, ReproducesCaffeInDouble) {
  Net<double> net(Models(GetParam().net), TEST);
  net.CopyTrainedLayersFrom(Models(GetParam().weights));
  ExpectReference(GetParam(), &net, 1e-4);
}

TEST_P(TrainedNet, ReproducesCaffeWithSharedActivations) {
  NetOptions options;
  options.share_activations = true;
  Net<float> net(Models(GetParam().net), TEST, 0, nullptr, options);
  net.CopyTrainedLayersFrom(Models(GetParam().weights));
  for (int pass = 0; pass < 2; ++pass) ExpectReference(GetParam(), &net, 1e-4);
}

// Stored in half precision, with half the bytes of parameters.
TEST_P(TrainedNet, ComesNearCaffeInFloat16) {
  NetParameter param;
  ReadNetParamsFromTextFileOrDie(Models(GetParam().net), &param);
  param.mutable_state()->set_phase(TEST);
  param.set_default_forward_type(FLOAT16);
  Net<float> net(param);
  net.CopyTrainedLayersFrom(Models(GetParam().weights));
  ExpectReference(GetParam(), &net, 2e-2);
  for (const auto& blob : net.params()) {
    EXPECT_EQ(blob->data_type(), ElementType::FLOAT16);
    EXPECT_FALSE(blob->data_tensor().has_slot(ElementType::FLOAT));
  }
}

TEST_P(TrainedNet, SurvivesEveryWayOfSaving) {
  Net<float> net(Models(GetParam().net), TEST);
  net.CopyTrainedLayersFrom(Models(GetParam().weights));
  const std::string bvlc = NewFileName(), raw = NewFileName(), hdf5 = NewFileName() + ".h5";
  net.ToBinaryProto(bvlc);
  net.ToBinaryProto(raw, /*write_diff=*/false, /*raw=*/true);
  std::vector<std::string> files = {bvlc, raw};
#ifdef USE_HDF5
  net.ToHDF5(hdf5);
  files.push_back(hdf5);
#endif
  for (const std::string& file : files) {
    Net<float> other(Models(GetParam().net), TEST);
    other.CopyTrainedLayersFrom(file);
    ExpectReference(GetParam(), &other, 1e-4);
  }
  NetParameter message;
  net.ToProto(&message);
  Net<float> other(Models(GetParam().net), TEST);
  other.CopyTrainedLayersFrom(message);
  ExpectReference(GetParam(), &other, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Models, TrainedNet, testing::ValuesIn(kModels));

#ifdef USE_OPENCV
/// A file of the archive that DIGITS made, unpacked.
class DigitsModel {
 public:
  DigitsModel() : directory_(NewFolder()) {
    const string command =
        "tar xzf '" + Models("nvidia_digits_lenet/model.tar.gz") + "' -C '" + directory_ + "'";
    Require(std::system(command.c_str()) == 0, command, ": failed");
  }
  string File(const string& name) const { return directory_ + "/" + name; }

 private:
  string directory_;
};

// Images of the digits 0 to 5, black on white, less the mean image's mean.
TEST(DigitsLeNet, RecognisesSixImages) {
  if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  if (!LayerRegistry<float>::Registry().count("Power"))
    GTEST_SKIP() << "this library was built without the Power layer";
  const DigitsModel model;
  Net<float> net(model.File("deploy.prototxt"), TEST);
  net.CopyTrainedLayersFrom(model.File("snapshot_iter_28140.caffemodel"));
  BlobProto mean_proto;
  ReadProtoFromBinaryFileOrDie(model.File("mean.binaryproto"), &mean_proto);
  Blob<float> mean;
  mean.FromProto(mean_proto);
  const float mean_pixel = mean.asum_data() / mean.count();
  const char* names[] = {"zero", "one", "two", "three", "four", "five"};
  for (int digit = 0; digit < 6; ++digit) {
    const cv::Mat image =
        cv::imread(Models(string("nvidia_digits_lenet/images/") + names[digit] + ".png"), 0);
    ASSERT_EQ(image.total(), 784u);
    float* input = net.input_blobs()[0]->mutable_cpu_data();
    for (int i = 0; i < 784; ++i) input[i] = image.at<uchar>(i / 28, i % 28) - mean_pixel;
    EXPECT_GT(net.Forward()[0]->cpu_data()[digit], 0.999f) << names[digit];
  }
}
#endif

#ifdef USE_HDF5
TEST(TrainedNetHdf5, LoadsBvlcCaffesSnapshot) {
  if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  Net<float> net(Models("cifar10_quick_hdf5/deploy.prototxt"), TEST);
  net.CopyTrainedLayersFrom(Models("cifar10_quick_hdf5/iter_4000.caffemodel"));
  const std::vector<double> before = Values(*net.layer_by_name("ip2")->blobs()[0]);
  net.CopyTrainedLayersFrom(Models("cifar10_quick_hdf5/weights.caffemodel.h5"));
  const std::vector<double> after = Values(*net.layer_by_name("ip2")->blobs()[0]);
  double moved = 0;
  for (size_t i = 0; i < after.size(); ++i) moved += std::abs(after[i] - before[i]);
  EXPECT_GT(moved, 0);
  EXPECT_LT(moved / after.size(), 0.05);  // a thousand iterations apart
}
#endif

}  // namespace
}  // namespace caffe
