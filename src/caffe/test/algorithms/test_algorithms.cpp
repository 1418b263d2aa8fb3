#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "caffe/algorithms/convolution.hpp"
#include "caffe/algorithms/inner_product.hpp"
#include "caffe/element_type.hpp"
#include "caffe/error.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/test/support/algorithm_runs.hpp"

// Each algorithm next to the plain kernels, which have their own tests, as layers and engines call
// it: with blobs in its layouts, and weights that it has packed.
namespace caffe::algorithms {
namespace {

/// All that can convolve this.
std::vector<AlgorithmPtr> Ways(const ConvolutionProblem& p) {
  onednn::Convolution::Options onednn;
  onednn.bias = true;
  OneDnnOptions best;
  best.bias = true;
  OneDnnOptions one = best;
  one.images = 1;
  onednn::ConvolutionPlaces places;
  places.source_block = places.target_block = kernels::BlockChannels();
  places.packed_shape = p.shape;
  places.packed_num = p.num;
  std::vector<AlgorithmPtr> ways = {Choose(p),
                                    OneDnnConvolution(p.shape, p.num, p.transposed, best),
                                    OneDnnConvolution(p.shape, p.num, p.transposed, one)};
  if (p.transposed) {
    ways.push_back(PackedDeconvolution(p.shape, p.num, ElementType::FLOAT));
    return ways;
  }
  ways.push_back(OneDnnConvolution(p.shape, p.num, onednn, places));
  for (const int tile : {4, 2}) ways.push_back(WinogradConvolution(p.shape, p.num, tile));
  for (const bool plain : {false, true}) {
    ways.push_back(PackedConvolution(p.shape, p.num, plain, ElementType::FLOAT));
  }
  return ways;
}

TEST(ConvolutionAlgorithms, ComputeWhatPlainKernelsCompute) {
  for (const bool transposed : {false, true}) {
    for (const auto& [channels, outputs] : {std::pair(3, 16), std::pair(16, 24), std::pair(5, 7)}) {
      for (const int kernel : {1, 3, 5}) {
        SCOPED_TRACE(Join(channels, " -> ", outputs, ", kernel ", kernel));
        const ConvolutionProblem problem = Problem(2, channels, outputs, kernel, transposed);
        const Operands operands = OperandsOf(problem);
        const Values expected = Outputs(*Plain(problem), operands);
        for (const AlgorithmPtr& way : Ways(problem)) {
          if (way) ExpectNear(Outputs(*way, operands), expected);
        }
      }
    }
  }
}

TEST(ConvolutionAlgorithms, OfDeconvolutionsOfEachChannelComputeWhatPlainKernelsCompute) {
  for (const int kernel : {1, 3, 5}) {
    ConvolutionProblem problem = Problem(2, 19, 19, kernel, true);
    problem.shape.group = 19;
    const Operands operands = OperandsOf(problem);
    const Values expected = Outputs(*Plain(problem), operands);
    for (const AlgorithmPtr& way : Ways(problem)) {
      if (way) ExpectNear(Outputs(*way, operands), expected);
    }
  }
}

TEST(ConvolutionAlgorithms, OfDeconvolutionsArePackedUnlessMuchOfABlockWouldBePadding) {
  const int block = kernels::BlockChannels();
  const auto is_packed = [](const ConvolutionProblem& p) {
    const auto packed = PackedDeconvolution(p.shape, p.num, ElementType::FLOAT);
    return Choose(p)->PacksAs(*packed);
  };
  const auto problem = [](int channels, ElementType type) {
    ConvolutionProblem p = Problem(1, channels, 5, 4, true);
    p.settings.types = LayerTypes::All(type);
    return p;
  };
  for (const ElementType type : {ElementType::FLOAT, ElementType::FLOAT16}) {
    const bool may_be = type == ElementType::FLOAT16 || block <= 8;
    EXPECT_EQ(may_be, is_packed(problem(block, type)));
    EXPECT_EQ(may_be, is_packed(problem(3 * block / 4, type)));
    EXPECT_FALSE(is_packed(problem(block / 2, type)));
    ConvolutionProblem training = problem(block, type);
    training.settings.phase = TRAIN;
    EXPECT_FALSE(is_packed(training));
    ConvolutionProblem direct = problem(block, type);
    direct.settings.engine = Engine::ONEDNN;
    EXPECT_FALSE(is_packed(direct));
  }
}

TEST(ConvolutionAlgorithms, OfFewImagesAtATimeAreThoseOfAll) {
  const ConvolutionProblem problem = Problem(4, 16, 16, 3, false);
  OneDnnOptions options;
  options.bias = true;
  const AlgorithmPtr all = OneDnnConvolution(problem.shape, 4, false, options);
  options.images = 2;
  const AlgorithmPtr halves = OneDnnConvolution(problem.shape, 4, false, options);
  if (!all || !halves) GTEST_SKIP() << "oneDNN has no such convolution";
  const Operands operands = OperandsOf(problem);
  ExpectNear(Outputs(*halves, operands), Outputs(*all, operands));
}

TEST(ConvolutionAlgorithms, KeepInfinitiesToTheOutputsThatReadThem) {
  const ConvolutionProblem problem = Problem(1, 16, 16, 3, false);
  Operands operands = OperandsOf(problem);
  operands.x[0] = INFINITY;
  const Values expected = Outputs(*Plain(problem), operands);
  const Values actual = Outputs(*WinogradConvolution(problem.shape, 1), operands);
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(std::isfinite(actual[i]), std::isfinite(expected[i])) << i;
  }
}

TEST(ConvolutionAlgorithms, PackWeightsForImagesOfAllSizes) {
  ConvolutionProblem large = Problem(2, 16, 16, 3, false);
  large.shape.input = large.shape.output = {20, 20};
  const ConvolutionProblem small = Problem(1, 16, 16, 3, false);
  const auto packed = [](const ConvolutionProblem& p) {
    return PackedConvolution(p.shape, p.num, false, ElementType::FLOAT);
  };
  const auto winograd = [](const ConvolutionProblem& p) {
    return WinogradConvolution(p.shape, p.num);
  };
  EXPECT_TRUE(packed(large)->PacksAs(*packed(small)));
  EXPECT_TRUE(winograd(large)->PacksAs(*winograd(small)));
  EXPECT_FALSE(winograd(large)->PacksAs(*packed(large)));
}

// Of FLOAT16 numbers FLOAT math asks for direct sums.
TEST(ConvolutionAlgorithms, AreWinogradsWhereTheMathAllowsIt) {
  ConvolutionProblem problem = Problem(1, 64, 64, 3, false);
  problem.shape.input = problem.shape.output = {28, 28};
  const AlgorithmPtr winograd = WinogradConvolution(problem.shape, 1);
  const auto is_winograd = [&](const ConvolutionProblem& p) {
    return Choose(p)->PacksAs(*winograd);
  };
  EXPECT_TRUE(is_winograd(problem));
  const Operands operands = OperandsOf(problem);
  ExpectNear(Outputs(*Choose(problem), operands), Outputs(*Plain(problem), operands));

  for (const auto type : {ElementType::FLOAT, ElementType::FLOAT16, ElementType::DOUBLE}) {
    for (const auto math : {ElementType::FLOAT, ElementType::FLOAT16, ElementType::DOUBLE}) {
      ConvolutionProblem other = problem;
      other.settings.types.forward_type = type;
      other.settings.types.forward_math = math;
      if (other.settings.wants_tiles()) continue;
      const bool is_float = type == ElementType::FLOAT && math == ElementType::FLOAT;
      const bool is_half = type != ElementType::DOUBLE && math == ElementType::FLOAT16;
      EXPECT_EQ(is_winograd(other), is_float || is_half) << Name(type) << ", math " << Name(math);
    }
  }
  ConvolutionProblem other = problem;
  other.settings.phase = TRAIN;
  EXPECT_FALSE(is_winograd(other));
  for (const Engine engine : {Engine::REFERENCE, Engine::ONEDNN}) {
    other = problem;
    other.settings.engine = engine;
    EXPECT_FALSE(is_winograd(other));
  }
  other = problem;
  other.shape.kernel = {1, 1};
  other.shape.pad = {0, 0};
  EXPECT_FALSE(is_winograd(other));
}

// Their sums round more than FLOAT promises to, not more than FLOAT16 does.
TEST(ConvolutionAlgorithms, TakeLargeTilesForKernelsOfFiveInFloat16MathOnly) {
  ConvolutionProblem problem = Problem(1, 64, 64, 5, false);
  problem.shape.input = problem.shape.output = {28, 28};
  const Operands operands = OperandsOf(problem);
  const auto by_winograd = [&](int tile) {
    return Outputs(*WinogradConvolution(problem.shape, 1, tile), operands);
  };
  EXPECT_EQ(Outputs(*Choose(problem), operands), by_winograd(2));
  problem.settings.types.forward_math = ElementType::FLOAT16;
  EXPECT_EQ(Outputs(*Choose(problem), operands), by_winograd(4));

  if (!onednn::Enabled()) return;  // no Winograd in training
  problem.settings = Floats(TRAIN);
  EXPECT_EQ(Outputs(*Choose(problem), operands), by_winograd(2));
  problem.settings.types = LayerTypes::All(ElementType::FLOAT16);
  if (problem.settings.wants_tiles()) return;
  EXPECT_EQ(Outputs(*Choose(problem), operands), by_winograd(4));
  problem.settings.types.backward_type = problem.settings.types.backward_math = ElementType::FLOAT;
  EXPECT_EQ(Outputs(*Choose(problem), operands), by_winograd(2));
}

TEST(ConvolutionAlgorithms, AreChosenAgainOnlyForAnotherProblem) {
  const ConvolutionProblem problem = Problem(2, 16, 16, 3, false);
  ConvolutionProblem other = problem;
  EXPECT_TRUE(problem == other);
  other.num = 3;
  EXPECT_FALSE(problem == other);
  other = problem;
  other.shape.pad = {1, 0};
  EXPECT_FALSE(problem == other);
  other = problem;
  other.settings.phase = TRAIN;
  EXPECT_FALSE(problem == other);
}

template <typename Problem>
void ExpectGradients(Problem problem, const Operands& operands) {
  problem.settings = Floats(TRAIN);
  const Values gradient = Random(operands.outputs);
  const auto expected = GradientsOf(*Plain(problem), operands, gradient);
  const AlgorithmPtr chosen = Choose(problem);
  ASSERT_TRUE(chosen->gradients());
  const auto actual = GradientsOf(*chosen, operands, gradient);
  for (int i = 0; i < 3; ++i) ExpectNear(actual[i], expected[i]);
}

TEST(ConvolutionAlgorithms, HaveTheGradientsOfPlainKernels) {
  for (const bool transposed : {false, true}) {
    const ConvolutionProblem problem = Problem(2, 16, 8, 3, transposed);
    ExpectGradients(problem, OperandsOf(problem));
  }
}

/// A convolution that Winograd's algorithm computes in training; pad: of each side.
ConvolutionProblem Trained(int channels, int outputs, int kernel, int pad) {
  ConvolutionProblem problem = Problem(2, channels, outputs, kernel, false);
  problem.shape.input = {18, 21};
  problem.shape.pad = {pad, pad};
  problem.shape.output = {18 + 2 * pad - kernel + 1, 21 + 2 * pad - kernel + 1};
  problem.settings = Floats(TRAIN);
  return problem;
}

// Channels that do not fill blocks, groups, padding that keeps the size, less and more of it.
TEST(ConvolutionAlgorithms, TrainByWinogradWithTheGradientsOfPlainKernels) {
  if (!onednn::Enabled()) GTEST_SKIP() << "oneDNN, which makes the gradients of parameters, is off";
  int made = 0;
  for (const auto& [kernel, tile] : {std::pair(3, 4), std::pair(5, 2), std::pair(5, 4)}) {
    // Sums of some 700 products.
    const double bound = 8e-6 * kernels::WinogradErrorBound(tile, kernel);
    for (int pad = 0; pad < kernel; ++pad) {
      for (const auto& [channels, outputs, group] :
           {std::tuple(64, 48, 1), std::tuple(20, 50, 1), std::tuple(64, 96, 2)}) {
        ConvolutionProblem problem = Trained(channels, outputs, kernel, pad);
        problem.shape.group = group;
        SCOPED_TRACE(Join(channels, " -> ", outputs, ", ", group, " groups, kernel ", kernel,
                          ", tile ", tile, ", pad ", pad));
        OneDnnOptions options;
        options.bias = options.training = options.in_blocks = true;
        const AlgorithmPtr way =
            WinogradTrainingOf(problem.shape, problem.num, tile,
                               OneDnnConvolution(problem.shape, problem.num, false, options));
        if (!way) continue;
        ++made;
        const Operands operands = OperandsOf(problem);
        const Values gradient = Random(operands.outputs);
        ExpectNear(Outputs(*way, operands), Outputs(*Plain(problem), operands), bound);
        const auto expected = GradientsOf(*Plain(problem), operands, gradient);
        const auto actual = GradientsOf(*way, operands, gradient);
        for (int i = 0; i < 3; ++i) ExpectNear(actual[i], expected[i], bound);
      }
    }
  }
  EXPECT_GE(made, 30) << "of 39";
}

// With few weights for the size of the images each thread computes the gradients of its own images.
TEST(ConvolutionAlgorithms, HaveThePlainGradientsWithAnyNumberOfThreads) {
  if (!onednn::Enabled()) GTEST_SKIP() << "oneDNN, whose gradients these are, is off";
  OneDnnOptions options;
  options.bias = options.training = true;
  for (const auto& [channels, outputs] : {std::pair(1, 20), std::pair(16, 16), std::pair(20, 50)}) {
    for (const bool in_blocks : {false, true}) {
      options.in_blocks = in_blocks;
      ConvolutionProblem problem = Trained(channels, outputs, 3, 1);
      problem.num = 4;
      const Operands operands = OperandsOf(problem);
      const Values gradient = Random(operands.outputs);
      const auto expected = GradientsOf(*Plain(problem), operands, gradient);
      for (const int threads : {1, 2, 3, 4}) {
        SCOPED_TRACE(Join(channels, " -> ", outputs, in_blocks ? " in blocks, " : ", ", threads,
                          " threads"));
        AlgorithmPtr way;
        {
          const kernels::TeamSize team(threads);
          way = OneDnnConvolution(problem.shape, problem.num, false, options);
          if (!way) continue;
          const auto actual = GradientsOf(*way, operands, gradient);
          for (int i = 0; i < 3; ++i) ExpectNear(actual[i], expected[i]);
        }
        // The thread that runs it need not have the team that it was made for.
        const kernels::TeamSize other(threads == 2 ? 1 : 2);
        const auto actual = GradientsOf(*way, operands, gradient);
        for (int i = 0; i < 3; ++i) ExpectNear(actual[i], expected[i]);
      }
    }
  }
}

TEST(ConvolutionAlgorithms, TrainByWinogradWhereTheMathAllowsIt) {
  if (!onednn::Enabled()) GTEST_SKIP() << "oneDNN, which makes the gradients of parameters, is off";
  const ConvolutionProblem problem = Trained(64, 64, 3, 1);
  const auto is_winograd = [](const ConvolutionProblem& p) {
    const AlgorithmPtr way = Choose(p);
    return way->engine() == std::string("native") && way->packs() && way->gradients();
  };
  EXPECT_TRUE(is_winograd(problem));
  for (const auto type : {ElementType::FLOAT, ElementType::FLOAT16}) {
    for (const auto math : {ElementType::FLOAT, ElementType::FLOAT16}) {
      ConvolutionProblem other = problem;
      other.settings.types = {type, type, math, math};
      if (other.settings.wants_tiles()) continue;
      EXPECT_EQ(is_winograd(other), type == ElementType::FLOAT || type == math)
          << Name(type) << ", math " << Name(math);
    }
  }
  ConvolutionProblem other = problem;
  other.settings.engine = Engine::ONEDNN;
  EXPECT_FALSE(is_winograd(other));
  other = problem;
  other.shape.group = 2;
  EXPECT_TRUE(is_winograd(other));
  other.shape.group = 8;
  EXPECT_FALSE(is_winograd(other)) << "groups of half a block";
  other = problem;
  other.num = 0;
  EXPECT_FALSE(is_winograd(other));
}

InnerProductProblem Product(int rows) {
  InnerProductProblem problem;
  problem.rows = rows;
  problem.inputs = 48;
  problem.outputs = 20;
  problem.bias = true;
  problem.settings = Floats(TEST);
  return problem;
}

TEST(InnerProductAlgorithms, ComputeWhatPlainProductsCompute) {
  for (const int rows : {1, 5, 40}) {
    const InnerProductProblem problem = Product(rows);
    const Operands operands = OperandsOf(problem);
    const Values expected = Outputs(*Plain(problem), operands);
    for (const AlgorithmPtr& way :
         {Choose(problem), PackedInnerProduct(rows, 48, 20), BlasInnerProduct(rows, 48, 20)}) {
      ExpectNear(Outputs(*way, operands), expected);
    }
  }
}

TEST(InnerProductAlgorithms, HaveTheGradientsOfPlainProducts) {
  for (const int rows : {1, 40}) ExpectGradients(Product(rows), OperandsOf(Product(rows)));
}

using BFloat16s = std::vector<bfloat16>;

BFloat16s ToBFloat16(const Values& values) {
  BFloat16s rounded;
  for (const float value : values) rounded.push_back(static_cast<bfloat16>(value));
  return rounded;
}

Values ToFloat(const BFloat16s& values) {
  Values wide;
  for (const bfloat16 value : values) wide.push_back(static_cast<float>(value));
  return wide;
}

/// Rounded once, from sums whose terms' magnitudes add up to `size`.
void ExpectInBFloat16(bfloat16 actual, double expected, double size, int terms) {
  const double bound = std::ldexp(std::fabs(expected), -8) + terms * std::ldexp(size, -23);
  ASSERT_NEAR(static_cast<float>(actual), expected, bound);
}

/// One for `packed_rows`, and those for fewer rows that run with its weights, as an engine's
/// contexts do in smaller batches. False if oneDNN has none.
bool CheckOneDnnInBFloat16(int packed_rows, int inputs, int outputs) {
  onednn::InnerProduct::Options options;
  options.bias = true;
  options.type = options.result = ElementType::BFLOAT16;
  const AlgorithmPtr largest =
      OneDnnInnerProduct(packed_rows, inputs, outputs, false, Layout(), options, packed_rows);
  if (!largest) return false;
  const BFloat16s x = ToBFloat16(Random(packed_rows * inputs));
  const BFloat16s weights = ToBFloat16(Random(inputs * outputs));
  const Values wide = ToFloat(weights), bias = Random(outputs);
  BFloat16s packed(largest->packed_size());
  largest->Pack(wide.data(), nullptr, packed.data());
  for (int rows = 1; rows <= packed_rows; rows += 1 + rows / 3) {
    SCOPED_TRACE(Join(rows, " of ", packed_rows, " rows, ", inputs, " -> ", outputs));
    const AlgorithmPtr way =
        OneDnnInnerProduct(rows, inputs, outputs, false, Layout(), options, packed_rows);
    if (!way || way->packed_size() != packed.size()) {
      ADD_FAILURE() << (way ? "its weights have another size" : "there is none");
      continue;
    }
    BFloat16s y(rows * outputs);
    Workspace::Buffer<char> scratch(Context::Current().workspace(), way->scratch_bytes() + 1);
    way->Run(x.data(), {packed.data(), bias.data()}, kernels::PostOps(), scratch.get(), y.data());
    for (int i = 0; i < rows * outputs; ++i) {
      const int row = i / outputs, o = i % outputs;
      double sum = bias[o], size = std::fabs(sum);
      for (int k = 0; k < inputs; ++k) {
        const double term = double(static_cast<float>(x[row * inputs + k])) * wide[o * inputs + k];
        sum += term;
        size += std::fabs(term);
      }
      ExpectInBFloat16(y[i], sum, size, inputs + 1);
    }
  }
  return true;
}

/// The same for the images of a convolution, in blocks of channels.
bool CheckOneDnnInBFloat16(const ConvolutionProblem& packed) {
  const kernels::ConvolutionShape& shape = packed.shape;
  onednn::Convolution::Options options;
  options.bias = true;
  options.type = options.result = ElementType::BFLOAT16;
  onednn::ConvolutionPlaces places;
  places.source_block = places.target_block = kernels::BlockChannels();
  places.packed_shape = shape;
  places.packed_num = packed.num;
  const AlgorithmPtr largest = OneDnnConvolution(shape, packed.num, options, places);
  if (!largest) return false;
  const BFloat16s weights = ToBFloat16(Random(shape.weight_count()));
  const Values wide = ToFloat(weights), bias = Random(shape.outputs);
  BFloat16s packed_weights(largest->packed_size());
  largest->Pack(wide.data(), nullptr, packed_weights.data());
  for (int num = 1; num <= packed.num; ++num) {
    SCOPED_TRACE(Join(num, " of ", packed.num, " images, ", shape.channels, " -> ", shape.outputs));
    const AlgorithmPtr way = OneDnnConvolution(shape, num, options, places);
    if (!way || way->packed_size() != packed_weights.size()) {
      ADD_FAILURE() << (way ? "its weights have another size" : "there is none");
      continue;
    }
    ConvolutionProblem problem = packed;
    problem.num = num;
    Operands operands = OperandsOf(problem);
    operands.x = ToFloat(ToBFloat16(operands.x));
    operands.weights = wide;
    operands.bias = bias;
    const Values expected = Outputs(*Plain(problem), operands);
    Operands sizes = operands;
    for (Values* values : {&sizes.x, &sizes.weights, &sizes.bias}) {
      for (float& value : *values) value = std::fabs(value);
    }
    const Values size = Outputs(*Plain(problem), sizes);
    const auto x = TensorOf(operands.x);
    Tensor y(operands.outputs, ElementType::BFLOAT16);
    way->Run(ReadAs<bfloat16>(*x, way->source()), {packed_weights.data(), bias.data()},
             kernels::PostOps(), nullptr, OverwriteAs<bfloat16>(y, way->target()));
    const bfloat16* actual = ReadAs<bfloat16>(y, Layout());
    for (size_t i = 0; i < expected.size(); ++i) {
      ExpectInBFloat16(actual[i], expected[i], size[i], shape.column_rows() + 1);
    }
  }
  return true;
}

TEST(ConvolutionAlgorithms, InBFloat16ConvolveFewerImagesThanTheirWeightsArePackedFor) {
  bool is_there = false;
  for (const int packed_num : {2, 9}) {
    for (const auto& [channels, outputs] :
         {std::pair(16, 24), std::pair(64, 64), std::pair(5, 7)}) {
      for (const int kernel : {1, 3}) {
        is_there |= CheckOneDnnInBFloat16(Problem(packed_num, channels, outputs, kernel, false));
      }
    }
  }
  if (!is_there) GTEST_SKIP() << "oneDNN has no fast convolution in BFLOAT16 here";
}

TEST(InnerProductAlgorithms, InBFloat16RunFewerRowsThanTheirWeightsArePackedFor) {
  for (const int rows : {2, 3, 16, 70}) {
    for (const auto& [inputs, outputs] :
         {std::pair(64, 32), std::pair(300, 10), std::pair(7, 90)}) {
      CheckOneDnnInBFloat16(rows, inputs, outputs);
    }
  }
}

}  // namespace
}  // namespace caffe::algorithms
