// Kernels of GPU engines for channels-last arrays, against plain references, in every mixture of
// types.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "caffe/error.hpp"
#include "caffe/kernels/cuda/across_channels.hpp"
#include "caffe/kernels/cuda/channels_last.hpp"
#include "caffe/kernels/pooling.hpp"
#include "caffe/kernels/quantize.hpp"
#include "caffe/test/support/engine_values.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

using cuda::Pixels;
using kernels::Activation;
using kernels::PoolingShape;

class ChannelsLast : public CudaKernelsTest {
 protected:
  ChannelsLast() : seed_(TestSeed()), random_(seed_) {}

  int Draw(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }
  ElementType AnyType() { return kStoredTypes[Draw(0, 4)]; }
  /// Channels that kernels take one by one, or several at once.
  int AnyChannels() { return Draw(0, 1) ? Draw(1, 20) : 8 * Draw(1, 4); }
  /// Few pixels, or so many that kernels take several channels at once.
  int AnyPixels() { return Draw(0, 3) ? Draw(1, 40) : 20000; }
  /// How much further apart pixels are than they need to be.
  int AnyGap() { return Draw(0, 1) ? 0 : Draw(0, 1) ? 16 : 3; }
  StoredArray RandomPixels(ElementType type, int pixels, int stride) {
    return StoredArray::Random(type, 0.05f * Draw(1, 3), size_t(pixels) * stride, &random_);
  }
  std::vector<float> Quarters(int count, int most = 3) {
    std::vector<float> values;
    for (int i = 0; i < count; ++i) values.push_back(0.25f * Draw(0, most));
    return values;
  }
  std::string Where(int round) const { return Join("CAFFE_TEST_SEED=", seed_, ", round ", round); }

  const unsigned seed_;
  std::mt19937 random_;
};
CAFFE_ON_EACH_DEVICE(ChannelsLast);

constexpr float kBefore = 77;  // what lies where nothing is written

/// An array for results.
struct Result {
  Result(ElementType type, float scale, int rows, int columns, int stride)
      : rows(rows),
        columns(columns),
        stride(stride),
        array(type, scale, std::vector<float>(size_t(rows) * stride, kBefore)) {}
  Pixels pixels() { return array.pixels(stride); }

  /// Expects wanted(row, column) in `columns` columns, and nothing else.
  template <typename Wanted>
  void Expect(bool exact, const Wanted& wanted) {
    const std::vector<float> got = array.now();
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < stride; ++column) {
        const float value = got[size_t(row) * stride + column];
        if (column < columns) {
          ASSERT_TRUE(IsStored(array.type(), array.scale(), wanted(row, column), value, exact))
              << "row " << row << ", column " << column;
        } else {
          ASSERT_EQ(value, kBefore) << "row " << row << ", column " << column;
        }
      }
    }
  }

  const int rows, columns, stride;
  StoredArray array;
};

TEST_P(ChannelsLast, PixelsAreScaledShiftedAddedAndActivated) {
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(Where(round));
    const int pixels = AnyPixels(), channels = AnyChannels(), gap = AnyGap();
    const int stride = channels + gap;
    StoredArray x = RandomPixels(AnyType(), pixels, stride);
    StoredArray residual = RandomPixels(AnyType(), pixels, stride);
    const std::vector<float> a = Quarters(channels), b = Quarters(channels, 40),
                             slopes = Quarters(channels);
    Array<float> a_array(a), b_array(b), slope_array(slopes);
    const bool has_a = Draw(0, 1), has_b = Draw(0, 1), has_residual = Draw(0, 1);
    Activation f = ActivationNumber(Draw(0, kActivations - 1));
    f.slopes = slope_array.read();
    const Pixels added = residual.pixels(stride);
    Result y(AnyType(), 0.125f, pixels, channels, stride);
    cuda::ApplyToPixels(stream(), pixels, channels, x.pixels(stride),
                        has_a ? a_array.read() : nullptr, has_b ? b_array.read() : nullptr,
                        has_residual ? &added : nullptr, f, y.pixels());
    y.Expect(IsExact(f), [&](int p, int c) {
      const size_t at = size_t(p) * stride + c;
      float value = x[at];
      if (has_a) value *= a[c];
      if (has_b) value += b[c];
      if (has_residual) value += residual[at];
      return AppliedTo(f, value, slopes[c]);
    });
    if (HasFatalFailure()) return;
  }
}

