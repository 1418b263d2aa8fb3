// Divisions by norms of integers with channels in blocks, on every instruction set, against those
// in Caffe's order: to the bit.
#include "caffe/kernels/integer_normalization.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/test/support/blocked_convolutions.hpp"
#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/seeded_numbers.hpp"

namespace caffe::kernels {
namespace {

class NormalizationInBlocks : public OnInstructionSet, protected SeededNumbers {
 protected:
  template <typename T>
  int SomeByte() {
    return Number(std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  }
  /// Random bytes, and where they lie.
  template <typename X>
  IntegerOperand Operand(size_t count, std::vector<X>* x) {
    x->resize(count);
    // Often near the zero point, where sums of squares are small.
    const int zero_point = SomeByte<X>(), most = Number(0, 1) ? 255 : 2;
    for (X& value : *x) {
      value = static_cast<X>(std::clamp<int>(zero_point + Number(-most, most),
                                             std::numeric_limits<X>::min(),
                                             std::numeric_limits<X>::max()));
    }
    return {x->data(), !std::is_signed<X>::value, zero_point};
  }
  template <typename Y>
  IntegerResult Result() {
    IntegerResult result;
    result.rounding = Number(0, 1) ? Rounding::DOUBLE : Rounding::SINGLE;
    result.zero_point = SomeByte<Y>();
    result.least = Number(0, 1) ? int{std::numeric_limits<Y>::min()} : result.zero_point;
    result.most = std::numeric_limits<Y>::max();
    return result;
  }
  /// For tables that begin with 2^30 and x up to 255, whose quotients are up to 2^`bits`.
  Multiplier By(int bits) {
    return {Number(1 << 30, std::numeric_limits<int32_t>::max()), Number(6, 9) - bits};
  }

  /// plain(x, y) and blocks(x, y), y having as many elements.
  template <typename X, typename Y, typename Plain, typename Blocks>
  void Compare(size_t num, size_t channels, size_t spatial, Plain&& plain, Blocks&& blocks) {
    SCOPED_TRACE(::testing::Message() << num << " x " << channels << " x " << spatial);
    const size_t block = BlockChannels();
    std::vector<X> x;
    IntegerOperand operand = Operand(num * channels * spatial, &x);
    std::vector<Y> y(x.size());
    plain(operand, y.data());
    std::vector<X> blocked = ToBlocks(x, num, channels, spatial, block);
    const size_t padded = RoundUp(channels, block);
    for (size_t i = 0; i < blocked.size(); ++i) {  // what fills up blocks may be anything
      const size_t channel = i / (spatial * block) * block % padded + i % block;
      if (channel >= channels) blocked[i] = static_cast<X>(SomeByte<X>());
    }
    const std::vector<Y> expected = ToBlocks(y, num, channels, spatial, block);
    operand.data = blocked.data();
    for (const int threads : {1, 3}) {
      const TeamSize team(threads);
      std::vector<Y> made(expected.size(), Y(77));
      blocks(operand, made.data());
      ASSERT_EQ(made, expected) << threads << " threads";
    }
  }

  /// The definition.
  template <typename Y>
  static Y LrnOf(const LrnShape& s, const int32_t* table, const IntegerOperand& x,
                 const IntegerResult& result, size_t at) {
    const int width = s.width, height = s.height, channels = s.channels;
    const int w = static_cast<int>(at % width), h = static_cast<int>(at / width % height);
    const int c = static_cast<int>(at / width / height % channels);
    const size_t image = at / width / height / channels;
    uint64_t sum = 0;
    const auto add = [&](int i, int j, int k) {
      if (i < 0 || j < 0 || k < 0 || i >= channels || j >= height || k >= width) return;
      const int32_t q = x.At(((image * channels + i) * height + j) * width + k);
      sum += static_cast<uint64_t>(q * q);
    };
    for (int i = 0, first = -((s.size - 1) / 2); i < s.size; ++i) {
      for (int j = 0; s.within_channel && j < s.size; ++j) add(c, h + first + i, w + first + j);
      if (!s.within_channel) add(c + first + i, h, w);
    }
    const int64_t product = int64_t{x.At(at)} * Interpolated(table, sum);
    return static_cast<Y>(result.Of(static_cast<int32_t>((product + (1 << 7)) >> 8)));
  }

  template <typename X, typename Y>
  void LrnInOrder() {
    LrnShape s;
    s.num = Number(1, 2);
    s.channels = Number(1, 12);
    s.height = Number(1, 40);
    s.width = Number(1, 40);
    s.within_channel = Number(0, 1);
    s.size = Number(0, 3) ? Number(1, 5) : Number(1, 20);
    const double alpha = std::exp2(Number(-30, 4)), beta = 0.25 * Number(1, 4);
    const auto table = FallingTable([&](double a) { return std::pow(1 + alpha * a, -beta); });
    IntegerResult result = Result<Y>();
    result.by = By(Number(20, 30));
    std::vector<X> x;
    const IntegerOperand operand = Operand(size_t(s.num) * s.channels * s.height * s.width, &x);
    std::vector<Y> y(x.size());
    LrnIntegers(s, table.data(), operand, result, y.data());
    for (size_t i = 0; i < y.size(); ++i) {
      ASSERT_EQ(y[i], LrnOf<Y>(s, table.data(), operand, result, i))
          << "at " << i << " of " << s.channels << " x " << s.height << " x " << s.width
          << ", windows of " << s.size << (s.within_channel ? " within" : " across");
    }
  }

  template <typename X, typename Y>
  void Lrn() {
    LrnShape s;
    s.num = Number(1, 2);
    s.channels = Number(1, 60);
    s.height = Number(1, 9);
    s.width = Number(1, 12);
    s.size = Number(0, 3) ? 2 * Number(0, 3) + 1 : Number(1, kMaxWindowInBlocks);
    s.within_channel = false;
    // From quotients of nearly 2^30 to those of less than 2^23.
    const double alpha = std::exp2(Number(-30, 4)), beta = 0.25 * Number(1, 4);
    const auto table = FallingTable([&](double a) { return std::pow(1 + alpha * a, -beta); });
    IntegerResult result = Result<Y>();
    result.by = By(Number(20, 30));
    // Quotients that are divided by all of a sum of squares have room for shifts to the left.
    if (Number(0, 5) == 0) result.by.shift = alpha >= 1 && beta == 1 ? Number(0, 3) : 0;
    Compare<X, Y>(
        s.num, s.channels, size_t(s.height) * s.width,
        [&](const IntegerOperand& x, Y* y) { LrnIntegers(s, table.data(), x, result, y); },
        [&](const IntegerOperand& x, Y* y) { LrnIntegersInBlocks(s, table.data(), x, result, y); });
  }

  template <typename X, typename Y>
  void Normalize() {
    NormExtents e;
    e.num = Number(0, 2);
    e.channels = Number(1, 70);
    e.spatial = Number(1, 200);
    e.across_spatial = Number(0, 1);
    const auto table = FallingTable([](double a) { return 1 / std::sqrt(a); });
    std::vector<Multiplier> by;
    const bool may_be_negative = Number(0, 1);
    for (size_t c = 0; c < e.channels; ++c) {
      by.push_back(By(22));
      if (may_be_negative && Number(0, 1)) by[c].value = -by[c].value;
      if (Number(0, 9) == 0) by[c].value = 0;
    }
    const IntegerResult result = Result<Y>();
    Compare<X, Y>(
        e.num, e.channels, e.spatial,
        [&](const IntegerOperand& x, Y* y) {
          NormalizeIntegers(e, table.data(), x, by, result, y);
        },
        [&](const IntegerOperand& x, Y* y) {
          NormalizeIntegersInBlocks(e, table.data(), x, by, result, y);
        });
  }
};

TEST_P(NormalizationInBlocks, LrnHasTheSameBits) {
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed_);
  for (int run = 0; run < 20 && !HasFailure(); ++run) {
    Lrn<uint8_t, uint8_t>();
    Lrn<uint8_t, int8_t>();
    Lrn<int8_t, uint8_t>();
    Lrn<int8_t, int8_t>();
  }
}

TEST_P(NormalizationInBlocks, LrnInCaffesOrderIsItsDefinition) {
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed_);
  for (int run = 0; run < 15 && !HasFailure(); ++run) {
    LrnInOrder<uint8_t, uint8_t>();
    LrnInOrder<uint8_t, int8_t>();
    LrnInOrder<int8_t, uint8_t>();
    LrnInOrder<int8_t, int8_t>();
  }
}

TEST_P(NormalizationInBlocks, NormalizeHasTheSameBits) {
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed_);
  for (int run = 0; run < 20 && !HasFailure(); ++run) {
    Normalize<uint8_t, uint8_t>();
    Normalize<uint8_t, int8_t>();
    Normalize<int8_t, uint8_t>();
    Normalize<int8_t, int8_t>();
  }
}

INSTANTIATE_ON_EVERY_SET(NormalizationInBlocks);

}  // namespace
}  // namespace caffe::kernels
