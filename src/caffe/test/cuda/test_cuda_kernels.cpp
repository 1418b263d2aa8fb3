// Kernels for GPUs, in builds with CUDA: run by the host on the tests' device, and by the GPU if
// there is one. What the layers' own cases do not reach: sizes, strides, batches, special values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <random>
#include <vector>

#include "caffe/error.hpp"
#include "caffe/float16.hpp"
#include "caffe/kernels/cuda/blas.hpp"
#include "caffe/kernels/cuda/channels.hpp"
#include "caffe/kernels/cuda/convolution.hpp"
#include "caffe/kernels/cuda/elementwise.hpp"
#include "caffe/kernels/cuda/embed.hpp"
#include "caffe/test/support/cuda_kernels_test.hpp"
#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/slow_tests.hpp"

namespace caffe {
namespace {

class CudaKernels : public CudaKernelsTest {};
CAFFE_ON_EACH_DEVICE(CudaKernels);

// --- Matrix products ---------------------------------------------------------------------------

struct Sizes {
  int m, n, k, count;
  bool transpose_a, transpose_b;
  int gap;        // unused elements behind each row
  bool shared_a;  // all products have the same A
  double alpha, beta;
};

/// One matrix of the batch in the place where Matrices says it lies.
template <typename T>
T& At(std::vector<T>* values, int matrix, int row, int column, int row_stride, long long stride) {
  return (*values)[matrix * stride + static_cast<long long>(row) * row_stride + column];
}

template <typename T, typename C>
void CheckGemm(Stream& stream, const Sizes& s, std::mt19937* random) {
  const int a_rows = s.transpose_a ? s.k : s.m, a_columns = s.transpose_a ? s.m : s.k;
  const int b_rows = s.transpose_b ? s.n : s.k, b_columns = s.transpose_b ? s.k : s.n;
  const int a_row = a_columns + s.gap, b_row = b_columns + s.gap, c_row = s.n + s.gap;
  const long long a_stride = s.shared_a ? 0 : static_cast<long long>(a_rows) * a_row;
  const long long b_stride = static_cast<long long>(b_rows) * b_row;
  const long long c_stride = static_cast<long long>(s.m) * c_row;
  std::vector<T> a = WholeNumbers<T>(size_t(s.count) * a_rows * a_row, random);
  std::vector<T> b = WholeNumbers<T>(size_t(s.count) * b_rows * b_row, random);
  std::vector<C> c = WholeNumbers<C>(size_t(s.count) * s.m * c_row, random);
  // With beta 0, what was there is not read.
  if (s.beta == 0) std::fill(c.begin(), c.end(), std::numeric_limits<C>::quiet_NaN());
  Array<T> a_array(a), b_array(b);
  Array<C> c_array(c);
  using F = AccumulatorType<C>;
  cuda::Gemm<T, C>(stream, s.transpose_a, s.transpose_b, s.m, s.n, s.k, F(s.alpha),
                   {a_array.read(), a_row, a_stride}, {b_array.read(), b_row, b_stride}, F(s.beta),
                   {c_array.get(), c_row, c_stride}, s.count);
  std::vector<C> got = c_array.values();
  for (int i = 0; i < s.count; ++i) {
    for (int row = 0; row < s.m; ++row) {
      for (int column = 0; column < c_row; ++column) {
        const double before = static_cast<double>(At(&c, i, row, column, c_row, c_stride));
        const double now = static_cast<double>(At(&got, i, row, column, c_row, c_stride));
        if (column >= s.n) {  // the gap stays as it was
          EXPECT_TRUE(now == before || (std::isnan(now) && std::isnan(before)));
          continue;
        }
        double sum = s.beta == 0 ? 0 : s.beta * before;
        for (int k = 0; k < s.k; ++k) {
          const T& left = s.transpose_a ? At(&a, i, k, row, a_row, a_stride)
                                        : At(&a, i, row, k, a_row, a_stride);
          const T& right = s.transpose_b ? At(&b, i, column, k, b_row, b_stride)
                                         : At(&b, i, k, column, b_row, b_stride);
          sum += s.alpha * static_cast<double>(left) * static_cast<double>(right);
        }
        ASSERT_EQ(sum, now) << "matrix " << i << ", row " << row << ", column " << column;
      }
    }
  }
}

// Sums of products of small whole numbers are exact in every type: so are the products.
TEST_P(CudaKernels, GemmOfStridedBatchesIsExactForWholeNumbers) {
  const unsigned seed = TestSeed();
  std::mt19937 random(seed);
  const auto draw = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  for (int round = 0; round < 12; ++round) {
    Sizes s;
    s.m = draw(1, 33);
    s.n = draw(1, 33);
    s.k = draw(1, 40);
    s.count = draw(1, 4);
    s.transpose_a = draw(0, 1) == 1;
    s.transpose_b = draw(0, 1) == 1;
    s.gap = draw(0, 1) * 3;
    s.shared_a = draw(0, 1) == 1;
    s.alpha = draw(0, 1) ? 1 : .5;
    s.beta = draw(0, 2) * 0.5;
    SCOPED_TRACE(Join("CAFFE_TEST_SEED=", seed, ": m ", s.m, ", n ", s.n, ", k ", s.k, ", count ",
                      s.count, ", transposed ", s.transpose_a, s.transpose_b, ", gap ", s.gap,
                      ", shared ", s.shared_a, ", alpha ", s.alpha, ", beta ", s.beta));
    CheckGemm<float, float>(stream(), s, &random);
    CheckGemm<double, double>(stream(), s, &random);
    CheckGemm<float16, float16>(stream(), s, &random);
    CheckGemm<float16, float>(stream(), s, &random);
  }
}

TEST_P(CudaKernels, AnEmptyGemmWritesNothing) {
  Array<float> a(Filled<float>(6, 1.f)), c(Filled<float>(6, 5.f));
  cuda::Gemm<float, float>(stream(), false, false, 0, 3, 2, 1.f, a.read(), a.read(), 0.f, c.get());
  EXPECT_EQ(c.values(), std::vector<float>(6, 5.f));
}

// --- Conversions -------------------------------------------------------------------------------

template <typename X, typename Y>
std::vector<Y> Converted(Stream& stream, const std::vector<X>& values) {
  Array<X> from(values);
  Array<Y> to(Filled<Y>(values.size(), static_cast<Y>(7.f)));
  cuda::Convert(stream, static_cast<int>(values.size()), from.read(), to.get());
  return to.values();
}

template <typename X, typename Y>
void CheckConversionOfSpecialValues(Stream& stream) {
  using Limits = std::numeric_limits<double>;
  std::vector<X> values;
  for (const double value : {0., -0., 1., -2.5, Limits::infinity(), -Limits::infinity(),
                             Limits::quiet_NaN(), 1e-7, 1e30}) {
    values.push_back(static_cast<X>(value));
  }
  const std::vector<Y> got = Converted<X, Y>(stream, values);
  for (size_t i = 0; i < values.size(); ++i) {
    const double wanted = static_cast<double>(static_cast<Y>(values[i]));
    const double value = static_cast<double>(got[i]);
    if (std::isnan(wanted)) {
      EXPECT_TRUE(std::isnan(value)) << value;
    } else {
      EXPECT_EQ(wanted, value) << "value " << i;
      EXPECT_EQ(std::signbit(wanted), std::signbit(value)) << "value " << i;
    }
  }
}

TEST_P(CudaKernels, ConversionsKeepInfinitiesNanAndSigns) {
  CheckConversionOfSpecialValues<float, float>(stream());
  CheckConversionOfSpecialValues<float, double>(stream());
  CheckConversionOfSpecialValues<float, float16>(stream());
  CheckConversionOfSpecialValues<double, float>(stream());
  CheckConversionOfSpecialValues<double, double>(stream());
  CheckConversionOfSpecialValues<float16, float>(stream());
  CheckConversionOfSpecialValues<float16, double>(stream());
  CheckConversionOfSpecialValues<float16, float16>(stream());
}

// The largest FP16 value is 65504, the spacing there 32, the least subnormal 2^-24.
TEST_P(CudaKernels, FloatsAreRoundedToTheNearestHalfTiesToEven) {
  const float least = std::ldexp(1.f, -24);
  const std::vector<float> values = {65519.f,     65520.f,          -1e6f,           2049.f,
                                     2051.f,      least * 0.5f,     least * 0.5001f, least * 1.5f,
                                     least * 3.f, 1.f + 1.f / 2048, 1.f + 3.f / 2048};
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> wanted = {65504.f, infinity,  -infinity,   2048.f, 2052.f,          0.f,
                                     least,   least * 2, least * 3.f, 1.f,    1.f + 4.f / 2048};
  const std::vector<float16> got = Converted<float, float16>(stream(), values);
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(wanted[i], static_cast<float>(got[i])) << values[i];
  }
}

TEST_P(CudaKernels, EveryHalfBecomesItsFloat) {
  std::vector<float16> fp16;
  for (int bits = 0; bits < 65536; ++bits) {
    fp16.push_back(float16::FromBits(static_cast<uint16_t>(bits)));
  }
  const std::vector<float> got = Converted<float16, float>(stream(), fp16);
  for (int bits = 0; bits < 65536; ++bits) {
    const float wanted = static_cast<float>(fp16[bits]);
    if (std::isnan(wanted)) {
      ASSERT_TRUE(std::isnan(got[bits])) << bits;
    } else {
      ASSERT_EQ(wanted, got[bits]) << bits;
    }
  }
}

TEST_P(CudaKernels, ConversionsWriteAsManyElementsAsAsked) {
  for (const int count : {0, 1, 31, 255, 256, 257, 1025}) {
    Array<float> from(Filled<float>(count + 1, 3.f));
    Array<double> to(Filled<double>(count + 1, -1.));
    cuda::Convert(stream(), count, from.read(), to.get());
    const std::vector<double> got = to.values();
    EXPECT_EQ(std::count(got.begin(), got.end(), 3.), count);
    EXPECT_EQ(got.back(), -1.);
  }
}

// --- Sums --------------------------------------------------------------------------------------

TEST_P(CudaKernels, SumsOfAnyLengthAreExactForWholeNumbers) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(Join("CAFFE_TEST_SEED=", seed));
  std::mt19937 random(seed);
  for (const int count : {0, 1, 31, 33, 255, 257, 4095, 65537, 1000003}) {
    SCOPED_TRACE(count);
    const std::vector<float16> x = WholeNumbers<float16>(count, &random);
    const std::vector<float16> z = WholeNumbers<float16>(count, &random);
    double sum = 0, squares = 0, dot = 0;
    for (int i = 0; i < count; ++i) {
      const double value = static_cast<double>(x[i]);
      sum += std::abs(value);
      squares += value * value;
      dot += value * static_cast<double>(z[i]);
    }
    Array<float16> x_array(x), z_array(z);
    Array<double> result(Filled<double>(3, -1.));
    cuda::Asum(stream(), count, x_array.read(), result.get());
    cuda::Sumsq(stream(), count, x_array.read(), result.get() + 1);
    cuda::Dot(stream(), count, x_array.read(), z_array.read(), result.get() + 2);
    EXPECT_EQ(result.values(), (std::vector<double>{sum, squares, dot}));
  }
}

