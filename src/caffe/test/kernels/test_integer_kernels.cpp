// Kernels on 8-bit integers alone have the bits of their definitions on every instruction set.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <vector>

#include "caffe/kernels/integer_elementwise.hpp"
#include "caffe/kernels/integer_pooling.hpp"
#include "caffe/kernels/integer_resize.hpp"
#include "caffe/test/support/blocked_convolutions.hpp"
#include "caffe/test/support/seeded_numbers.hpp"

namespace caffe::kernels {
namespace {

class IntegerKernels : public OnInstructionSet, protected SeededNumbers {
 protected:
  std::vector<uint8_t> Bytes(size_t n) {
    std::vector<uint8_t> bytes(n);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(Number(0, 255));
    return bytes;
  }
  IntegerOperand Operand(const std::vector<uint8_t>& bytes) {
    const bool is_unsigned = Number(0, 1);
    return {bytes.data(), is_unsigned, is_unsigned ? Number(0, 255) : Number(-128, 127)};
  }
  /// A multiplier of up to 2^most.
  Multiplier By(int most) {
    return {Number(1 << 30, std::numeric_limits<int32_t>::max()), Number(most - 12, most)};
  }
  IntegerResult Result(bool is_unsigned, Multiplier by) {
    IntegerResult result;
    result.by = by;
    result.rounding = Number(0, 1) ? Rounding::DOUBLE : Rounding::SINGLE;
    const int least = is_unsigned ? 0 : -128;
    result.zero_point = least + Number(0, 255);
    result.least = least + Number(0, 50);
    result.most = least + 255 - Number(0, 50);
    return result;
  }

  template <typename Y>
  void CheckElementwise() {
    const size_t n = Number(1, 3000);
    const size_t terms = Number(1, 5);
    std::vector<std::vector<uint8_t>> bytes;
    std::vector<IntegerOperand> x;
    std::vector<Multiplier> by;
    for (size_t t = 0; t < terms; ++t) bytes.push_back(Bytes(n));
    for (size_t t = 0; t < terms; ++t) {
      x.push_back(Operand(bytes[t]));
      by.push_back(terms == 1 ? Multiplier{1 << 30, 1} : By(terms < 3 ? -1 : -2));
      if (terms > 1 && t == 0) by[0] = {1 << 30, terms == 2 ? 0 : -2};
      if (Number(0, 3) == 0) by[t].value = -by[t].value;
    }
    std::vector<Y> y(n);
    const IntegerResult sum = Result(std::is_unsigned<Y>::value, By(-14));
    AddIntegers(n, x, by, sum, y.data());
    for (size_t i = 0; i < n; ++i) {
      int32_t total = 0;
      for (size_t t = 0; t < terms; ++t) {
        total += RescaleSigned(x[t].At(i) * (1 << kSumShift), by[t], sum.rounding);
      }
      ASSERT_EQ(int{y[i]}, sum.Of(total)) << "sum at " << i << " of " << terms;
    }
    const IntegerResult product = Result(std::is_unsigned<Y>::value, By(2));
    MultiplyIntegers(n, x, product, y.data());
    for (size_t i = 0; i < n; ++i) {
      int32_t p = x[0].At(i);
      for (size_t t = 1; t < terms; ++t) p = (t > 2 ? RoundingShiftRight(p, 8) : p) * x[t].At(i);
      ASSERT_EQ(int{y[i]}, product.Of(p)) << "product at " << i << " of " << terms;
    }
  }

