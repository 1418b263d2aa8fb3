// Trained nets recognise as many images as they did in Caffe, to the image.
#include <gtest/gtest.h>

#include "caffe/test/support/slow_tests.hpp"
#include "caffe/test/support/trained_models.hpp"

namespace caffe {
namespace {

struct Precision {
  const char* name;
  bool half;
  int may_differ;  ///< images, from rounding
};
std::ostream& operator<<(std::ostream& stream, const Precision& precision) {
  return stream << precision.name;
}

class AccuracyOfModels : public ::testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
  }

  static std::unique_ptr<Net<float>> Load(const string& name,
                                          const string& file = "deploy.prototxt") {
    return TrainedNet(name, file, [](NetParameter* param) {
      if (GetParam().half) param->set_default_forward_type(FLOAT16);
    });
  }
};

TEST_P(AccuracyOfModels, LeNetOnMnist) {
  const auto net = Load("lenet_v1format");
  EXPECT_NEAR(CountRight(net.get(), MnistImages::Test()), 9905, GetParam().may_differ);
}

#ifdef USE_OPENCV
// OpenCV's dnn counts the same.
TEST_P(AccuracyOfModels, CifarNets) {
  SLOW_TEST();
  if (!CifarImages::IsThere()) GTEST_SKIP() << "no images of CIFAR-10";
  const CifarImages images("test", 1000);
  const auto quick = Load("cifar10_quick_current");
  EXPECT_NEAR(CountRight(quick.get(), images), 7387, GetParam().may_differ);
  if (GetParam().half) return;
  const auto sigmoid = Load("cifar10_full_sigmoid_bn", "train_val.prototxt");
  EXPECT_EQ(CountRight(sigmoid.get(), images), 5203);
}
#endif

INSTANTIATE_TEST_SUITE_P(Models, AccuracyOfModels,
                         ::testing::Values(Precision{"FLOAT", false, 0},
                                           Precision{"FLOAT16", true, 10}),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace caffe