struct ChannelArray {
  int outer, channels, inner;
  size_t size() const { return size_t(outer) * channels * inner; }
  int ChannelOf(size_t i) const { return static_cast<int>(i / inner % channels); }
};
std::ostream& operator<<(std::ostream& out, const ChannelArray& a) {
  return out << a.outer << " x " << a.channels << " x " << a.inner;
}

/// Shapes that are summed in one part and in several, by rows and by neighbouring channels.
const ChannelArray kChannelArrays[] = {{1, 1, 1},    {3, 5, 7},      {2, 3, 40009}, {40009, 3, 1},
                                       {7, 1, 5003}, {1, 3001, 33},  {300, 7, 31},  {0, 3, 4},
                                       {1, 5000, 1}, {40009, 16, 1}, {77, 24, 1}};

TEST_P(CudaKernels, ChannelSumsAreExactForWholeNumbers) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(Join("CAFFE_TEST_SEED=", seed));
  std::mt19937 random(seed);
  for (const ChannelArray& a : kChannelArrays) {
    SCOPED_TRACE(a);
    const std::vector<float> x = WholeNumbers<float>(a.size(), &random);
    const std::vector<float16> z = WholeNumbers<float16>(a.size(), &random);
    std::vector<double> sum(a.channels), dot(a.channels);
    for (size_t i = 0; i < a.size(); ++i) {
      sum[a.ChannelOf(i)] += x[i];
      dot[a.ChannelOf(i)] += x[i] * static_cast<double>(z[i]);
    }
    Array<float> x_array(x);
    Array<float16> z_array(z);
    Array<double> sums(Filled<double>(a.channels, -1.)), dots(Filled<double>(a.channels, -1.));
    cuda::ChannelSums(stream(), a.outer, a.channels, a.inner, x_array.read(), z_array.read(),
                      sums.get(), dots.get());
    EXPECT_EQ(sums.values(), sum);
    EXPECT_EQ(dots.values(), dot);
    // One of the two alone.
    Array<double> alone(Filled<double>(a.channels, -1.));
    cuda::ChannelSums<float, float16>(stream(), a.outer, a.channels, a.inner, x_array.read(),
                                      nullptr, alone.get(), nullptr);
    EXPECT_EQ(alone.values(), sum);
  }
}

