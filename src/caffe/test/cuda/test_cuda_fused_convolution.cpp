// Convolutions of GPU engines against their definition: every implementation of a device, in every
// mixture of types.
#include <gtest/gtest.h>

#include <functional>

#include "caffe/cuda/cudnn_fused_convolution.hpp"
#include "caffe/cuda/folded_convolution.hpp"
#include "caffe/error.hpp"
#include "caffe/kernels/cuda/fused_convolution.hpp"
#include "caffe/kernels/cuda/own_convolutions.hpp"
#include "caffe/test/support/engine_values.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

using cuda::ConvolutionArguments;
using cuda::ConvolutionProblem;
using kernels::ConvolutionShape;

class FusedConvolutions : public CudaKernelsTest {};
CAFFE_ON_EACH_DEVICE(FusedConvolutions);

using Draw = std::function<int(int, int)>;

Draw From(std::mt19937* random) {
  return [random](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(*random);
  };
}

ConvolutionShape RandomShape(const Draw& draw) {
  ConvolutionShape s;
  const int unit = draw(0, 1) ? 8 : draw(1, 3);  // kernels take 8 channels at once where they can
  s.group = draw(0, 2) ? 1 : draw(2, 3);
  s.channels = s.group * unit * draw(1, 2);
  s.outputs = s.group * draw(1, 5);
  if (draw(0, 3) == 0) {  // depthwise
    s.group = s.channels;
    s.outputs = s.channels * (draw(0, 2) ? 1 : 2);
  }
  const int axes = draw(0, 4) ? 2 : 1;
  for (int i = 0; i < axes; ++i) {
    s.kernel.push_back(draw(1, 3));
    s.stride.push_back(draw(1, 2));
    s.pad.push_back(draw(0, 2));
    s.dilation.push_back(draw(1, 2));
    const int window = s.dilation[i] * (s.kernel[i] - 1) + 1;
    s.input.push_back(std::max(window - 2 * s.pad[i], 1) + draw(0, 6));
    s.output.push_back((s.input[i] + 2 * s.pad[i] - window) / s.stride[i] + 1);
  }
  return s;
}

/// Where elements lie in an array of (num, channels, places).
struct Places {
  bool channels_last;
  size_t channels, places, stride;
  size_t At(size_t n, size_t c, size_t p) const {
    return channels_last ? (n * places + p) * stride + c : n * stride + c * places + p;
  }
  size_t Count(size_t num) const { return (channels_last ? num * places : num) * stride; }
};

/// `extra` elements between pixels or images.
Places PlacesOf(const ConvolutionProblem& problem, int channels, size_t places, int extra) {
  const size_t dense = problem.channels_last ? channels : channels * places;
  return {problem.channels_last, static_cast<size_t>(channels), places, dense + extra};
}

/// The sum of one output, exactly: place p of output o of image n.
double SumAt(const ConvolutionShape& s, const StoredArray& x, const Places& x_places,
             const std::vector<float>& weights, int n, int o, int p) {
  const int per_group = s.channels / s.group, kernel_size = static_cast<int>(s.kernel_size());
  const int first = o / (s.outputs / s.group) * per_group;
  double sum = 0;
  for (int k = 0; k < kernel_size; ++k) {
    int place = 0, step = 1, position = p, tap = k;
    bool inside = true;
    for (int a = s.axes() - 1; a >= 0; --a) {
      const int at =
          position % s.output[a] * s.stride[a] - s.pad[a] + tap % s.kernel[a] * s.dilation[a];
      inside = inside && at >= 0 && at < s.input[a];
      place += at * step;
      step *= s.input[a];
      position /= s.output[a];
      tap /= s.kernel[a];
    }
    if (!inside) continue;
    for (int c = 0; c < per_group; ++c) {
      sum += double(x.stored(x_places.At(n, first + c, place))) *
             weights[(o * per_group + c) * kernel_size + k];
    }
  }
  return sum;
}