  template <typename Y>
  void CheckBroadcast() {
    BroadcastShape shape;
    shape.rows = Number(1, 5);
    shape.run = Number(1, 700);
    shape.width = Number(0, 1) ? 1 : 16;
    const size_t n = shape.rows * shape.run * shape.width;
    const std::vector<uint8_t> bytes[3] = {Bytes(n), Bytes(shape.rows * shape.width), Bytes(n)};
    const IntegerOperand x = Operand(bytes[0]), a = Operand(bytes[1]), b = Operand(bytes[2]);
    const auto product = [&](size_t i) {
      return x.At(i) * a.At(i / shape.width / shape.run * shape.width + i % shape.width);
    };
    std::vector<Y> y(n);
    const IntegerResult scaled = Result(std::is_unsigned<Y>::value, By(2));
    ScaleIntegers(shape, x, a, scaled, y.data());
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(int{y[i]}, scaled.Of(product(i))) << "at " << i;
    const Multiplier by[2] = {By(-1), By(-1)};
    const IntegerResult sum = Result(std::is_unsigned<Y>::value, By(-14));
    ScaleAndAddIntegers(shape, a, x, b, by, sum, y.data());
    for (size_t i = 0; i < n; ++i) {
      const int32_t total = RescaleSigned(product(i) * (1 << 12), by[0], sum.rounding) +
                            RescaleSigned(b.At(i) * (1 << 20), by[1], sum.rounding);
      ASSERT_EQ(int{y[i]}, sum.Of(total)) << "at " << i;
    }
  }

  template <typename T>
  void CheckPooling() {
    PoolingShape s;
    s.planes = Number(1, 3);
    s.height = Number(5, 12);
    s.width = Number(5, 12);
    s.kernel_h = Number(1, 5);
    s.kernel_w = Number(1, 5);
    s.stride_h = Number(1, 3);
    s.stride_w = Number(1, 3);
    s.pad_h = Number(0, s.kernel_h - 1);
    s.pad_w = Number(0, s.kernel_w - 1);
    const int lanes = std::max(1, 8 * Number(0, 2));
    s.pooled_height = (s.height + 2 * s.pad_h - s.kernel_h) / s.stride_h + 1;
    s.pooled_width = (s.width + 2 * s.pad_w - s.kernel_w) / s.stride_w + 1;
    const std::vector<uint8_t> bytes = Bytes(s.planes * s.input_plane() * lanes);
    const T* x = reinterpret_cast<const T*>(bytes.data());
    const int least = std::numeric_limits<T>::min(), middle = std::is_signed<T>::value ? 0 : 128;
    const int zero = least + Number(0, 255);
    const ByteRange range = {least + Number(0, 1) * 20, least + 255 - Number(0, 1) * 20};
    std::vector<T> means(s.planes * s.output_plane() * lanes), maxima(means.size());
    AveragePoolIntegers(s, lanes, zero, range, x, means.data());
    MaxPoolIntegers(s, lanes, range, x, maxima.data());
    for (size_t i = 0; i < means.size(); ++i) {
      const size_t plane = i / lanes / s.output_plane(), place = i / lanes % s.output_plane();
      const int row = static_cast<int>(place / s.pooled_width) * s.stride_h - s.pad_h;
      const int column = static_cast<int>(place % s.pooled_width) * s.stride_w - s.pad_w;
      int sum = 0, size = 0, largest = range.least;
      for (int h = row; h < std::min(row + s.kernel_h, s.height + s.pad_h); ++h) {
        for (int w = column; w < std::min(column + s.kernel_w, s.width + s.pad_w); ++w, ++size) {
          const bool inside = h >= 0 && w >= 0 && h < s.height && w < s.width;
          const int byte =
              inside ? x[((plane * s.height + h) * s.width + w) * lanes + i % lanes] : zero;
          sum += byte - middle;
          if (inside) largest = std::max(largest, byte);
        }
      }
      const double mean = middle + std::round(double(sum) / size);
      ASSERT_EQ(means[i], std::clamp<double>(mean, range.least, range.most)) << "at " << i;
      ASSERT_EQ(int{maxima[i]}, std::min(largest, range.most)) << "at " << i;
    }
  }

  ResizeAxis AxisAtRandom() {
    const int input = Number(1, 9), output = Number(1, 20);
    switch (Number(0, 3)) {
      case 0:
        return AlignedAxis(input, 0, 0, output);
      case 1:
        return RepeatedAxis(input, Number(1, 3));
      case 2:
        return ResampledAxis(ResampleFilter::CUBIC, input, output, 1, Number(0, 1));
    }
    ResizeAxis axis;  // sums that 32 bits do not hold
    axis.input = input;
    for (int i = 0; i < output; ++i) axis.Add(Number(0, input - 1), {Number(-90, 90) / 2.});
    return axis;
  }

