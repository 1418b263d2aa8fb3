// Trained nets in integers alone have the outputs that they had when this was written, to the last
// bit, on every instruction set and on GPUs.
#ifdef USE_OPENCV

#include <gtest/gtest.h>

#include <cmath>

#include "caffe/inference/builder.hpp"
#include "caffe/inference/evaluation/output_digest.hpp"
#include "caffe/test/support/blocked_convolutions.hpp"
#include "caffe/test/support/each_device.hpp"
#include "caffe/test/support/first_images.hpp"
#include "caffe/test/support/slow_tests.hpp"

namespace caffe::inference {
namespace {

struct Known {
  const char* model;
  const char* file;
  bool colours;  ///< CIFAR-10, else MNIST
  const char* digest;
};

const Known kKnown[] = {
    {"lenet_v1format", "deploy.prototxt", false,
     "7d67e80f1976ef785325f1b6b3bc5e58464eb1a2471105b4e5b637275b5f5a1a"},
    {"cifar10_quick_current", "deploy.prototxt", true,
     "487bfeeb945adc6419fb445276aaee02a771fc1d4ee0b2b565e7825ed0277ce4"},
    {"cifar10_full_sigmoid_bn", "train_val.prototxt", true,
     "486ddc2bc65982c1e2aa5f86af8099c8e18a8587afe34e447d8a0279324559a1"},
    {"resnet20_cifar10", "train_val.prototxt", true,
     "9b5f667de1c9aac96ecdb6ef8cb36472dc79ae9a0535dcaedb66a6f475c15efe"},
};

std::ostream& operator<<(std::ostream& stream, const Known& known) { return stream << known.model; }

/// Up, to two digits: floats that differ in their last bits become the same number.
double Rounded(double x) {
  if (x == 0) return 0;
  const double digit = std::pow(10., std::floor(std::log10(std::fabs(x))) - 1);
  return (x < 0 ? std::floor(x / digit) : std::ceil(x / digit)) * digit;
}

/// The range of each blob over one batch.
std::shared_ptr<const CalibrationTable> RangesOfBatch(const Net<float>& net) {
  auto table = std::make_shared<CalibrationTable>();
  for (size_t i = 0; i < net.blobs().size(); ++i) {
    const Blob<float>& blob = *net.blobs()[i];
    const auto range = std::minmax_element(blob.cpu_data(), blob.cpu_data() + blob.count());
    BlobCalibration seen;
    seen.minimum = Rounded(std::min(0.f, *range.first));
    seen.maximum = Rounded(std::max(0.f, *range.second));
    seen.threshold = std::max(-seen.minimum, seen.maximum);
    seen.is_unsigned = seen.minimum == 0;
    if (seen.threshold > 0) table->Set(net.blob_names()[i], seen);
  }
  return table;
}

class DigestOfTrainedNet : public ::testing::TestWithParam<Known> {
 protected:
  void SetUp() override {
    const Known& known = GetParam();
    if (!HasSharedData()) GTEST_SKIP() << kNoSharedData;
    if (known.colours && !CifarImages::IsThere()) GTEST_SKIP() << "no images of CIFAR-10";
    if (known.colours) {
      images_ = std::make_unique<CifarImages>("test", kImagesAtOnce / 10);
    } else {
      images_ = std::make_unique<MnistImages>(MnistImages::Test());
    }
    folder_ = SharedData(std::string("models/") + known.model) + "/";
    param_ = Deployed(folder_ + known.file);
  }

  std::shared_ptr<const CalibrationTable> Table() const {
    Net<float> net(param_);
    net.CopyTrainedLayersFrom(folder_ + "weights.caffemodel");
    SetBatch(kImagesAtOnce, &net);
    images_->Feed(0, &net);
    net.Forward();
    return RangesOfBatch(net);
  }

  /// Of the outputs for the first images.
  std::string Digest(Backend backend, const std::shared_ptr<const CalibrationTable>& table) const {
    BuilderConfig config;
    config.backend = backend;
    config.precision = Precision::INT8;
    config.max_batch = kImagesAtOnce;
    config.timing_iterations = 0;
    config.calibration = table;
    config.quantization.scheme = QuantizationScheme::AFFINE;
    config.quantization.arithmetic = Arithmetic::INTEGER_ONLY;
    const auto engine = Builder(config).Build(
        NetworkDefinition::FromCaffe(param_, {folder_ + "weights.caffemodel"}));
    ExecutionContext context(engine);
    const std::string input = engine->inputs().at(0);
    const size_t pixels = CountOf(context.InputShape(input)) / kImagesAtOnce;
    for (int i = 0; i < kImagesAtOnce; ++i) {
      images_->Read(i, context.Input(input) + i * pixels);
    }
    context.Run();
    OutputDigest digest(*engine);
    digest.Add(Outputs(&context));
    return digest.Text();
  }

 private:
  std::unique_ptr<LabelledImages> images_;
  std::string folder_;
  NetParameter param_;
};

TEST_P(DigestOfTrainedNet, IsTheSameOnEveryInstructionSet) {
  SLOW_TEST();
  const kernels::InstructionSet before = kernels::CpuInstructionSet();
  for (const kernels::InstructionSet set : kernels::TestedInstructionSets()) {
    SCOPED_TRACE(Name(set));
    kernels::SetCpuInstructionSet(set);
    EXPECT_EQ(Digest(Backend::CPU, Table()), GetParam().digest);
  }
  kernels::SetCpuInstructionSet(before);
}

#ifndef CPU_ONLY
TEST_P(DigestOfTrainedNet, IsTheSameOnAGpu) {
  SLOW_TEST();
  const auto table = Table();
  OnEachDevice([&] { EXPECT_EQ(Digest(Backend::CUDA, table), GetParam().digest); });
}
#endif

INSTANTIATE_TEST_SUITE_P(Models, DigestOfTrainedNet, ::testing::ValuesIn(kKnown),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace caffe::inference

#endif  // USE_OPENCV