/// One problem with its values; every way of computing it is compared with the definition.
class Case {
 public:
  Case(Stream& stream, const ConvolutionProblem& problem, int extra, std::mt19937* random)
      : stream_(stream),
        problem_(problem),
        shape_(problem.shape),
        x_places_(PlacesOf(problem, shape_.channels, shape_.input_spatial(), extra)),
        y_places_(PlacesOf(problem, shape_.outputs, shape_.output_spatial(), extra)),
        x_(StoredArray::Random(problem.input, 0.05f, x_places_.Count(problem.num), random)),
        residual_(
            StoredArray::Random(problem.residual, 0.125f, y_places_.Count(problem.num), random)),
        weights_(
            WithoutFilling(StoredArray::Random(WeightType(), 1, shape_.weight_count(), random))),
        bias_(WholeNumbers<float>(shape_.outputs, random)) {
    problem_.input_stride = x_places_.stride;
    problem_.output_stride = problem_.residual_stride = y_places_.stride;
    std::uniform_real_distribution<float> scale(0.0005f, 0.002f);
    std::uniform_int_distribution<int> quarters(0, 3);
    for (int o = 0; o < shape_.outputs; ++o) {
      scales_.push_back(scale(*random));
      slopes_.push_back(0.25f * quarters(*random));
    }
  }

  void Check() {
    const auto ways = cuda::FusedConvolutions(stream_, problem_);
    ASSERT_FALSE(ways.empty());
    for (const auto& way : ways) {
      SCOPED_TRACE(way->name());
      Check(*way);
      Check(*cuda::FusedConvolutionNamed(stream_, problem_, way->name()));
    }
  }

 private:
  /// The weights of channels that fill up are 0.
  StoredArray WithoutFilling(const StoredArray& weights) const {
    std::vector<float> values;
    const size_t kernel = shape_.kernel_size(), channels = shape_.channels / shape_.group;
    for (size_t i = 0; i < weights.size(); ++i) {
      const bool fills =
          problem_.used_channels > 0 && i / kernel % channels >= size_t(problem_.used_channels);
      values.push_back(fills ? 0 : weights.stored(i));
    }
    return StoredArray(WeightType(), 1, values);
  }

  ElementType WeightType() const {
    return IsInteger(problem_.input) ? ElementType::INT8 : problem_.input;
  }

  /// The weights in the order of the kernels.
  StoredArray Packed() const {
    const size_t count = weights_.size();
    std::vector<float> plain(count), packed(count);
    for (size_t i = 0; i < count; ++i) plain[i] = weights_.stored(i);
    cuda::PackWeights(shape_, problem_.channels_last, plain.data(), packed.data());
    return StoredArray(WeightType(), 1, packed);
  }

