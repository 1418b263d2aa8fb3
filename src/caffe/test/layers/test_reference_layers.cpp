// Single layers compute what BVLC Caffe computed in 2015.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "caffe/net.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/npy.hpp"
#include "caffe/test/support/test_data.hpp"
#include "caffe/util/upgrade_proto.hpp"

namespace caffe {
namespace {

std::string Models(const std::string& file) { return SharedData("models/" + file); }

void ExpectClose(const Blob<float>& blob, const NpyArray& expected, double tolerance) {
  EXPECT_EQ(blob.shape(), expected.shape);
  ASSERT_EQ(static_cast<size_t>(blob.count()), expected.values.size());
  for (int i = 0; i < blob.count(); ++i) {
    ASSERT_NEAR(blob.cpu_data()[i], expected.values[i], tolerance) << i;
  }
}

class ReferenceLayer : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  }
};

TEST_P(ReferenceLayer, GivesCaffesOutput) {
  const std::string folder = Models("opencv_dnn_caffe_layer_refs/layers/");
  const std::string base = folder + "layer_" + GetParam();
  Net<float> net(base + ".prototxt", TEST);
  const auto exists = [](const std::string& file) { return std::filesystem::exists(file); };
  if (exists(base + ".caffemodel")) net.CopyTrainedLayersFrom(base + ".caffemodel");
  const std::string own_input = base + ".input.npy";
  SetValues(net.input_blobs()[0],
            ReadNpy(exists(own_input) ? own_input : folder + "blob.npy").values);
  net.Forward();
  ExpectClose(*net.blob_by_name("output"), ReadNpy(base + ".npy"), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Layers, ReferenceLayer,
                         ::testing::Values("convolution", "deconvolution", "inner_product",
                                           "lrn_channels", "lrn_spatial", "mvn", "pooling_ave",
                                           "pooling_max", "softmax"),
                         [](const auto& info) { return std::string(info.param); });

// Slices of two copies of the input, joined in their order: the input again.
TEST(ReferenceNet, SlicesSplitsAndReshapesBackToTheInput) {
  if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  NetParameter param;
  const std::string file =
      Models("opencv_dnn_caffe_layer_refs/layers/reshape_and_slice_routines.prototxt");
  ReadProtoFromTextFileOrDie(file, &param);
  for (const int extent : {3, 3, 4, 5}) param.add_input_dim(extent);  // the file leaves it open
  UpgradeNetAsNeeded(file, &param);
  param.mutable_state()->set_phase(TEST);
  Net<float> net(param);
  std::vector<double> values(3 * 3 * 4 * 5);
  for (size_t i = 0; i < values.size(); ++i) values[i] = double(i) - 90;
  SetValues(net.input_blobs()[0], values);
  net.Forward();
  EXPECT_EQ(Values(*net.blob_by_name("output")), values);
}

TEST(ReferenceNet, BuildsOldDescriptions) {
  if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  const std::pair<const char*, int> nets[] = {
      {"bvlc_alexnet", 1000}, {"bvlc_googlenet", 1000}, {"gtsrb", 43}};
  for (const auto& [name, classes] : nets) {
    SCOPED_TRACE(name);
    Net<float> net(Models(std::string("opencv_dnn_caffe_layer_refs/") + name + ".prototxt"), TEST);
    EXPECT_EQ(net.output_blobs().at(0)->shape(1), classes);
  }
}

}  // namespace
}  // namespace caffe
