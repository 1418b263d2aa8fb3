// Kernels of layers on images whose channels are last, any number of channels: what they give in
// Caffe's order, on every instruction set.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "caffe/error.hpp"
#include "caffe/kernels/eltwise.hpp"
#include "caffe/kernels/lrn.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/kernels/pixel_channels.hpp"
#include "caffe/kernels/pooling.hpp"
#include "caffe/test/support/blocked_convolutions.hpp"
#include "caffe/test/support/seeded_numbers.hpp"

namespace caffe::kernels {
namespace {

using Doubles = std::vector<double>;

class PixelKernels : public OnInstructionSet, protected SeededNumbers {
 protected:
  template <typename T>
  std::vector<T> Normal(size_t n, float mean = 0) {
    std::normal_distribution<float> normal(mean);
    std::vector<T> values(n);
    for (T& value : values) value = static_cast<T>(normal(random_));
    return values;
  }
  /// Pixels and channels: whole vectors or not, few or many, none.
  std::vector<std::pair<size_t, size_t>> Sizes() {
    return {{0, 5},     {1, 1},
            {1, 37},    {3, 16},
            {50, 20},   {7, 64},
            {33, 3},    {700, 1},
            {600, 5},   {2000, 24},
            {40, 300},  {9, 257},
            {2, 30000}, {size_t(Number(1, 3000)), size_t(Number(1, 70))}};
  }
  template <typename Function>
  void ForEachSize(Function&& f) {
    for (const auto& [pixels, channels] : Sizes()) {
      SCOPED_TRACE(Join(pixels, " pixels of ", channels, " channels"));
      f(pixels, channels);
    }
  }

