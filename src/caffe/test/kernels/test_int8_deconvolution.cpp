// Deconvolutions of integers alone as convolutions of their phases, on every instruction set:
// the definition's bits.
#include "caffe/kernels/int8_deconvolution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "caffe/kernels/integer_reference.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/test/support/blocked_convolutions.hpp"
#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/seeded_numbers.hpp"

namespace caffe::kernels {
namespace {

/// Of a layer with these extents of its input.
ConvolutionShape Deconvolution(int channels, int outputs, int group,
                               const std::vector<Extents>& axes) {
  ConvolutionShape s = Shape(channels, outputs, group, axes);
  for (size_t i = 0; i < axes.size(); ++i) {
    s.output[i] = (axes[i].input - 1) * axes[i].stride - 2 * axes[i].pad +
                  axes[i].dilation * (axes[i].kernel - 1) + 1;
  }
  return s;
}

class Int8Deconvolutions : public OnInstructionSet, protected SeededNumbers {
 protected:
  template <typename T>
  T SomeByte() {
    return static_cast<T>(Number(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  }

  template <typename X, typename Y>
  void Compare(const ConvolutionShape& s, int num, Rounding rounding) {
    SCOPED_TRACE(::testing::Message()
                 << num << " x " << s.channels << " to " << s.outputs << " in " << s.group
                 << " groups, input " << s.input[0] << "x" << s.input[1] << ", kernel "
                 << s.kernel[0] << "x" << s.kernel[1] << ", stride " << s.stride[0] << "x"
                 << s.stride[1] << ", pad " << s.pad[0] << "x" << s.pad[1] << ", dilation "
                 << s.dilation[0] << "x" << s.dilation[1]);
    const auto deconvolution = Int8Deconvolution::Make(s);
    ASSERT_TRUE(deconvolution);
    std::vector<X> x(num * s.input_size());
    for (X& value : x) value = SomeByte<X>();
    std::vector<int8_t> weights(s.weight_count());
    for (int8_t& w : weights) w = SomeByte<int8_t>();
    std::vector<int32_t> bias, whole, multipliers, shifts;
    for (int o = 0; o < s.outputs; ++o) {
      bias.push_back(Number(-20000, 20000));
      multipliers.push_back(Number(1 << 30, std::numeric_limits<int32_t>::max()));
      shifts.push_back(Number(-12, -7));
    }
    Rescaling by;
    by.multipliers = multipliers.data();
    by.shifts = shifts.data();
    by.rounding = rounding;
    by.input_zero_point = SomeByte<X>();
    by.zero_point = SomeByte<Y>();
    by.least = std::numeric_limits<Y>::min();
    by.most = std::numeric_limits<Y>::max();
    std::vector<int8_t> transposed(weights.size());
    TransposeDeconvolution(s, weights.data(), transposed.data());
    for (int o = 0; o < s.outputs; ++o) {
      whole.push_back(FoldZeroPoint(s.column_rows(), transposed.data() + o * s.column_rows(), 0,
                                    by.input_zero_point, bias[o]));
    }
    by.bias = whole.data();
    std::vector<Y> y(num * s.output_size());
    IntegerDeconvolution(s, num, x.data(), weights.data(), 0, by, y.data());

    const size_t block = BlockChannels();
    const std::vector<X> blocked = ToBlocks(x, num, s.channels, s.input_spatial(), block);
    const std::vector<Y> expected = ToBlocks(y, num, s.outputs, s.output_spatial(), block);
    std::vector<int8_t> packed(deconvolution->packed_size());
    std::vector<int32_t> folded(deconvolution->phases() * s.outputs);
    deconvolution->PackWeights(weights.data(), packed.data());
    deconvolution->FoldZeroPoint(weights.data(), by.input_zero_point, bias.data(), folded.data());
    by.bias = folded.data();
    for (const int threads : {1, 3}) {
      const TeamSize team(threads);
      std::vector<Y> made(expected.size(), Y(77));
      std::vector<double> scratch(deconvolution->scratch_bytes(num) / sizeof(double) + 1);
      deconvolution->Forward(num, blocked.data(), packed.data(), by, scratch.data(), made.data());
      ASSERT_EQ(made, expected) << threads << " threads";
    }
  }
  void CompareAll(const ConvolutionShape& s, int num) {
    Compare<uint8_t, uint8_t>(s, num, Rounding::DOUBLE);
    Compare<int8_t, int8_t>(s, num, Rounding::SINGLE);
    Compare<uint8_t, int8_t>(s, num, Rounding::SINGLE);
    Compare<int8_t, uint8_t>(s, num, Rounding::DOUBLE);
  }
};

TEST_P(Int8Deconvolutions, AreTheDefinition) {
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed_);
  CompareAll(Deconvolution(19, 21, 1, {{5, 4, 2, 1}, {6, 4, 2, 1}}), 2);
  CompareAll(Deconvolution(16, 40, 1, {{5, 2, 2, 0}, {3, 2, 2, 0}}), 1);
  CompareAll(Deconvolution(3, 9, 1, {{7, 3, 1, 1}, {5, 3, 1, 0}}), 2);
  CompareAll(Deconvolution(5, 7, 1, {{4, 5, 2, 2, 3}, {4, 6, 3, 1}}), 1);
  CompareAll(Deconvolution(32, 64, 2, {{4, 4, 2, 1}, {5, 3, 1, 1}}), 1);
  CompareAll(Deconvolution(9, 9, 9, {{4, 64, 32, 16}, {3, 4, 2, 1}}), 1);
}

TEST_P(Int8Deconvolutions, OfShapesOfAllKindsAreTheDefinition) {
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed_);
  int computed = 0;
  for (int run = 0; run < 60 && !HasFailure(); ++run) {
    std::vector<Extents> axes(2);
    for (Extents& axis : axes) {
      axis = {Number(1, 9), Number(1, 6), Number(1, 4), Number(0, 3), Number(1, 3)};
    }
    const ConvolutionShape s = Deconvolution(Number(1, 40), Number(1, 40), 1, axes);
    if (std::min(s.output[0], s.output[1]) < 1 || !Int8Deconvolution::Make(s)) continue;
    ++computed;
    Compare<uint8_t, uint8_t>(s, Number(0, 2), Rounding::DOUBLE);
    Compare<int8_t, int8_t>(s, Number(1, 2), Rounding::SINGLE);
  }
  EXPECT_GT(computed, 2);
}

TEST(Int8Deconvolution, LeavesOthersToTheDefinition) {
  const auto makes = [](const ConvolutionShape& s) {
    return Int8Deconvolution::Make(s) != nullptr;
  };
  EXPECT_TRUE(makes(Deconvolution(8, 8, 1, {{5, 2, 2}, {5, 2, 2}})));
  EXPECT_FALSE(makes(Deconvolution(8, 8, 1, {{5, 1, 2}, {5, 2, 2}}))) << "gaps of the kernel";
  EXPECT_FALSE(makes(Deconvolution(8, 8, 1, {{5, 3, 1, 3}, {5, 2, 2}}))) << "more pad than kernel";
  EXPECT_FALSE(makes(Deconvolution(8, 8, 1, {{5, 2, 2}}))) << "one axis";
  EXPECT_FALSE(makes(Deconvolution(6, 6, 2, {{5, 2, 2}, {5, 2, 2}}))) << "parts of blocks";
  EXPECT_FALSE(makes(Deconvolution(8, 8, 1, {{2, 64, 32}, {2, 64, 32}}))) << "1024 phases";
  ConvolutionShape wide = Deconvolution(8, 8, 1, {{5, 3, 2, 1}, {5, 3, 2, 1}});
  wide.dilation[0] = 1 << 30;
  EXPECT_FALSE(makes(wide)) << "offsets of more than 32 bits";
}

INSTANTIATE_ON_EVERY_SET(Int8Deconvolutions);

}  // namespace
}  // namespace caffe::kernels