TEST_P(ChannelsLast, PlanesAreScaledShiftedAddedAndActivated) {
  for (int round = 0; round < 30; ++round) {
    SCOPED_TRACE(Where(round));
    const int images = Draw(1, 3), channels = Draw(1, 9), spatial = Draw(1, 30);
    const int count = channels * spatial, stride = count + AnyGap();
    StoredArray x = RandomPixels(AnyType(), images, stride);
    StoredArray residual = RandomPixels(AnyType(), images, stride);
    const std::vector<float> a = Quarters(channels), b = Quarters(channels, 40),
                             slopes = Quarters(channels);
    Array<float> a_array(a), b_array(b), slope_array(slopes);
    Activation f = ActivationNumber(round);
    f.slopes = slope_array.read();
    const bool has_residual = Draw(0, 1);
    const cuda::Planes added = residual.planes(stride);
    Result y(AnyType(), 0.125f, images, count, stride);
    cuda::ApplyToPlanes(stream(), images, channels, spatial, x.planes(stride), a_array.read(),
                        b_array.read(), has_residual ? &added : nullptr, f, y.array.planes(stride));
    y.Expect(IsExact(f), [&](int n, int i) {
      const size_t at = size_t(n) * stride + i;
      const int c = i / spatial;
      float value = x[at] * a[c];
      value += b[c];
      if (has_residual) value += residual[at];
      return AppliedTo(f, value, slopes[c]);
    });
    if (HasFatalFailure()) return;
  }
}

