#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "caffe/error.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/test/support/algorithm_runs.hpp"

// Math of BFLOAT16: what is multiplied is rounded to it, once and to nearest; products are exact
// and sums are in float. So an algorithm computes of any numbers what the plain kernels compute of
// the rounded ones.
namespace caffe::algorithms {
namespace {

constexpr auto kFloat = ElementType::FLOAT;
constexpr auto kBFloat16 = ElementType::BFLOAT16;

bool IsOff() { return !onednn::MultipliesBFloat16(); }
constexpr char kOff[] = "oneDNN or the processor has no products of BFLOAT16";

Values Rounded(const Values& values) {
  Values rounded;
  for (const float value : values) rounded.push_back(static_cast<float>(bfloat16(value)));
  return rounded;
}

Operands Rounded(Operands operands) {
  operands.x = Rounded(operands.x);
  operands.weights = Rounded(operands.weights);
  return operands;
}

/// Stored in FLOAT.
template <typename Problem>
Problem InBFloat16(Problem problem, Phase phase) {
  problem.settings = Floats(phase);
  problem.settings.types = {kFloat, kFloat, kBFloat16, kBFloat16};
  return problem;
}

template <typename Problem>
void ExpectProductsOfRoundedOperands(const Problem& problem) {
  const Operands operands = OperandsOf(problem), rounded = Rounded(operands);
  const AlgorithmPtr plain = Plain(problem);
  const AlgorithmPtr inference = Choose(InBFloat16(problem, TEST));
  const AlgorithmPtr training = Choose(InBFloat16(problem, TRAIN));
  for (const AlgorithmPtr& way : {inference, training}) {
    ASSERT_EQ(way->PackedType(kFloat), kBFloat16);
    ExpectNear(Outputs(*way, operands), Outputs(*plain, rounded));
  }
  const Values gradient = Random(operands.outputs);
  const auto expected = GradientsOf(*plain, rounded, Rounded(gradient));
  const auto actual = GradientsOf(*training, operands, gradient);
  ASSERT_TRUE(training->gradients());
  for (int i = 0; i < 3; ++i) ExpectNear(actual[i], expected[i]);
}

ConvolutionProblem Strided(int num, int channels, int outputs, int kernel, int stride) {
  ConvolutionProblem problem = Problem(num, channels, outputs, kernel, false);
  problem.shape.stride = {stride, stride};
  problem.plain_source = MayBePlain(channels, 1);
  for (int i = 0; i < 2; ++i) problem.shape.output[i] = (problem.shape.input[i] - 1) / stride + 1;
  return problem;
}

TEST(BFloat16Math, ConvolutionsRoundWhatTheyMultiply) {
  if (IsOff()) GTEST_SKIP() << kOff;
  for (const int num : {1, 4, 5}) {
    for (const auto& [channels, outputs] :
         {std::pair(3, 32), std::pair(16, 16), std::pair(20, 50), std::pair(64, 48)}) {
      for (const auto& [kernel, stride] : {std::pair(1, 1), std::pair(1, 2), std::pair(3, 2)}) {
        SCOPED_TRACE(Join(num, " images, ", channels, " -> ", outputs, ", kernel ", kernel,
                          ", stride ", stride));
        ExpectProductsOfRoundedOperands(Strided(num, channels, outputs, kernel, stride));
      }
    }
  }
}

TEST(BFloat16Math, GroupsToo) {
  if (IsOff()) GTEST_SKIP() << kOff;
  ConvolutionProblem problem = Strided(2, 64, 32, 1, 1);
  problem.shape.group = 2;
  ExpectProductsOfRoundedOperands(problem);
}

TEST(BFloat16Math, InnerProductsOfManyRowsRoundWhatTheyMultiply) {
  if (IsOff()) GTEST_SKIP() << kOff;
  InnerProductProblem problem;
  problem.inputs = 48;
  problem.outputs = 70;
  problem.bias = true;
  for (const int rows : {256, 301}) {
    problem.rows = rows;
    problem.settings = Floats(TEST);
    ExpectProductsOfRoundedOperands(problem);
  }
  problem.rows = 8;
  EXPECT_EQ(Choose(InBFloat16(problem, TRAIN))->PackedType(kFloat), kFloat);
}

// A few images at a time, whose results are rounded to FLOAT16 once.
TEST(BFloat16Math, ReadsAndWritesFloat16) {
  if (IsOff()) GTEST_SKIP() << kOff;
  ConvolutionProblem problem = InBFloat16(Strided(4, 64, 48, 1, 1), TRAIN);
  problem.settings.types.forward_type = problem.settings.types.backward_type = ElementType::FLOAT16;
  const AlgorithmPtr way = Choose(problem);
  ASSERT_EQ(way->PackedType(ElementType::FLOAT16), kBFloat16);
  Operands operands = OperandsOf(problem);
  for (float& x : operands.x) x = static_cast<float>(float16(x));
  const Values expected = Outputs(*Plain(Strided(4, 64, 48, 1, 1)), Rounded(operands));

  const auto x = TensorOf(operands.x);
  Tensor y(operands.outputs, ElementType::FLOAT16);
  std::vector<bfloat16> packed(way->packed_size());
  way->Pack(operands.weights.data(), nullptr, packed.data());
  Workspace::Buffer<char> scratch(Context::Current().workspace(), way->scratch_bytes() + 1);
  way->Run(ReadAs<float16>(*x, way->source()), {packed.data(), operands.bias.data()}, {},
           scratch.get(), OverwriteAs<float16>(y, way->target()));
  const Values actual = Plainly(y);
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], 2e-4 + std::ldexp(std::fabs(expected[i]), -11)) << i;
  }
}