// The mean is 1000 times the deviation: squares of the values themselves would cancel in float.
TEST_P(CudaKernels, MomentsOfValuesFarFromZeroKeepTheirVariance) {
  for (const ChannelArray& a : kChannelArrays) {
    if (a.outer == 0) continue;
    SCOPED_TRACE(a);
    std::vector<float> x(a.size());
    std::vector<double> mean(a.channels), variance(a.channels);
    const double count = double(a.outer) * a.inner;
    for (size_t i = 0; i < a.size(); ++i) {
      x[i] = 1000.f * (1 + a.ChannelOf(i) % 3) + static_cast<float>(i % 7) / 4;
      mean[a.ChannelOf(i)] += x[i] / count;
    }
    for (size_t i = 0; i < a.size(); ++i) {
      const double difference = x[i] - mean[a.ChannelOf(i)];
      variance[a.ChannelOf(i)] += difference * difference / count;
    }
    Array<float> x_array(x), moments(Filled<float>(2 * a.channels, -1.f));
    cuda::ChannelMoments(stream(), a.outer, a.channels, a.inner, x_array.read(), moments.get(),
                         moments.get() + a.channels);
    const std::vector<float> got = moments.values();
    for (int c = 0; c < a.channels; ++c) {
      ASSERT_NEAR(got[c], mean[c], 1e-6 * mean[c]) << "channel " << c;
      ASSERT_NEAR(got[a.channels + c], variance[c], 1e-5 * variance[c] + 1e-12) << "channel " << c;
    }
  }
}