/// Within a few roundings in float and one to the type, of numbers up to `most`.
testing::AssertionResult IsNearly(ElementType type, float scale, double wanted, float stored,
                                  double most) {
  const bool integer = type == ElementType::INT8 || type == ElementType::UINT8;
  if (integer) {
    const double limit = type == ElementType::INT8 ? 127 : 255;
    const double q = std::min(std::max(wanted / scale, limit == 127 ? -127. : 0.), limit);
    if (std::fabs(q - stored) <= 0.5 + 1e-3) return testing::AssertionSuccess();
  } else {
    const double rounding = type == ElementType::FLOAT     ? 0
                            : type == ElementType::FLOAT16 ? 0x1p-11
                                                           : 0x1p-8;
    if (std::fabs(wanted - stored) <= (rounding + 1e-5) * most) return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << stored << " where " << wanted << " is right";
}

TEST_P(ChannelsLast, ChannelsAreNormalizedByTheirNeighbours) {
  for (int round = 0; round < 30; ++round) {
    SCOPED_TRACE(Where(round));
    const int pixels = Draw(1, 40), channels = AnyChannels(), filled = channels + Draw(0, 3);
    const int stride = filled + AnyGap();
    StoredArray x = RandomPixels(AnyType(), pixels, stride);
    Result y(AnyType(), 0.125f, pixels, filled, stride);
    kernels::LrnShape lrn;
    lrn.size = 2 * Draw(0, 3) + 1;
    lrn.alpha = 0.25 * Draw(1, 8);
    lrn.beta = 0.25 * Draw(1, 4);
    lrn.k = Draw(1, 3);
    cuda::LrnOfPixels(stream(), lrn, pixels, channels, filled, x.pixels(stride), y.pixels());
    const std::vector<float> got = y.array.now();
    for (int i = 0; i < pixels * stride; ++i) {
      const int p = i / stride, c = i % stride;
      if (c >= channels) {
        ASSERT_EQ(got[i], c < filled ? 0 : kBefore) << "pixel " << p << ", channel " << c;
        continue;
      }
      double sum = 0;
      for (int k = std::max(0, c - lrn.size / 2); k <= std::min(channels - 1, c + lrn.size / 2);
           ++k) {
        sum += double(x[p * stride + k]) * x[p * stride + k];
      }
      const double wanted =
          x[p * stride + c] * std::pow(lrn.k + lrn.alpha / lrn.size * sum, -lrn.beta);
      ASSERT_TRUE(IsNearly(y.array.type(), 0.125f, wanted, got[i], std::fabs(wanted)))
          << "pixel " << p << ", channel " << c;
    }
  }
}

TEST_P(ChannelsLast, SoftmaxGoesOverTheChannelsOfAPixel) {
  for (int round = 0; round < 30; ++round) {
    SCOPED_TRACE(Where(round));
    const int pixels = Draw(1, 40), channels = Draw(0, 3) ? AnyChannels() : 300;
    const int filled = channels + Draw(0, 3), stride = filled + AnyGap();
    StoredArray x = RandomPixels(AnyType(), pixels, stride);
    Result y(AnyType(), 0.0078125f, pixels, filled, stride);
    Array<float> scratch(
        std::vector<float>(cuda::SoftmaxScratchBytes(pixels) / sizeof(float), kBefore));
    cuda::SoftmaxOfPixels(stream(), pixels, channels, filled, x.pixels(stride), scratch.get(),
                          y.pixels());
    const std::vector<float> got = y.array.now();
    for (int p = 0; p < pixels; ++p) {
      double largest = x[p * stride], sum = 0;
      for (int c = 0; c < channels; ++c) largest = std::max<double>(largest, x[p * stride + c]);
      for (int c = 0; c < channels; ++c) sum += std::exp(x[p * stride + c] - largest);
      for (int c = 0; c < stride; ++c) {
        const float stored = got[size_t(p) * stride + c];
        if (c >= channels) {
          ASSERT_EQ(stored, c < filled ? 0 : kBefore) << "pixel " << p << ", channel " << c;
          continue;
        }
        const double wanted = std::exp(x[p * stride + c] - largest) / sum;
        ASSERT_TRUE(IsNearly(y.array.type(), 0.0078125f, wanted, stored, 1))
            << "pixel " << p << ", channel " << c;
      }
    }
  }
}

TEST_P(ChannelsLast, SoftmaxOfInfinityIsNoNumberAndOfMinusInfinityZero) {
  const float inf = std::numeric_limits<float>::infinity();
  StoredArray x(ElementType::FLOAT, 1, {0, -inf, inf, 0});
  StoredArray y(ElementType::FLOAT, 1, {5, 5, 5, 5});
  Array<float> scratch(std::vector<float>(4));
  cuda::SoftmaxOfPixels(stream(), 2, 2, 2, x.pixels(2), scratch.get(), y.pixels(2));
  const std::vector<float> got = y.now();
  EXPECT_EQ(got[0], 1);
  EXPECT_EQ(got[1], 0);
  EXPECT_TRUE(std::isnan(got[2]));
  EXPECT_EQ(got[3], 0);
}

TEST_P(ChannelsLast, APixelMayBeFinishedWhereItLies) {
  StoredArray x(ElementType::FLOAT16, 1, {-4, 2, 6, 8, -1, 3});
  Activation f;
  f.kind = Activation::RELU;
  const Pixels pixels = x.pixels(3);
  cuda::ApplyToPixels(stream(), 2, 3, pixels, nullptr, nullptr, &pixels, f, pixels);
  EXPECT_EQ(x.now(), (std::vector<float>{0, 4, 12, 16, 0, 6}));
}

TEST_P(ChannelsLast, SumsProductsAndMaximaOfAnyTypes) {
  using cuda::Combination;
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(Where(round));
    const Combination combination = static_cast<Combination>(round % 3);
    const int pixels = AnyPixels(), channels = AnyChannels(), stride = channels + AnyGap();
    const int count = Draw(1, pixels > 1000 ? 3 : static_cast<int>(cuda::kMaxCombined));
    std::vector<std::unique_ptr<StoredArray>> x;
    std::vector<Pixels> all;
    // Products of more than four numbers would not be exact.
    for (int i = 0; i < (combination == Combination::PRODUCT ? std::min(count, 4) : count); ++i) {
      x.push_back(std::make_unique<StoredArray>(RandomPixels(AnyType(), pixels, stride)));
      all.push_back(x.back()->pixels(stride));
    }
    const std::vector<float> coefficients =
        Draw(0, 1) ? Quarters(static_cast<int>(x.size())) : std::vector<float>();
    const Activation f = ActivationNumber(Draw(0, 3));
    Result y(AnyType(), 0.125f, pixels, channels, stride);
    cuda::CombinePixels(stream(), combination, pixels, channels, all, coefficients, f, y.pixels());
    y.Expect(true, [&](int p, int c) {
      float result = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        const float value = (*x[i])[size_t(p) * stride + c];
        const bool weighs = combination == Combination::SUM && !coefficients.empty();
        const float term = weighs ? value * coefficients[i] : value;
        result = i == 0                                ? term
                 : combination == Combination::SUM     ? result + term
                 : combination == Combination::PRODUCT ? result * term
                                                       : std::max(result, term);
      }
      return AppliedTo(f, result, 0.f);
    });
    if (HasFatalFailure()) return;
  }
}