TEST(BFloat16Math, OfOneDirectionLeavesTheOtherAsItIs) {
  if (IsOff()) GTEST_SKIP() << kOff;
  const ConvolutionProblem problem = Strided(2, 64, 48, 1, 1);
  const Operands operands = OperandsOf(problem), rounded = Rounded(operands);
  const Values gradient = Random(operands.outputs);
  const AlgorithmPtr plain = Plain(problem);

  ConvolutionProblem forward = InBFloat16(problem, TRAIN);
  forward.settings.types.backward_math = kFloat;
  ExpectNear(Outputs(*Choose(forward), operands), Outputs(*plain, rounded));
  auto actual = GradientsOf(*Choose(forward), operands, gradient);
  auto expected = GradientsOf(*plain, operands, gradient);
  for (int i = 0; i < 3; ++i) ExpectNear(actual[i], expected[i]);

  ConvolutionProblem backward = InBFloat16(problem, TRAIN);
  backward.settings.types.forward_math = kFloat;
  ExpectNear(Outputs(*Choose(backward), operands), Outputs(*plain, operands));
  actual = GradientsOf(*Choose(backward), operands, gradient);
  expected = GradientsOf(*plain, rounded, Rounded(gradient));
  for (int i = 0; i < 3; ++i) ExpectNear(actual[i], expected[i]);
}

// In float, a quarter of the products: faster than half of the time for each, and more exact.
TEST(BFloat16Math, LeavesLargeImagesToWinogradsAlgorithm) {
  if (IsOff()) GTEST_SKIP() << kOff;
  ConvolutionProblem problem = Problem(2, 128, 128, 3, false);
  problem.shape.input = problem.shape.output = {56, 56};
  for (const Phase phase : {TEST, TRAIN}) {
    const AlgorithmPtr way = Choose(InBFloat16(problem, phase));
    EXPECT_EQ(way->engine(), std::string("native"));
    EXPECT_EQ(way->PackedType(kFloat), kFloat);
  }
  ConvolutionProblem direct = InBFloat16(problem, TEST);
  direct.settings.engine = Engine::ONEDNN;
  EXPECT_EQ(Choose(direct)->PackedType(kFloat), kBFloat16);
}

class WithoutBFloat16Products : public ::testing::Test {
 protected:
  WithoutBFloat16Products() {
    kernels::SetCpuInstructionSet(kernels::RegisteredInstructionSets().front());
  }
  ~WithoutBFloat16Products() override { kernels::SetCpuInstructionSet(used_); }

 private:
  const kernels::InstructionSet used_ = kernels::CpuInstructionSet();
};

TEST_F(WithoutBFloat16Products, MathIsThatOfTheStoredType) {
  const ConvolutionProblem problem = Strided(2, 64, 48, 1, 1);
  ConvolutionProblem stored = problem;
  for (const Phase phase : {TEST, TRAIN}) {
    stored.settings = Floats(phase);
    const AlgorithmPtr way = Choose(InBFloat16(problem, phase)), expected = Choose(stored);
    EXPECT_EQ(way->PackedType(kFloat), kFloat);
    EXPECT_EQ(way->engine(), std::string(expected->engine()));
    const Operands operands = OperandsOf(problem);
    EXPECT_EQ(Outputs(*way, operands), Outputs(*expected, operands));
  }
}

}  // namespace
}  // namespace caffe::algorithms