  void Check(const cuda::FusedConvolution& way) {
    constexpr float kScale = 0.125f, kBefore = 77;
    StoredArray y(problem_.output, kScale,
                  std::vector<float>(y_places_.Count(problem_.num), kBefore));
    StoredArray weights = Packed();
    Array<float> bias(bias_), scales(scales_), slopes(slopes_);
    Array<char> workspace(std::vector<char>(way.workspace_bytes() + 1));
    ConvolutionArguments arguments;
    arguments.x = x_.device();
    arguments.weights = weights.device();
    arguments.scales = IsInteger(problem_.input) ? scales.read() : nullptr;
    arguments.bias = problem_.has_bias ? bias.read() : nullptr;
    arguments.slopes = slopes.read();
    arguments.residual = problem_.has_residual ? residual_.device() : nullptr;
    arguments.residual_scale = residual_.scale();
    arguments.y = y.device();
    arguments.output_scale = kScale;
    way.Run(stream_, arguments, workspace.get());

    // cuDNN may fuse products and sums.
    const bool exact = IsExact(problem_.activation) &&
                       (!stream_.handle() || way.name().find("cudnn") == std::string::npos);
    const std::vector<float> got = y.now();
    std::vector<bool> written(got.size());
    for (int n = 0; n < problem_.num; ++n) {
      for (int o = 0; o < shape_.outputs; ++o) {
        for (int p = 0; p < static_cast<int>(shape_.output_spatial()); ++p) {
          const size_t at = y_places_.At(n, o, p);
          written[at] = true;
          ASSERT_TRUE(IsStored(problem_.output, kScale, Wanted(n, o, p), got[at], exact,
                               ErrorOf(way, n, o, p)))
              << "image " << n << ", output " << o << ", place " << p;
        }
      }
    }
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_TRUE(written[i] || got[i] == kBefore) << "element " << i << " is no output";
    }
  }

  /// What a result may be off by where cuDNN has stored the sum in 16 bits before it is finished.
  double ErrorOf(const cuda::FusedConvolution& way, int n, int o, int p) const {
    if (!stream_.handle() || !IsHalfWidth(problem_.input) ||
        way.name().find("cudnn+finish") == std::string::npos) {
      return 0;
    }
    const double unit = problem_.input == ElementType::FLOAT16 ? 0x1p-11 : 0x1p-8;
    return unit * std::abs(SumAt(shape_, x_, x_places_, WeightNumbers(), n, o, p));
  }

  /// In float for integers, whose values are the CPU's to the bit. Of whole numbers double gives
  /// what float does.
  float Wanted(int n, int o, int p) const {
    const double sum = SumAt(shape_, x_, x_places_, WeightNumbers(), n, o, p);
    return IsInteger(problem_.input) ? Finished<float>(sum, n, o, p)
                                     : static_cast<float>(Finished<double>(sum, n, o, p));
  }
  template <typename F>
  F Finished(double sum, int n, int o, int p) const {
    F value = static_cast<F>(sum);
    if (IsInteger(problem_.input)) value *= scales_[o];
    if (problem_.has_bias) value += bias_[o];
    if (problem_.has_residual) value += residual_[y_places_.At(n, o, p)];
    return AppliedTo<F>(problem_.activation, value, slopes_[o]);
  }
  const std::vector<float>& WeightNumbers() const {
    if (weight_numbers_.empty()) {
      for (size_t i = 0; i < weights_.size(); ++i) weight_numbers_.push_back(weights_.stored(i));
    }
    return weight_numbers_;
  }

  Stream& stream_;
  ConvolutionProblem problem_;
  const ConvolutionShape shape_;
  const Places x_places_, y_places_;
  StoredArray x_, residual_, weights_;
  mutable std::vector<float> weight_numbers_;
  std::vector<float> bias_, scales_, slopes_;
};

std::string Words(const std::vector<int>& values) {
  std::string text;
  for (const int value : values) text += " " + std::to_string(value);
  return text;
}

std::string Described(const ConvolutionProblem& p) {
  return Join(p.num, " images, ", p.channels_last ? "channels-last" : "plain", ", channels ",
              p.shape.channels, ", outputs ", p.shape.outputs, ", group ", p.shape.group, ", input",
              Words(p.shape.input), ", kernel", Words(p.shape.kernel), ", stride",
              Words(p.shape.stride), ", pad", Words(p.shape.pad), ", dilation",
              Words(p.shape.dilation), ", ", Name(p.input), " to ", Name(p.output), ", residual ",
              p.has_residual ? Name(p.residual) : "none", ", bias ", p.has_bias, ", activation ",
              p.activation.kind);
}

TEST_P(FusedConvolutions, AreTheirDefinitionInAnyMixtureOfTypes) {
  const unsigned seed = TestSeed();
  std::mt19937 random(seed);
  const Draw draw = From(&random);
  for (int round = 0; round < 150; ++round) {
    ConvolutionProblem problem;
    problem.num = draw(1, 3);
    problem.shape = RandomShape(draw);
    problem.channels_last = draw(0, 3) > 0;
    problem.input = kStoredTypes[round % 5];
    problem.output = kStoredTypes[draw(0, 4)];
    problem.residual = kStoredTypes[draw(0, 4)];
    problem.has_bias = draw(0, 3) > 0;
    problem.has_residual = draw(0, 1) > 0;
    problem.activation = ActivationNumber(draw(0, kActivations - 1));
    const int extra = draw(0, 1) ? 0 : draw(0, 1) ? 16 : 3;
    SCOPED_TRACE(Join("CAFFE_TEST_SEED=", seed, " round ", round, ": ", Described(problem),
                      ", extra ", extra));
    Case(stream(), problem, extra, &random).Check();
    if (HasFatalFailure()) return;
  }
}