TEST_P(ChannelsLast, NothingAndTooMuchCannotBeCombined) {
  StoredArray x(ElementType::FLOAT, 1, {1, 2});
  const Pixels pixels = x.pixels(2);
  const auto combine = [&](size_t count, const std::vector<float>& coefficients) {
    cuda::CombinePixels(stream(), cuda::Combination::SUM, 1, 2, std::vector<Pixels>(count, pixels),
                        coefficients, {}, pixels);
  };
  EXPECT_THROW(combine(0, {}), Error);
  EXPECT_THROW(combine(cuda::kMaxCombined + 1, {}), Error);
  EXPECT_THROW(combine(2, {1}), Error);
}

// --- Pooling -----------------------------------------------------------------------------------

class ChannelsLastPooling : public ChannelsLast {
 protected:
  PoolingShape RandomShape() {
    PoolingShape s;
    s.planes = Draw(1, 3);
    const auto axis = [&](int* size, int* pooled, int* kernel, int* stride, int* pad) {
      *kernel = Draw(1, 3);
      *stride = Draw(1, 3);
      *pad = Draw(0, *kernel - 1);
      *size = Draw(*kernel, 12);
      // Caffe's rule: rounded up, but no window begins behind the image.
      *pooled = (*size + 2 * *pad - *kernel + *stride - 1) / *stride + 1;
      if ((*pooled - 1) * *stride >= *size + *pad) --*pooled;
    };
    axis(&s.height, &s.pooled_height, &s.kernel_h, &s.stride_h, &s.pad_h);
    axis(&s.width, &s.pooled_width, &s.kernel_w, &s.stride_w, &s.pad_w);
    return s;
  }

  /// Calls visit(value) for each stored number in the window of an output.
  template <typename Visit>
  static int VisitWindow(const PoolingShape& s, const StoredArray& x, int stride, int output, int c,
                         const Visit& visit) {
    const int pw = output % s.pooled_width, ph = output / s.pooled_width % s.pooled_height;
    const int n = output / s.pooled_width / s.pooled_height;
    const int h0 = ph * s.stride_h - s.pad_h, w0 = pw * s.stride_w - s.pad_w;
    const int h1 = std::min(h0 + s.kernel_h, s.height + s.pad_h);
    const int w1 = std::min(w0 + s.kernel_w, s.width + s.pad_w);
    for (int h = std::max(h0, 0); h < std::min(h1, s.height); ++h) {
      for (int w = std::max(w0, 0); w < std::min(w1, s.width); ++w) {
        visit(x.stored((size_t(n) * s.height * s.width + h * s.width + w) * stride + c));
      }
    }
    return (h1 - h0) * (w1 - w0);
  }
};
CAFFE_ON_EACH_DEVICE(ChannelsLastPooling);

TEST_P(ChannelsLastPooling, MaximaAreCaffes) {
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(Where(round));
    const PoolingShape s = RandomShape();
    const ElementType type = kStoredTypes[round % 5];
    const int channels = AnyChannels(), stride = channels + AnyGap();
    const int inputs = static_cast<int>(s.planes * s.input_plane());
    StoredArray x = RandomPixels(type, inputs, stride);
    Result y(type, x.scale(), static_cast<int>(s.planes * s.output_plane()), channels, stride);
    cuda::PoolMaxima(stream(), s, channels, x.pixels(stride), y.pixels());
    y.Expect(true, [&](int output, int c) {
      float best = -1000;
      VisitWindow(s, x, stride, output, c, [&](float v) { best = std::max(best, v); });
      return IsInteger(type) ? best * x.scale() : best;
    });
    if (HasFatalFailure()) return;
  }
}

