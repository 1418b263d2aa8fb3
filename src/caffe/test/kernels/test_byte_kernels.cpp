// Kernels from 8-bit integers to 8-bit integers by way of floats, against double: what comes out is
// the integer nearest to the exact number, or its neighbour where that lies between two.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "caffe/kernels/byte_elementwise.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/lrn.hpp"
#include "caffe/test/support/seeded_numbers.hpp"

namespace caffe {
namespace {

template <typename Q>
constexpr double kMin = std::is_same<Q, int8_t>::value ? -127 : 0;
template <typename Q>
constexpr double kMax = std::is_same<Q, int8_t>::value ? 127 : 255;

/// Within `slack` of half a step: floats have rounded what lies between two integers.
template <typename Q>
void ExpectNearest(double exact, Q actual, double slack = 1e-3) {
  EXPECT_NEAR(std::min(kMax<Q>, std::max(kMin<Q>, exact)), double(actual), 0.5 + slack);
}

class ByteKernels : public ::testing::Test, protected SeededNumbers {
 protected:
  template <typename Q>
  std::vector<Q> Bytes(size_t n) {
    std::vector<Q> x(n);
    for (Q& value : x) {
      value = static_cast<Q>(Number(static_cast<int>(kMin<Q>), static_cast<int>(kMax<Q>)));
    }
    return x;
  }
  /// What fills up the last block of (num, channels, spatial) is 0.
  template <typename Q>
  void ClearPadding(int num, int channels, size_t spatial, int block, std::vector<Q>* x) {
    const size_t blocks = kernels::CeilDiv(channels, block);
    for (size_t i = 0; i < x->size(); ++i) {
      const size_t b = i / (spatial * block) % blocks;
      if (b * block + i % block >= size_t(channels)) (*x)[i] = 0;
    }
    EXPECT_EQ(x->size(), num * blocks * spatial * block);
  }
};

TEST_F(ByteKernels, CombinesUnsignedAndSigned) {
  SCOPED_TRACE(seed_);
  for (int run = 0; run < 20; ++run) {
    const size_t n = Number(1, 5000);
    const auto a = Bytes<uint8_t>(n);
    const auto b = Bytes<int8_t>(n), c = Bytes<int8_t>(n);
    const float scales[] = {Real(0.01f, 0.1f), Real(-0.1f, 0.1f), Real(0.01f, 0.1f)};
    const std::vector<kernels::ScaledBytes> x = {
        {a.data(), true, scales[0]}, {b.data(), false, scales[1]}, {c.data(), false, scales[2]}};
    const float factor = Real(1, 20);
    std::vector<int8_t> sum(n), largest(n);
    std::vector<uint8_t> product(n);
    kernels::CombineBytes(kernels::Combination::SUM, n, x, factor, sum.data());
    kernels::CombineBytes(kernels::Combination::PRODUCT, n, x, factor, product.data());
    kernels::CombineBytes(kernels::Combination::MAXIMUM, n, x, factor, largest.data());
    for (size_t i = 0; i < n; ++i) {
      const double v[] = {scales[0] * double(a[i]), scales[1] * double(b[i]),
                          scales[2] * double(c[i])};
      ExpectNearest(factor * (v[0] + v[1] + v[2]), sum[i]);
      ExpectNearest(factor * v[0] * v[1] * v[2], product[i]);
      ExpectNearest(factor * *std::max_element(v, v + 3), largest[i]);
    }
    if (HasFailure()) return;
  }
}

TEST_F(ByteKernels, CombineInPlace) {
  std::vector<uint8_t> x = {1, 2, 3};
  const std::vector<uint8_t> other = {10, 20, 255};
  kernels::CombineBytes(kernels::Combination::SUM, 3,
                        {{x.data(), true, 1}, {other.data(), true, 1}}, 1, x.data());
  EXPECT_EQ(x, (std::vector<uint8_t>{11, 22, 255}));
}

TEST_F(ByteKernels, LookUpInOneTableOrOneAChannel) {
  SCOPED_TRACE(seed_);
  for (const bool by_channel : {false, true}) {
    for (const int block : {1, 8, 16}) {
      const int num = Number(1, 3), channels = Number(1, 40);
      const size_t spatial = Number(1, 3000), blocks = kernels::CeilDiv(channels, block);
      const auto tables = Bytes<uint8_t>(256 * (by_channel ? channels : 1));
      const auto x = Bytes<uint8_t>(num * blocks * spatial * block);
      std::vector<uint8_t> y(x.size(), 99), expected(x.size(), 0);
      for (size_t i = 0; i < x.size(); ++i) {
        const size_t c = i / (spatial * block) % blocks * block + i % block;
        if (c < size_t(channels)) expected[i] = tables[(by_channel ? c * 256 : 0) + x[i]];
      }
      kernels::LookUpBytes(num, channels, spatial, block, by_channel, tables.data(), x.data(),
                           y.data());
      EXPECT_EQ(y, expected) << "block " << block;
    }
  }
}

/// y(n, c, i) of an LRN across channels, of numbers that integers stand for.
template <typename X, typename Y>
void CheckLrn(const kernels::LrnShape& s, int block, float x_scale, const std::vector<X>& x,
              float y_factor) {
  const size_t plane = size_t(s.height) * s.width, blocks = kernels::CeilDiv(s.channels, block);
  std::vector<Y> y(x.size(), Y(7));
  kernels::BlockedLrnForward(s, block, x_scale, x.data(), y_factor, y.data());
  const auto at = [&](int n, size_t c, size_t i) {
    return ((n * blocks + c / block) * plane + i) * block + c % block;
  };
  for (int n = 0; n < s.num; ++n) {
    for (size_t c = 0; c < blocks * block; ++c) {
      for (size_t i = 0; i < plane; ++i) {
        if (c >= size_t(s.channels)) {
          ASSERT_EQ(int(y[at(n, c, i)]), 0);
          continue;
        }
        double squares = 0;
        for (int k = std::max(0, int(c) - s.size / 2);
             k <= std::min(s.channels - 1, int(c) + s.size / 2); ++k) {
          squares += std::pow(double(x_scale) * x[at(n, k, i)], 2);
        }
        const double value =
            double(x_scale) * x[at(n, c, i)] * std::pow(s.k + s.alpha / s.size * squares, -s.beta);
        ExpectNearest(value * y_factor, y[at(n, c, i)]);
      }
    }
  }
}

TEST_F(ByteKernels, LrnOfBlocks) {
  SCOPED_TRACE(seed_);
  for (const int block : {8, 16}) {
    const kernels::LrnShape shapes[] = {
        {2, 20, 3, 5, 5, false, 0.5, 0.75, 2},
        {1, Number(1, 100), Number(1, 20), Number(1, 20), 5, false, 1e-2, 0.75, 1},
        {1, 3, 1, 1, 7, false, 1, 1.5, 1}};
    for (const kernels::LrnShape& s : shapes) {
      const size_t plane = size_t(s.height) * s.width;
      const size_t n = s.num * kernels::CeilDiv(s.channels, block) * plane * block;
      auto positive = Bytes<uint8_t>(n);
      auto signs = Bytes<int8_t>(n);
      ClearPadding(s.num, s.channels, plane, block, &positive);
      ClearPadding(s.num, s.channels, plane, block, &signs);
      CheckLrn<uint8_t, uint8_t>(s, block, 0.02f, positive, 60);
      CheckLrn<int8_t, int8_t>(s, block, 0.03f, signs, 70);
    }
  }
}

}  // namespace
}  // namespace caffe