// A net's first convolution: images of few channels, filled up, in steps of 2 or more. Of the
// channels that fill up only the weights are 0.
TEST_P(FusedConvolutions, OfImagesMayReadSquaresOfPixelsAsOne) {
  const unsigned seed = TestSeed();
  std::mt19937 random(seed);
  const Draw draw = From(&random);
  for (const ElementType type :
       {ElementType::FLOAT, ElementType::FLOAT16, ElementType::BFLOAT16, ElementType::INT8}) {
    for (int round = 0; round < 4; ++round) {
      ConvolutionProblem problem;
      problem.num = draw(1, 3);
      problem.used_channels = draw(1, 3);
      ConvolutionShape& s = problem.shape;
      s.channels = cuda::ChannelAlignment(type);
      s.outputs = 8 * draw(1, 2);
      for (int a = 0; a < 2; ++a) {
        s.stride.push_back(draw(2, 4));
        s.kernel.push_back(draw(s.stride[a] + 1, 11));
        s.pad.push_back(draw(0, s.kernel[a] - 1));
        s.dilation.push_back(1);
        s.input.push_back(s.kernel[a] + draw(0, 9));
        s.output.push_back((s.input[a] + 2 * s.pad[a] - s.kernel[a]) / s.stride[a] + 1);
      }
      problem.input = problem.residual = type;
      problem.output = round % 2 ? type : ElementType::FLOAT;
      problem.activation = ActivationNumber(draw(0, 1));
      SCOPED_TRACE(Join("CAFFE_TEST_SEED=", seed, ": ", Described(problem), ", used ",
                        problem.used_channels));
      Case(stream(), problem, 0, &random).Check();
      if (HasFatalFailure()) return;
      if (!cuda::FoldedProblem(problem)) continue;
      const auto ways = cuda::FusedConvolutions(stream(), problem);
      EXPECT_TRUE(std::any_of(ways.begin(), ways.end(), [](const auto& way) {
        return way->name().compare(0, 7, "folded ") == 0;
      }));
    }
  }
}

TEST(FoldedProblem, MultipliesFewerZeros) {
  ConvolutionProblem problem;
  problem.num = 1;
  problem.used_channels = 3;
  ConvolutionShape& s = problem.shape;
  s.channels = 8;
  s.outputs = 64;
  s.input = {224, 224};
  s.output = {112, 112};
  s.kernel = {7, 7};
  s.stride = {2, 2};
  s.pad = {3, 3};
  s.dilation = {1, 1};
  problem.input = ElementType::FLOAT16;
  const auto folded = cuda::FoldedProblem(problem);
  ASSERT_TRUE(folded);
  EXPECT_EQ(folded->shape.channels, 16) << "12, filled up";
  EXPECT_EQ(folded->shape.kernel, (std::vector<int>{4, 4}));
  EXPECT_EQ(folded->shape.input, (std::vector<int>{115, 115}));
  EXPECT_EQ(folded->shape.pad, (std::vector<int>{0, 0}));
  EXPECT_EQ(folded->shape.stride, (std::vector<int>{1, 1}));
  s.stride = {1, 1};
  EXPECT_FALSE(cuda::FoldedProblem(problem)) << "nothing is skipped";
  s.stride = {2, 2};
  problem.used_channels = 8;
  s.kernel = {1, 1};
  EXPECT_FALSE(cuda::FoldedProblem(problem)) << "more products";
}

ConvolutionProblem ProblemOf(ElementType type, bool channels_last) {
  ConvolutionProblem problem;
  problem.num = 2;
  problem.shape.channels = problem.shape.outputs = 64;
  problem.shape.input = problem.shape.output = {14, 14};
  problem.shape.kernel = {3, 3};
  problem.shape.stride = problem.shape.pad = problem.shape.dilation = {1, 1};
  problem.channels_last = channels_last;
  problem.input = problem.output = problem.residual = type;
  problem.activation.kind = kernels::Activation::RELU;
  return problem;
}