  template <typename T>
  void CheckResizing() {
    const ResizeAxis h = AxisAtRandom(), w = AxisAtRandom();
    const size_t planes = Number(1, 3), height = h.output(), width = w.output();
    const int lanes = Number(0, 9) ? std::max(1, 8 * Number(0, 2)) : 3;
    const std::vector<uint8_t> bytes = Bytes(planes * h.input * w.input * lanes);
    const T* x = reinterpret_cast<const T*>(bytes.data());
    const int least = std::numeric_limits<T>::min(), zero = least + Number(0, 255);
    const ByteRange range = {least + Number(0, 1) * 20, least + 255 - Number(0, 1) * 20};
    std::vector<T> y(planes * height * width * lanes);
    ResizeIntegers(planes, lanes, h, w, zero, range.least, range.most, x, y.data());
    const std::vector<int32_t> rows = ResizeWeights(h), columns = ResizeWeights(w);
    for (size_t i = 0; i < y.size(); ++i) {
      const size_t lane = i % lanes, v = i / lanes % width, u = i / lanes / width % height;
      const size_t plane = i / lanes / width / height;
      int64_t sum = 1 << 21;
      for (int a = 0; a < h.terms(static_cast<int>(u)); ++a) {
        for (int b = 0; b < w.terms(static_cast<int>(v)); ++b) {
          const size_t at = (plane * h.input + h.first[u] + a) * w.input + w.first[v] + b;
          sum += int64_t{rows[h.start[u] + a]} * columns[w.start[v] + b] *
                 (x[at * lanes + lane] - zero);
        }
      }
      const int64_t value = std::clamp<int64_t>(zero + (sum >> 22), range.least, range.most);
      ASSERT_EQ(int64_t{y[i]}, value) << "at " << i << " of " << lanes << " lanes";
    }
  }
};

TEST_P(IntegerKernels, SumsAndProducts) {
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed_);
  for (int round = 0; round < 30; ++round) {
    CheckElementwise<int8_t>();
    CheckElementwise<uint8_t>();
    CheckBroadcast<int8_t>();
    CheckBroadcast<uint8_t>();
  }
}

TEST_P(IntegerKernels, Pooling) {
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed_);
  for (int round = 0; round < 40; ++round) {
    CheckPooling<int8_t>();
    CheckPooling<uint8_t>();
  }
}

TEST_P(IntegerKernels, Resizing) {
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed_);
  for (int round = 0; round < 60 && !HasFailure(); ++round) {
    CheckResizing<int8_t>();
    CheckResizing<uint8_t>();
  }
}

// Caffe rounds sizes up: with strides larger than the kernel the last window may begin behind the
// image, at its end (8 columns, stride 2) or further on (5 columns, stride 4).
TEST_P(IntegerKernels, MeansOfWindowsBehindTheImageAreTheZeroPoint) {
  for (const auto& [width, stride, pooled] : {std::array{8, 2, 5}, std::array{5, 4, 3}}) {
    PoolingShape s;
    s.planes = s.height = s.pooled_height = s.kernel_h = s.kernel_w = 1;
    s.width = width;
    s.stride_w = stride;
    s.pooled_width = pooled;
    for (const int lanes : {1, 16}) {
      const std::vector<uint8_t> x(width * lanes, 200);
      std::vector<uint8_t> y(pooled * lanes);
      AveragePoolIntegers(s, lanes, /*zero_point=*/7, {0, 255}, x.data(), y.data());
      EXPECT_EQ(y.front(), 200);
      EXPECT_EQ(y.back(), 7) << width << " columns, " << lanes << " lanes";
    }
  }
}

INSTANTIATE_ON_EVERY_SET(IntegerKernels);

}  // namespace
}  // namespace caffe::kernels