TEST_P(ChannelsLastPooling, MeansAreCaffesAndOfIntegersRounded) {
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(Where(round));
    const PoolingShape s = RandomShape();
    const ElementType type = kStoredTypes[round % 5];
    const int channels = AnyChannels(), stride = channels + AnyGap();
    const int inputs = static_cast<int>(s.planes * s.input_plane());
    StoredArray x = RandomPixels(type, inputs, stride);
    Result y(type, 0.07f, static_cast<int>(s.planes * s.output_plane()), channels, stride);
    cuda::PoolMeans(stream(), s, channels, x.pixels(stride), y.pixels());
    const std::vector<float> got = y.array.now();
    for (int output = 0; output < y.rows; ++output) {
      for (int c = 0; c < channels; ++c) {
        float sum = 0;
        const int size = VisitWindow(s, x, stride, output, c, [&](float v) { sum += v; });
        // Of integers times one factor, as the CPU's kernels do it.
        const float factor = IsInteger(type) ? x.scale() / y.array.scale() : 1;
        ASSERT_EQ(Written(type, factor, sum / size), got[size_t(output) * stride + c])
            << "output " << output << ", channel " << c;
      }
    }
  }
}

TEST_P(ChannelsLastPooling, GlobalMeansOfManyChannels) {
  PoolingShape s;
  s.planes = 2;
  s.height = s.width = s.kernel_h = s.kernel_w = 4;
  s.pooled_height = s.pooled_width = 1;
  const int channels = 64;
  StoredArray x = RandomPixels(ElementType::FLOAT16, 32, channels);
  Result y(ElementType::FLOAT16, 1, 2, channels, channels);
  cuda::PoolMeans(stream(), s, channels, x.pixels(channels), y.pixels());
  y.Expect(true, [&](int n, int c) {
    float sum = 0;
    for (int i = 0; i < 16; ++i) sum += x[(n * 16 + i) * channels + c];
    return sum / 16;
  });
}

TEST_P(ChannelsLastPooling, AWindowWithoutNumbersGivesTheLeastValue) {
  PoolingShape s;
  s.planes = 1;
  s.height = s.width = s.kernel_h = s.kernel_w = s.pooled_height = s.pooled_width = 1;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  StoredArray x(ElementType::FLOAT16, 1, {nan});
  StoredArray y(ElementType::FLOAT16, 1, {0});
  cuda::PoolMaxima(stream(), s, 1, x.pixels(1), y.pixels(1));
  EXPECT_EQ(y.now()[0], -65504.f);
}

TEST_P(ChannelsLastPooling, TypesDoNotChange) {
  PoolingShape s;
  s.planes = 1;
  s.height = s.width = s.kernel_h = s.kernel_w = s.pooled_height = s.pooled_width = 1;
  StoredArray x(ElementType::FLOAT16, 1, {1}), y(ElementType::FLOAT, 1, {1});
  EXPECT_THROW(cuda::PoolMaxima(stream(), s, 1, x.pixels(1), y.pixels(1)), Error);
  EXPECT_THROW(cuda::PoolMeans(stream(), s, 1, x.pixels(1), y.pixels(1)), Error);
}

// --- Moving ------------------------------------------------------------------------------------

/// What becomes of element i when it is moved to an array of this type: as it is where nothing has
/// to be converted.
float Moved(const StoredArray& x, size_t i, ElementType type, float scale) {
  const bool alike = x.type() == type && (!IsInteger(type) || x.scale() == scale);
  return alike ? x.stored(i) : Stored(type, scale, x[i]);
}

TEST_P(ChannelsLast, RangesOfChannelsAreCopiedAndConverted) {
  for (int round = 0; round < 80; ++round) {
    SCOPED_TRACE(Where(round));
    const int pixels = Draw(1, 50), channels = AnyChannels(), before = AnyGap();
    const int x_stride = channels + before + AnyGap(), y_stride = channels + before + AnyGap();
    StoredArray x = RandomPixels(AnyType(), pixels, x_stride);
    const ElementType type = Draw(0, 1) ? x.type() : AnyType();
    const float scale = Draw(0, 1) ? x.scale() : 0.125f;
    StoredArray y(type, scale, std::vector<float>(size_t(pixels) * y_stride, kBefore));
    cuda::CopyPixels(stream(), pixels, channels, x.pixels(x_stride, before),
                     y.pixels(y_stride, before));
    const std::vector<float> got = y.now();
    for (int p = 0; p < pixels; ++p) {
      for (int c = 0; c < y_stride; ++c) {
        const bool inside = c >= before && c < before + channels;
        ASSERT_EQ(got[size_t(p) * y_stride + c],
                  inside ? Moved(x, size_t(p) * x_stride + c, type, scale) : kBefore)
            << "pixel " << p << ", channel " << c;
      }
    }
  }
}