// --- Look-up -----------------------------------------------------------------------------------

TEST_P(CudaKernels, LookUpsOfWhatIsNoRowGiveNanAndHaveNoGradient) {
  Array<float> indices({2, 0, 3, 2, -1, 0.5f}), bias({10, 20});
  Array<float> table({1, 2, 3, 4, 5, 6}), y(Filled<float>(12, 0.f));
  cuda::LookUp(stream(), 6, 3, 2, indices.read(), table.read(), bias.read(), y.get());
  const std::vector<float> got = y.values();
  EXPECT_EQ(std::vector<float>(got.begin(), got.begin() + 4), (std::vector<float>{15, 26, 11, 22}));
  EXPECT_EQ(std::vector<float>(got.begin() + 6, got.begin() + 8), (std::vector<float>{15, 26}));
  for (const int i : {4, 5, 8, 9, 10, 11}) EXPECT_TRUE(std::isnan(got[i])) << i;

  Array<float> dy({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}), gradient(Filled<float>(6, 100.f));
  cuda::LookUpGradient(stream(), 6, 3, 2, indices.read(), dy.read(), gradient.get());
  EXPECT_EQ(gradient.values(), (std::vector<float>{103, 104, 100, 100, 108, 110}));
}

// --- Convolutions ------------------------------------------------------------------------------

using kernels::ConvolutionShape;

ConvolutionShape RandomKernelShape(std::mt19937* random) {
  const auto draw = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(*random);
  };
  ConvolutionShape s;
  const int kinds[] = {1, 1, draw(1, 3)};
  s.group = kinds[draw(0, 2)];
  const bool depthwise = draw(0, 3) == 0;
  s.channels = depthwise ? s.group : s.group * draw(1, 4);
  s.outputs = s.group * draw(1, 4);
  const int axes = draw(1, 3);
  const bool pointwise = draw(0, 4) == 0;
  for (int i = 0; i < axes; ++i) {
    s.kernel.push_back(pointwise ? 1 : draw(1, 3));
    s.stride.push_back(pointwise ? 1 : draw(1, 3));
    s.pad.push_back(pointwise ? 0 : draw(0, 2));
    s.dilation.push_back(draw(1, 2));
    const int window = s.dilation[i] * (s.kernel[i] - 1) + 1;
    s.input.push_back(std::max(window - 2 * s.pad[i], 1) + draw(0, 5));
    s.output.push_back((s.input[i] + 2 * s.pad[i] - window) / s.stride[i] + 1);
  }
  return s;
}

std::string Listed(const std::vector<int>& values) {
  std::string text;
  for (const int value : values) text += " " + std::to_string(value);
  return text;
}

template <typename T>
void ExpectRounded(const std::vector<double>& wanted, const std::vector<T>& got) {
  ASSERT_EQ(wanted.size(), got.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(wanted[i], static_cast<double>(got[i])) << "element " << i;
  }
}

template <typename T>
std::vector<double> Doubles(const std::vector<T>& values) {
  std::vector<double> result;
  for (const T& value : values) result.push_back(static_cast<double>(value));
  return result;
}

