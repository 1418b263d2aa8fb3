// Maxima in Caffe's order with their places, and gradients, against the definition, window by
// window.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "caffe/kernels/pooling.hpp"
#include "caffe/test/support/every_instruction_set.hpp"
#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/seeded_numbers.hpp"

namespace caffe {
namespace {

using kernels::PoolingShape;

/// Windows that overlap or not, with and without padding, that hang over the edge of the image, and
/// some that lie beyond it.
PoolingShape RandomWindows(std::mt19937* random) {
  const auto draw = [random](int least, int most) { return DrawInt(least, most, random); };
  PoolingShape s;
  s.planes = draw(1, 4);
  s.height = draw(1, 20);
  s.width = draw(1, 40);
  s.kernel_h = draw(1, 5);
  s.kernel_w = draw(1, 5);
  s.stride_h = draw(1, 4);
  s.stride_w = draw(1, 4);
  s.pad_h = draw(0, s.kernel_h - 1);
  s.pad_w = draw(0, s.kernel_w - 1);
  s.pooled_height = std::max(1, (s.height + 2 * s.pad_h) / s.stride_h + draw(0, 1));
  s.pooled_width = std::max(1, (s.width + 2 * s.pad_w) / s.stride_w + draw(0, 1));
  return s;
}

/// The first of the largest numbers of each window.
template <typename T, typename I>
void ExpectMaxima(const PoolingShape& s, const std::vector<T>& x) {
  const size_t outputs = s.planes * s.output_plane();
  std::vector<T> y(outputs), y_alone(outputs);
  std::vector<I> mask(outputs);
  kernels::MaxPoolingForward(s, x.data(), y.data(), mask.data());
  kernels::MaxPoolingForward<T, I>(s, x.data(), y_alone.data(), nullptr);
  for (size_t o = 0; o < outputs; ++o) {
    const size_t plane = o / s.output_plane();
    const int h = static_cast<int>(o / s.pooled_width) % s.pooled_height * s.stride_h - s.pad_h;
    const int w = static_cast<int>(o) % s.pooled_width * s.stride_w - s.pad_w;
    T best = std::numeric_limits<T>::lowest();
    I where = std::is_same<I, uint8_t>::value ? I(255) : I(-1);
    for (int i = std::max(h, 0); i < std::min(h + s.kernel_h, s.height); ++i) {
      for (int j = std::max(w, 0); j < std::min(w + s.kernel_w, s.width); ++j) {
        const T value = x[plane * s.input_plane() + size_t(i) * s.width + j];
        if (!(static_cast<double>(value) > static_cast<double>(best))) continue;
        best = value;
        where = static_cast<I>((i - h) * s.kernel_w + (j - w));
      }
    }
    ASSERT_EQ(static_cast<double>(y[o]), static_cast<double>(best)) << "output " << o;
    ASSERT_EQ(static_cast<double>(y_alone[o]), static_cast<double>(best)) << "output " << o;
    ASSERT_EQ(int(mask[o]), int(where)) << "output " << o;
  }
}

/// The gradient of each output goes to where `mask` says, or in equal shares to its window.
template <typename D>
void ExpectGradients(const PoolingShape& s, std::mt19937* random, double rounding) {
  const size_t outputs = s.planes * s.output_plane(), inputs = s.planes * s.input_plane();
  std::vector<D> dy(outputs), dx_of_mask(inputs), dx_of_mean(inputs);
  std::vector<uint8_t> mask(outputs, 255);
  std::vector<double> of_mask(inputs), of_mean(inputs);
  std::normal_distribution<float> normal;
  for (size_t o = 0; o < outputs; ++o) {
    dy[o] = static_cast<D>(normal(*random));
    const size_t plane = o / s.output_plane();
    const int h = static_cast<int>(o / s.pooled_width) % s.pooled_height * s.stride_h - s.pad_h;
    const int w = static_cast<int>(o) % s.pooled_width * s.stride_w - s.pad_w;
    // Padding counts, but not what lies beyond it.
    const double share =
        static_cast<double>(dy[o]) / (std::min(s.kernel_h, s.height + s.pad_h - h) *
                                      std::min(s.kernel_w, s.width + s.pad_w - w));
    for (int i = std::max(h, 0); i < std::min(h + s.kernel_h, s.height); ++i) {
      for (int j = std::max(w, 0); j < std::min(w + s.kernel_w, s.width); ++j) {
        const size_t place = plane * s.input_plane() + size_t(i) * s.width + j;
        of_mean[place] += share;
        if ((*random)() % 3 == 0) mask[o] = static_cast<uint8_t>((i - h) * s.kernel_w + (j - w));
      }
    }
    if (mask[o] == 255) continue;
    const int i = h + mask[o] / s.kernel_w, j = w + mask[o] % s.kernel_w;
    of_mask[plane * s.input_plane() + size_t(i) * s.width + j] += static_cast<double>(dy[o]);
  }
  kernels::MaskPoolingBackward(s, dy.data(), mask.data(), dx_of_mask.data());
  kernels::AveragePoolingBackward(s, dy.data(), dx_of_mean.data());
  for (size_t i = 0; i < inputs; ++i) {
    ASSERT_NEAR(static_cast<double>(dx_of_mask[i]), of_mask[i], rounding) << "element " << i;
    ASSERT_NEAR(static_cast<double>(dx_of_mean[i]), of_mean[i], rounding) << "element " << i;
  }
}

template <typename T>
void ExpectPoolingOfRandomWindows() {
  const unsigned seed = TestSeed();
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    const PoolingShape s = RandomWindows(&random);
    SCOPED_TRACE(Join("seed ", seed, ", round ", round, ": ", s.height, " x ", s.width, ", kernel ",
                      s.kernel_h, " x ", s.kernel_w, ", stride ", s.stride_h, " x ", s.stride_w,
                      ", pad ", s.pad_h, " x ", s.pad_w));
    std::vector<T> x(s.planes * s.input_plane());
    // Few different numbers, so that many are equal; some that are larger than none.
    for (T& value : x) {
      const unsigned draw = random() % 40;
      value = draw == 0   ? std::numeric_limits<T>::quiet_NaN()
              : draw == 1 ? -std::numeric_limits<T>::infinity()
              : draw == 2 ? std::numeric_limits<T>::lowest()
              : draw == 3 ? std::numeric_limits<T>::infinity()
                          : static_cast<T>(static_cast<float>(random() % 7) - 3);
    }
    ExpectMaxima<T, uint8_t>(s, x);
    ExpectMaxima<T, int>(s, x);
    ExpectGradients<T>(s, &random, std::is_same<T, float16>::value ? 2e-2 : 1e-5);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(PoolingKernels, AreTheirDefinitionInFloat) {
  kernels::OnEveryInstructionSet(ExpectPoolingOfRandomWindows<float>);
}
TEST(PoolingKernels, AreTheirDefinitionInDouble) {
  kernels::OnEveryInstructionSet(ExpectPoolingOfRandomWindows<double>);
}
TEST(PoolingKernels, AreTheirDefinitionInHalf) {
  kernels::OnEveryInstructionSet(ExpectPoolingOfRandomWindows<float16>);
}

TEST(PoolingKernels, WindowsMayBeMuchLargerThanTheImage) {
  PoolingShape s;
  s.planes = 2;
  s.height = s.width = 3;
  s.kernel_h = s.kernel_w = 1000;
  s.stride_h = s.stride_w = 700;
  s.pad_h = s.pad_w = 999;
  s.pooled_height = s.pooled_width = 2;
  ExpectMaxima<float, int>(s, {1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 8, 7, 6, 5, 4, 3, 2, 1});
}

TEST(PoolingKernels, PlacesBeyondAFloatsDigitsAreExact) {
  PoolingShape s;
  s.planes = s.pooled_height = s.pooled_width = 1;
  s.height = s.kernel_h = 2;
  s.width = s.kernel_w = (1 << 23) + 3;
  std::vector<float> x(s.input_plane());
  x.back() = 1;
  float y = 0;
  int mask = 0;
  kernels::MaxPoolingForward(s, x.data(), &y, &mask);
  EXPECT_EQ(y, 1);
  EXPECT_EQ(mask, (1 << 24) + 5);
}

}  // namespace
}  // namespace caffe