  const ::testing::ScopedTrace trace_{__FILE__, __LINE__, Join("CAFFE_TEST_SEED=", seed_)};
};

template <typename T>
void ExpectNear(const std::vector<T>& expected, const std::vector<T>& actual, double bound) {
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const double here = static_cast<double>(expected[i]);
    ASSERT_NEAR(here, static_cast<double>(actual[i]), bound * std::max(1., std::fabs(here))) << i;
  }
}

template <typename T>
constexpr double kRoundingOf = std::is_same<T, float16>::value ? 1e-3 : 1e-5;

template <typename T>
void ExpectMoments(const std::vector<T>& x, size_t pixels, size_t channels) {
  Doubles mean(channels, 0.), variance(channels, 0.), means(channels, -1), variances(channels, -1);
  for (size_t i = 0; i < x.size(); ++i) mean[i % channels] += double(x[i]) / double(pixels);
  for (size_t i = 0; i < x.size(); ++i) {
    const double off = double(x[i]) - mean[i % channels];
    variance[i % channels] += off * off / double(pixels);
  }
  PixelMoments(pixels, channels, x.data(), means.data(), variances.data());
  ExpectNear(mean, means, 1e-6);
  ExpectNear(variance, variances, 1e-5);
}

TEST_P(PixelKernels, MomentsDoNotCancel) {
  ForEachSize([&](size_t pixels, size_t channels) {
    for (const float mean : {0.f, 1000.f}) {
      ExpectMoments(Normal<float>(pixels * channels, mean), pixels, channels);
      ExpectMoments(Normal<float16>(pixels * channels, mean), pixels, channels);
    }
    ExpectMoments(Normal<double>(pixels * channels, 1e6f), pixels, channels);
  });
}

// The first pixels are no sample of the others.
TEST_P(PixelKernels, MomentsDoNotDependOnTheFirstPixels) {
  std::vector<float> x = Normal<float>(3000 * 3, 5000.f);
  std::fill_n(x.begin(), 600, 0.f);
  ExpectMoments(x, 3000, 3);
}

TEST_P(PixelKernels, SumsHaveTheSameBitsForAnyNumberOfThreads) {
  const size_t pixels = 9000, channels = 17;
  const std::vector<float16> x = Normal<float16>(pixels * channels), z = Normal<float16>(x.size());
  const auto sums = [&](int threads) {
    const TeamSize team(threads);
    Doubles all(4 * channels);
    PixelMoments(pixels, channels, x.data(), all.data(), all.data() + channels);
    SumsOverPixels(pixels, channels, x.data(), z.data(), all.data() + 2 * channels,
                   all.data() + 3 * channels);
    return all;
  };
  const Doubles alone = sums(1);
  EXPECT_EQ(alone, sums(2));
  EXPECT_EQ(alone, sums(5));
}

template <typename X, typename Z>
void ExpectSums(const std::vector<X>& x, const std::vector<Z>& z, size_t pixels, size_t channels) {
  Doubles sum(channels, 0.), dot(channels, 0.), sums(channels, -1), dots(channels, -1);
  for (size_t i = 0; i < x.size(); ++i) {
    sum[i % channels] += double(x[i]);
    dot[i % channels] += double(x[i]) * double(z[i]);
  }
  SumsOverPixels(pixels, channels, x.data(), z.data(), sums.data(), dots.data());
  ExpectNear(sum, sums, 1e-4);
  ExpectNear(dot, dots, 1e-4);
  Doubles alone(channels, -1), product(channels, -1);
  SumsOverPixels<X, Z>(pixels, channels, x.data(), nullptr, alone.data(), nullptr);
  EXPECT_EQ(alone, sums);
  SumsOverPixels(pixels, channels, x.data(), z.data(), nullptr, product.data());
  EXPECT_EQ(product, dots);
}

TEST_P(PixelKernels, Sum) {
  ForEachSize([&](size_t pixels, size_t channels) {
    const size_t n = pixels * channels;
    ExpectSums(Normal<float>(n), Normal<float16>(n), pixels, channels);
    ExpectSums(Normal<float16>(n), Normal<float>(n), pixels, channels);
    ExpectSums(Normal<float16>(n), Normal<float16>(n), pixels, channels);
    ExpectSums(Normal<double>(n), Normal<double>(n), pixels, channels);
  });
}

template <typename X, typename Z>
void ExpectCombined(const std::vector<X>& x, const std::vector<Z>& z, size_t channels,
                    const std::vector<AccumulatorType<X>>& a,
                    const std::vector<AccumulatorType<X>>& b,
                    const std::vector<AccumulatorType<X>>& d) {
  const size_t pixels = x.size() / channels;
  std::vector<X> affine(x.size()), scaled(x.size()), combined(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = i % channels;
    const double ax = double(a[c]) * double(x[i]);
    scaled[i] = static_cast<X>(static_cast<AccumulatorType<X>>(ax));
    affine[i] = static_cast<X>(static_cast<AccumulatorType<X>>(ax + d[c]));
    const double sum = ax + double(b[c]) * double(z[i]) + d[c];
    combined[i] = static_cast<X>(static_cast<AccumulatorType<X>>(sum));
  }
  std::vector<X> y(x.size()), also(x);
  PixelAffine(pixels, channels, a.data(), nullptr, x.data(), y.data());
  ExpectNear(scaled, y, kRoundingOf<X>);
  PixelAffineTwice(pixels, channels, a.data(), d.data(), a.data(), d.data(), also.data(), y.data(),
                   also.data());
  ExpectNear(affine, y, kRoundingOf<X>);
  ExpectNear(affine, also, kRoundingOf<X>);
  std::vector<X> in_place(x);
  PixelAffine(pixels, channels, a.data(), d.data(), in_place.data(), in_place.data());
  ExpectNear(affine, in_place, kRoundingOf<X>);
  in_place = x;
  PixelCombine(pixels, channels, a.data(), in_place.data(), b.data(), z.data(), d.data(),
               in_place.data());
  ExpectNear(combined, in_place, kRoundingOf<X>);
}

TEST_P(PixelKernels, Combine) {
  ForEachSize([&](size_t pixels, size_t channels) {
    const size_t n = pixels * channels;
    const std::vector<float> a = Normal<float>(channels), b = Normal<float>(channels);
    const std::vector<float> d = Normal<float>(channels);
    ExpectCombined(Normal<float>(n), Normal<float16>(n), channels, a, b, d);
    ExpectCombined(Normal<float16>(n), Normal<float>(n), channels, a, b, d);
    ExpectCombined(Normal<float16>(n), Normal<float16>(n), channels, a, b, d);
    const Doubles wide(a.begin(), a.end()), other(b.begin(), b.end()), term(d.begin(), d.end());
    ExpectCombined(Normal<double>(n), Normal<double>(n), channels, wide, other, term);
  });
}

/// (num, channels, spatial) to (num, spatial, channels).
template <typename T>
std::vector<T> ToLast(const std::vector<T>& plain, size_t num, size_t channels) {
  const size_t planes = num * channels;
  return ToBlocks(plain, num, channels, planes > 0 ? plain.size() / planes : 0, channels);
}

struct PooledImage {
  int num, channels;
  PoolingShape planes;  ///< as in Caffe's order
  PoolingShape images() const {
    PoolingShape shape = planes;
    shape.planes = num;
    return shape;
  }
  size_t inputs() const { return planes.planes * planes.input_plane(); }
  size_t outputs() const { return planes.planes * planes.output_plane(); }
};

PooledImage MakePooledImage(int num, int channels, int height, int width, int kernel_h,
                            int kernel_w, int stride, int pad) {
  PooledImage images = {num, channels, {}};
  PoolingShape& s = images.planes;
  s.planes = size_t(num) * channels;
  s.height = height, s.width = width;
  s.kernel_h = kernel_h, s.kernel_w = kernel_w;
  s.stride_h = s.stride_w = stride;
  s.pad_h = std::min(pad, kernel_h - 1), s.pad_w = std::min(pad, kernel_w - 1);
  const auto pooled = [&](int extent, int kernel, int padding) {
    const int outputs = (extent + 2 * padding - kernel + stride - 1) / stride + 1;
    return (outputs - 1) * stride >= extent + padding ? outputs - 1 : outputs;
  };
  s.pooled_height = pooled(height, kernel_h, s.pad_h);
  s.pooled_width = pooled(width, kernel_w, s.pad_w);
  return images;
}

std::vector<PooledImage> CasesOfPooling() {
  return {MakePooledImage(2, 64, 9, 7, 3, 3, 2, 0),  MakePooledImage(1, 20, 8, 8, 2, 2, 2, 0),
          MakePooledImage(3, 24, 6, 5, 3, 3, 1, 1),  MakePooledImage(2, 3, 5, 9, 2, 3, 3, 1),
          MakePooledImage(2, 130, 7, 7, 7, 7, 1, 0), MakePooledImage(1, 16, 1, 1, 1, 1, 1, 0),
          MakePooledImage(0, 16, 4, 4, 2, 2, 2, 0),  MakePooledImage(1, 40, 20, 19, 17, 16, 2, 3)};
}

template <typename T, typename I>
void ExpectMaxima(const PooledImage& images, const std::vector<T>& x, const std::vector<T>& dy) {
  std::vector<T> y(images.outputs()), pooled(y.size()), dx(images.inputs()), gradient(dx.size());
  std::vector<I> mask(y.size()), where(y.size());
  MaxPoolingForward(images.planes, x.data(), y.data(), mask.data());
  MaskPoolingBackward(images.planes, dy.data(), mask.data(), dx.data());
  const auto last = [&](const auto& values) { return ToLast(values, images.num, images.channels); };
  PixelMaxPoolingForward(images.images(), images.channels, last(x).data(), pooled.data(),
                         where.data());
  ExpectNear(last(y), pooled, 0);
  for (size_t i = 0; i < where.size(); ++i) EXPECT_EQ(where[i], last(mask)[i]) << i;
  std::fill(pooled.begin(), pooled.end(), T(-7.f));
  PixelMaxPoolingForward<T, I>(images.images(), images.channels, last(x).data(), pooled.data(),
                               nullptr);
  ExpectNear(last(y), pooled, 0);
  PixelMaskPoolingBackward(images.images(), images.channels, last(dy).data(), where.data(),
                           gradient.data());
  ExpectNear(last(dx), gradient, 0);
}

template <typename T>
void ExpectMeans(const PooledImage& images, const std::vector<T>& x, const std::vector<T>& dy) {
  std::vector<T> y(images.outputs()), pooled(y.size()), dx(images.inputs()), gradient(dx.size());
  AveragePoolingForward(images.planes, x.data(), y.data());
  AveragePoolingBackward(images.planes, dy.data(), dx.data());
  const auto last = [&](const auto& values) { return ToLast(values, images.num, images.channels); };
  PixelAveragePoolingForward(images.images(), images.channels, last(x).data(), pooled.data());
  ExpectNear(last(y), pooled, kRoundingOf<T>);
  PixelAveragePoolingBackward(images.images(), images.channels, last(dy).data(), gradient.data());
  ExpectNear(last(dx), gradient, kRoundingOf<T>);
}

TEST_P(PixelKernels, Pool) {
  for (const PooledImage& images : CasesOfPooling()) {
    SCOPED_TRACE(Join(images.num, " x ", images.channels, ", kernel ", images.planes.kernel_h));
    const auto check = [&](auto tag) {
      using T = decltype(tag);
      // Few different values: equal ones are in a window.
      std::vector<T> x = Normal<T>(images.inputs());
      for (T& value : x) value = static_cast<T>(std::round(static_cast<float>(value)));
      const std::vector<T> dy = Normal<T>(images.outputs());
      if (ByteMask(images.planes)) ExpectMaxima<T, uint8_t>(images, x, dy);
      ExpectMaxima<T, int>(images, x, dy);
      ExpectMeans(images, x, dy);
    };
    check(float());
    check(float16());
  }
}

template <typename T, typename D>
void ExpectResponses(const LrnShape& s, const std::vector<T>& x, const std::vector<D>& dy) {
  std::vector<T> y(x.size()), normalized(x.size());
  std::vector<D> dx(x.size()), gradient(x.size());
  LrnForward(s, x.data(), y.data());
  LrnBackward(s, x.data(), dy.data(), dx.data());
  PixelLrnForward(s, ToLast(x, s.num, s.channels).data(), normalized.data());
  ExpectNear(ToLast(y, s.num, s.channels), normalized, kRoundingOf<T>);
  PixelLrnBackward(s, ToLast(x, s.num, s.channels).data(), ToLast(dy, s.num, s.channels).data(),
                   gradient.data());
  ExpectNear(ToLast(dx, s.num, s.channels), gradient, kRoundingOf<D>);
  for (const int block : {8, 16}) {
    const auto blocks = [&](const auto& values) {
      return ToBlocks(values, s.num, s.channels, size_t(s.height) * s.width, block);
    };
    const std::vector<D> expected = blocks(dx);
    gradient.assign(expected.size(), D(-7.f));
    BlockedLrnBackward(s, block, blocks(x).data(), blocks(dy).data(), gradient.data());
    ExpectNear(expected, gradient, kRoundingOf<D>);
  }
}

TEST_P(PixelKernels, NormalizeResponses) {
  const LrnShape shapes[] = {{2, 64, 5, 3, 5, false, 0.7, 0.75, 1.},
                             {1, 3, 9, 1, 5, false, 0.9, 0.75, 2.},
                             {3, 1, 1, 1, 3, false, 1.1, 0.6, 1.},
                             {1, 2100, 2, 2, 7, false, 0.3, 0.75, 1.},
                             {0, 8, 2, 2, 5, false, 1, 0.75, 1.}};
  for (const LrnShape& s : shapes) {
    SCOPED_TRACE(Join(s.num, " images of ", s.channels, " channels"));
    const size_t n = size_t(s.num) * s.channels * s.height * s.width;
    ExpectResponses(s, Normal<float>(n), Normal<float>(n));
    ExpectResponses(s, Normal<float16>(n), Normal<float>(n));
    ExpectResponses(s, Normal<float>(n), Normal<float16>(n));
    ExpectResponses(s, Normal<float16>(n), Normal<float16>(n));
  }
}

template <typename T>
void ExpectReduced(const std::vector<std::vector<T>>& arrays, const std::vector<T>& dy) {
  using F = AccumulatorType<T>;
  const size_t n = dy.size();
  std::vector<const T*> x;
  std::vector<F> coefficients;
  for (const auto& array : arrays) {
    x.push_back(array.data());
    coefficients.push_back(F(0.5) * F(coefficients.size()) - F(1));
  }
  std::vector<T> sum(n), weighted(n), product(n), largest(n), y(n);
  std::vector<size_t> which(n);
  for (size_t k = 0; k < n; ++k) {
    double total = 0, mixed = 0, times = 1;
    which[k] = arrays[0][k] > arrays[1][k] ? 0 : 1;
    for (size_t i = 0; i < x.size(); ++i) {
      total += double(x[i][k]);
      mixed += double(coefficients[i]) * double(x[i][k]);
      times *= double(x[i][k]);
      if (i > 1 && x[i][k] > x[which[k]][k]) which[k] = i;
    }
    sum[k] = static_cast<T>(F(total)), weighted[k] = static_cast<T>(F(mixed));
    product[k] = static_cast<T>(F(times)), largest[k] = x[which[k]][k];
  }
  AddArrays(n, x, y.data());
  ExpectNear(sum, y, kRoundingOf<T>);
  AddWeightedArrays(n, x, coefficients, y.data());
  ExpectNear(weighted, y, kRoundingOf<T>);
  MultiplyArrays(n, x, y.data());
  ExpectNear(product, y, kRoundingOf<T>);
  MaximumOfArrays(n, x, y.data());
  ExpectNear(largest, y, 0);
  for (size_t i = 0; i < x.size(); ++i) {
    std::vector<T> expected(n), others(n);
    for (size_t k = 0; k < n; ++k) {
      expected[k] = which[k] == i ? dy[k] : T(0.f);
      double times = double(dy[k]);
      for (size_t j = 0; j < x.size(); ++j) times *= j == i ? 1. : double(x[j][k]);
      others[k] = static_cast<T>(F(times));
    }
    MaximumGradient(n, x, i, dy.data(), y.data());
    ExpectNear(expected, y, 0);
    MultiplyGradient(n, x, i, dy.data(), y.data());
    ExpectNear(others, y, kRoundingOf<T>);
  }
}

TEST_P(PixelKernels, ReduceArrays) {
  for (const size_t n : {size_t(0), size_t(1), size_t(1500), size_t(Number(1, 40000))}) {
    for (const size_t arrays : {2, 3, 4}) {
      SCOPED_TRACE(Join(arrays, " arrays of ", n));
      const auto check = [&](auto tag) {
        using T = decltype(tag);
        std::vector<std::vector<T>> x;
        for (size_t i = 0; i < arrays; ++i) {
          x.push_back(Normal<T>(n));
          for (T& value : x[i]) value = static_cast<T>(std::round(float(value) * 4) / 4);
        }
        ExpectReduced(x, Normal<T>(n));
      };
      check(float());
      check(double());
      check(float16());
    }
  }
}

INSTANTIATE_ON_EVERY_SET(PixelKernels);

}  // namespace
}  // namespace caffe::kernels