TEST_P(ChannelsLast, CaffesOrderBecomesChannelsLastAndBack) {
  for (int round = 0; round < 80; ++round) {
    SCOPED_TRACE(Where(round));
    const int images = Draw(1, 3), channels = AnyChannels(), spatial = Draw(1, 40);
    const int count = channels * spatial;
    const int plain_stride = count + AnyGap();
    const int filled = channels + Draw(0, 1) * Draw(0, 9), stride = filled + AnyGap();
    StoredArray x = RandomPixels(AnyType(), images, plain_stride);
    const ElementType type = Draw(0, 1) ? x.type() : AnyType();
    const float scale = Draw(0, 1) ? x.scale() : 0.125f;
    const auto plain = [&](int n, int c, int s) {
      return size_t(n) * plain_stride + size_t(c) * spatial + s;
    };

    StoredArray last(type, scale, std::vector<float>(size_t(images) * spatial * stride, kBefore));
    cuda::ToChannelsLast(stream(), images, channels, spatial, x.planes(plain_stride),
                         last.pixels(stride), filled);
    std::vector<float> got = last.now();
    for (int p = 0; p < images * spatial; ++p) {
      for (int c = 0; c < stride; ++c) {
        const float wanted = c >= filled ? kBefore
                             : c >= channels
                                 ? 0
                                 : Moved(x, plain(p / spatial, c, p % spatial), type, scale);
        ASSERT_EQ(got[size_t(p) * stride + c], wanted) << "pixel " << p << ", channel " << c;
      }
    }

    const ElementType back_type = AnyType();
    StoredArray from(type, scale, got),
        back(back_type, 0.25f, std::vector<float>(x.size(), kBefore));
    cuda::FromChannelsLast(stream(), images, channels, spatial, from.pixels(stride),
                           back.planes(plain_stride));
    got = back.now();
    for (int n = 0; n < images; ++n) {
      for (int i = 0; i < plain_stride; ++i) {
        const size_t at = (size_t(n) * spatial + i % spatial) * stride + i / spatial;
        ASSERT_EQ(got[size_t(n) * plain_stride + i],
                  i < count ? Moved(from, at, back_type, 0.25f) : kBefore)
            << "image " << n << ", element " << i;
      }
    }
  }
}

TEST_P(ChannelsLast, PlanesAreCopiedAndConverted) {
  for (int round = 0; round < 20; ++round) {
    SCOPED_TRACE(Where(round));
    const int images = Draw(1, 4), channels = Draw(1, 5), spatial = Draw(1, 20);
    const int count = channels * spatial, x_stride = count + AnyGap(), y_stride = count + AnyGap();
    StoredArray x = RandomPixels(AnyType(), images, x_stride);
    Result y(AnyType(), 0.125f, images, count, y_stride);
    cuda::CopyPlanes(stream(), images, channels, spatial, x.planes(x_stride),
                     y.array.planes(y_stride));
    const std::vector<float> got = y.array.now();
    for (int n = 0; n < images; ++n) {
      for (int i = 0; i < y_stride; ++i) {
        ASSERT_EQ(got[size_t(n) * y_stride + i],
                  i < count ? Moved(x, size_t(n) * x_stride + i, y.array.type(), 0.125f) : kBefore);
      }
    }
  }
}

// To the bit what the CPU's kernel writes: ties, both ends, infinities, NaN.
TEST_P(ChannelsLast, FloatsBecomeIntegersAsOnTheCpu) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> values = {
      0,      -0.f,   0.25f,     0.75f,      1.25f,
      -0.25f, -0.75f, 63.25f,    63.5f,      64,
      -63.5f, -64,    127.25f,   200,        -200,
      1e30f,  -1e30f, kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()};
  for (const float value : kernels::Floats(1000, 40, &random_)) values.push_back(value);
  const int count = static_cast<int>(values.size());
  const auto check = [&](auto tag, ElementType type) {
    using Q = decltype(tag);
    for (const float scale : {0.5f, 0.37f, 1.f}) {
      std::vector<Q> wanted(values.size());
      kernels::Quantize(values.size(), 1 / scale, values.data(), wanted.data());
      StoredArray x(ElementType::FLOAT, 1, values);
      StoredArray y(type, scale, std::vector<float>(values.size(), kBefore));
      cuda::CopyPixels(stream(), 1, count, x.pixels(count), y.pixels(count));
      EXPECT_EQ(y.now(), std::vector<float>(wanted.begin(), wanted.end())) << scale;
    }
  };
  check(int8_t(), ElementType::INT8);
  check(uint8_t(), ElementType::UINT8);
}