TEST_P(FusedConvolutions, HaveAWayForOneAndTwoAxesOnly) {
  ConvolutionProblem problem = ProblemOf(ElementType::FLOAT, true);
  problem.shape.input = problem.shape.output = problem.shape.kernel = {3, 3, 3};
  problem.shape.stride = problem.shape.pad = problem.shape.dilation = {1, 1, 1};
  EXPECT_TRUE(cuda::FusedConvolutions(stream(), problem).empty());
  EXPECT_THROW(cuda::FusedConvolutionNamed(stream(), problem, "direct"), Error);
}

TEST_P(FusedConvolutions, OfIntegersHaveNoMoreProductsThanASumHasRoomFor) {
  ConvolutionProblem problem = ProblemOf(ElementType::INT8, true);
  problem.shape.input = problem.shape.output = problem.shape.kernel = {1, 1};
  problem.shape.pad = {0, 0};
  problem.shape.channels = 66'000;
  EXPECT_FALSE(cuda::FusedConvolutions(stream(), problem).empty());
  problem.shape.channels = 66'001;
  EXPECT_TRUE(cuda::FusedConvolutions(stream(), problem).empty());
  EXPECT_THROW(cuda::FusedConvolutionNamed(stream(), problem, "direct"), Error);
  problem.input = ElementType::FLOAT16;
  EXPECT_FALSE(cuda::FusedConvolutions(stream(), problem).empty());
}

TEST_P(FusedConvolutions, OfNoImagesWriteNothing) {
  ConvolutionProblem problem = ProblemOf(ElementType::FLOAT16, true);
  problem.num = 0;
  cuda::FusedConvolutionNamed(stream(), problem, "direct")->Run(stream(), {}, nullptr);
  stream().Synchronize();
}

TEST_P(FusedConvolutions, ThatNobodyKnowsAreRefusedByName) {
  const ConvolutionProblem problem = ProblemOf(ElementType::FLOAT16, true);
  for (const char* name : {"", "depthwise", "directly", "winograd", "onednn 5"}) {
    EXPECT_THROW(cuda::FusedConvolutionNamed(stream(), problem, name), Error) << name;
  }
}

TEST(PackedWeights, LieAsKernelsReadThem) {
  ConvolutionShape s;
  s.channels = 2;
  s.outputs = 2;
  s.kernel = {1, 2};
  const std::vector<float> weights = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto packed = [&](bool channels_last) {
    std::vector<float> result(weights.size());
    cuda::PackWeights(s, channels_last, weights.data(), result.data());
    return result;
  };
  EXPECT_EQ(packed(false), weights);
  EXPECT_EQ(packed(true), (std::vector<float>{1, 3, 2, 4, 5, 7, 6, 8}));
  s.channels = s.group = 4;  // of one channel each
  s.outputs = 4;
  EXPECT_EQ(packed(true), (std::vector<float>{1, 3, 5, 7, 2, 4, 6, 8}));
}

TEST_P(FusedConvolutions, GradientsThatLieChannelsLastAreAddedInCaffesOrder) {
  ConvolutionShape s;
  s.channels = 2;
  s.outputs = 2;
  s.kernel = {1, 2};
  // Two channels, and one that fills up.
  Array<float> gradient({1, 3, -9, 2, 4, -9, 5, 7, -9, 6, 8, -9});
  Array<float> sum(Filled<float>(8, 10.f));
  cuda::AddChannelsLastWeights(stream(), s, 3, gradient.read(), sum.get());
  EXPECT_EQ(sum.values(), (std::vector<float>{11, 12, 13, 14, 15, 16, 17, 18}));
}

// --- What cuDNN proposes for a GPU that is not here --------------------------------------------

/// cuDNN's description of a GPU of compute capability 9.0, with an H100's numbers.
const char kH100[] = R"({
  "deviceName": "NVIDIA H100 80GB HBM3", "deviceVer": 900, "driverVer": 13000, "cudaDeviceId": 0,
  "totalGlobalMem": 85000000000, "multiProcessorCount": 132, "smClockRateKHz": 1980000,
  "memClockRateKHz": 2619000, "l2CacheSize": 52428800, "warpSize": 32, "regsPerBlock": 65536,
  "maxRegistersPerSM": 65536, "maxSharedMemoryPerBlock": 49152,
  "maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024,
  "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048,
  "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64],
  "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1})";