/// The three products of whole numbers against the definition in double: sums are exact, unless an
/// algorithm transforms its factors, as Winograd's does. So not for cuDNN.
template <typename T>
void CheckConvolution(Stream& stream, const ConvolutionShape& s, int num, std::mt19937* random) {
  using F = AccumulatorType<T>;
  cuda::ConvolutionOptions options;
  options.use_cudnn = false;
  const std::vector<T> x = WholeNumbers<T>(num * s.input_size(), random);
  const std::vector<T> y = WholeNumbers<T>(num * s.output_size(), random);
  const std::vector<T> weights = WholeNumbers<T>(s.weight_count(), random);
  const std::vector<F> bias = WholeNumbers<F>(std::max(s.channels, s.outputs), random);
  Array<T> x_array(x), y_array(y), weights_array(weights);
  Array<F> bias_array(bias);

  std::vector<double> wanted(y.size());
  kernels::ReferenceConvolutionForward<double, double>(
      s, num, Doubles(x).data(), Doubles(weights).data(), Doubles(bias).data(), wanted.data());
  Array<T> forward(Filled<T>(y.size(), std::numeric_limits<T>::quiet_NaN()));
  cuda::ConvolutionForward(stream, s, num, options, x_array.read(), weights_array.read(),
                           bias_array.read(), forward.get());
  ExpectRounded(wanted, forward.values());

  wanted.resize(x.size());
  kernels::ReferenceConvolutionBackwardData<double, double>(
      s, num, Doubles(y).data(), Doubles(weights).data(), Doubles(bias).data(), wanted.data());
  Array<T> data(Filled<T>(x.size(), std::numeric_limits<T>::quiet_NaN()));
  cuda::ConvolutionBackwardData(stream, s, num, options, y_array.read(), weights_array.read(),
                                bias_array.read(), data.get());
  ExpectRounded(wanted, data.values());

  wanted.assign(weights.size(), 5);
  kernels::ReferenceConvolutionBackwardWeights<double, double>(s, num, Doubles(x).data(),
                                                               Doubles(y).data(), wanted.data());
  Array<F> gradient(Filled<F>(weights.size(), F(5)));
  cuda::ConvolutionBackwardWeights(stream, s, num, options, x_array.read(), y_array.read(),
                                   gradient.get());
  ExpectRounded(wanted, gradient.values());
}

TEST_P(CudaKernels, ConvolutionsOfOurOwnAreExactForWholeNumbers) {
  const unsigned seed = TestSeed();
  std::mt19937 random(seed);
  for (int round = 0; round < 30; ++round) {
    const ConvolutionShape s = RandomKernelShape(&random);
    const int num = 1 + round % 4;
    SCOPED_TRACE(Join("CAFFE_TEST_SEED=", seed, ": ", num, " images, channels ", s.channels,
                      ", outputs ", s.outputs, ", group ", s.group, ", input", Listed(s.input),
                      ", kernel", Listed(s.kernel), ", stride", Listed(s.stride), ", pad",
                      Listed(s.pad), ", dilation", Listed(s.dilation)));
    CheckConvolution<float>(stream(), s, num, &random);
    CheckConvolution<double>(stream(), s, num, &random);
    CheckConvolution<float16>(stream(), s, num, &random);
  }
}

// More positions than the column matrices hold at once: of 5 images 4 at first, then 1.
TEST_P(CudaKernels, ConvolutionsOfManyImagesGoByPieces) {
  SLOW_TEST();
  ConvolutionShape s;
  s.channels = s.outputs = s.group = 1;
  s.input = s.output = {1, 2600000};
  s.kernel = {1, 3};
  s.stride = s.dilation = {1, 1};
  s.pad = {0, 1};
  const int num = 5;
  cuda::ConvolutionOptions options;
  options.use_cudnn = false;
  Array<float> x(Filled<float>(num * s.input_size(), 1.f)),
      y(Filled<float>(num * s.output_size(), 0.f));
  Array<float> weights({1, 2, 3}), gradient(Filled<float>(3, 0.f));
  cuda::ConvolutionForward<float>(stream(), s, num, options, x.read(), weights.read(), nullptr,
                                  y.get());
  const std::vector<float> got = y.values();
  for (int n = 0; n < num; ++n) {
    const float* row = got.data() + n * s.output_size();
    EXPECT_EQ(row[0], 5) << n;
    EXPECT_EQ(row[1], 6) << n;
    EXPECT_EQ(row[s.output_size() - 1], 3) << n;
  }
  cuda::ConvolutionBackwardWeights<float>(stream(), s, num, options, x.read(), x.read(),
                                          gradient.get());
  EXPECT_EQ(gradient.values(), (std::vector<float>{12999995, 13000000, 12999995}));
}

}  // namespace
}  // namespace caffe