TEST_P(ChannelsLast, ZeroPointsAreAddedAndTakenOffAsOnTheCpu) {
  const int channels = 3, spatial = 7, images = 2, image = channels * spatial;
  const std::vector<float> values = kernels::Floats(images * image, 40, &random_);
  const auto check = [&](auto tag, ElementType type, int zero_point) {
    SCOPED_TRACE(Where(zero_point));
    using Q = decltype(tag);
    const float scale = 0.37f;
    std::vector<Q> wanted(values.size());
    std::vector<float> back(values.size());
    kernels::Quantize(values.size(), 1 / scale, values.data(), wanted.data(), zero_point);
    kernels::Dequantize(values.size(), scale, wanted.data(), back.data(), zero_point);
    StoredArray x(ElementType::FLOAT, 1, values);
    const std::vector<float> before(values.size(), kBefore);
    StoredArray plain(type, scale, before), last(type, scale, before), turned(type, scale, before);
    StoredArray floats(ElementType::FLOAT, 1, before), others(ElementType::FLOAT, 1, before);
    const auto planes = [&](StoredArray& array) {
      cuda::Planes all = array.planes(image);
      all.zero_point = zero_point;
      return all;
    };
    Pixels pixels = last.pixels(channels);
    pixels.zero_point = zero_point;
    cuda::CopyPlanes(stream(), images, channels, spatial, x.planes(image), planes(plain));
    EXPECT_EQ(plain.now(), std::vector<float>(wanted.begin(), wanted.end()));
    cuda::CopyPlanes(stream(), images, channels, spatial, planes(plain), floats.planes(image));
    EXPECT_EQ(floats.now(), back);
    cuda::ToChannelsLast(stream(), images, channels, spatial, x.planes(image), pixels, channels);
    cuda::FromChannelsLast(stream(), images, channels, spatial, pixels, planes(turned));
    EXPECT_EQ(turned.now(), plain.now());
    cuda::FromChannelsLast(stream(), images, channels, spatial, pixels, others.planes(image));
    EXPECT_EQ(others.now(), back);
  };
  check(int8_t(), ElementType::INT8, -100);
  check(int8_t(), ElementType::INT8, 37);
  check(uint8_t(), ElementType::UINT8, 200);
}

TEST_P(ChannelsLast, TheLeastByteIsMovedAsItIs) {
  StoredArray x(ElementType::INT8, 0.3f, {-128, 127, 5});
  StoredArray y(ElementType::INT8, 0.3f, {0, 0, 0});
  cuda::CopyPixels(stream(), 1, 3, x.pixels(3), y.pixels(3));
  EXPECT_EQ(y.now(), (std::vector<float>{-128, 127, 5}));
  StoredArray last(ElementType::INT8, 0.3f, {0, 0, 0});
  cuda::ToChannelsLast(stream(), 1, 3, 1, x.planes(3), last.pixels(3), 3);
  EXPECT_EQ(last.now(), (std::vector<float>{-128, 127, 5}));
}

TEST_P(ChannelsLast, OtherTypesAndPixelsThatOverlapAreRefused) {
  StoredArray x(ElementType::FLOAT, 1, {1, 2, 3, 4});
  Pixels wrong = x.pixels(2);
  wrong.type = ElementType::INT32;
  EXPECT_THROW(cuda::CopyPixels(stream(), 2, 2, wrong, x.pixels(2)), Error);
  EXPECT_THROW(cuda::CopyPixels(stream(), 2, 2, wrong, wrong), Error);
  EXPECT_THROW(cuda::CopyPixels(stream(), 2, 2, x.pixels(1), x.pixels(2)), Error);
  EXPECT_THROW(
      cuda::ApplyToPixels(stream(), 2, 2, x.pixels(2), nullptr, nullptr, nullptr, {}, x.pixels(1)),
      Error);
}

}  // namespace
}  // namespace caffe