class CudnnElsewhere : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      ways(ProblemOf(ElementType::FLOAT, false));
    } catch (const Error& error) {
      GTEST_SKIP() << "cuDNN describes no GPU that is not here: " << error.what();
    }
  }

  static std::vector<std::string> ways(const ConvolutionProblem& problem) {
    std::vector<std::string> names;
    for (const auto& way : cuda::CudnnConvolutionsElsewhere(kH100, problem, size_t(1) << 30)) {
      names.push_back(way->name());
    }
    return names;
  }
  static bool HasWay(const ConvolutionProblem& problem, const std::string& kind) {
    const std::vector<std::string> names = ways(problem);
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return name.compare(0, kind.size() + 1, kind + ' ') == 0;
    });
  }
};

// Others than for float are compiled when they are made, which needs a driver.
TEST_F(CudnnElsewhere, FloatWithBiasResidualAndReluIsOneKernel) {
  for (const bool channels_last : {false, true}) {
    ConvolutionProblem problem = ProblemOf(ElementType::FLOAT, channels_last);
    EXPECT_TRUE(HasWay(problem, "cudnn")) << channels_last;
    problem.has_residual = true;
    EXPECT_TRUE(HasWay(problem, "cudnn")) << channels_last;
  }
}

TEST_F(CudnnElsewhere, EveryTypeIsConvolvedAndThenFinished) {
  for (const ElementType type :
       {ElementType::FLOAT, ElementType::FLOAT16, ElementType::BFLOAT16, ElementType::INT8}) {
    ConvolutionProblem problem = ProblemOf(type, true);
    EXPECT_TRUE(HasWay(problem, "cudnn+finish")) << Name(type);
    problem.shape.group = 2;
    EXPECT_TRUE(HasWay(problem, "cudnn+finish")) << Name(type) << " in groups";
  }
}

TEST_F(CudnnElsewhere, WaysAreFoundAgainByTheirNames) {
  for (const ElementType type : {ElementType::FLOAT, ElementType::FLOAT16, ElementType::INT8}) {
    const ConvolutionProblem problem = ProblemOf(type, true);
    for (const std::string& name : ways(problem)) {
      EXPECT_EQ(cuda::CudnnConvolutionElsewhereNamed(kH100, problem, name)->name(), name);
    }
  }
}

TEST_F(CudnnElsewhere, EnginesThatRoundFactorsAreRefusedByNameUnlessThatIsAskedFor) {
  const ConvolutionProblem exact = ProblemOf(ElementType::FLOAT, true);
  ConvolutionProblem rounded = exact;
  rounded.tf32 = true;
  int refused = 0;
  for (const std::string& name : ways(rounded)) {
    EXPECT_NO_THROW(cuda::CudnnConvolutionElsewhereNamed(kH100, rounded, name)) << name;
    try {
      cuda::CudnnConvolutionElsewhereNamed(kH100, exact, name);
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
}

TEST_F(CudnnElsewhere, NamesThatAreNoneAreRefused) {
  const ConvolutionProblem problem = ProblemOf(ElementType::FLOAT, true);
  for (const char* name : {"cudnn", "cudnn ", "cudnn x", "cudnn 99999", "cudnn 0 2:3", "cudnn 0 2",
                           "cudnn 28 2=9999", "other 1"}) {
    EXPECT_THROW(cuda::CudnnConvolutionElsewhereNamed(kH100, problem, name), Error) << name;
  }
}

TEST_F(CudnnElsewhere, MoreWorkspaceThanIsAllowedIsNotAsked) {
  ConvolutionProblem problem = ProblemOf(ElementType::FLOAT16, true);
  problem.has_residual = true;
  for (const auto& way : cuda::CudnnConvolutionsElsewhere(kH100, problem, 0)) {
    EXPECT_EQ(way->workspace_bytes(), 0u) << way->name();
  }
}

}  // namespace
}  // namespace caffe
