// Resampling as products with matrices, one for each axis.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "caffe/kernels/resize.hpp"
#include "caffe/test/support/every_instruction_set.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

using kernels::ResizeAxis;
using AxisMatrix = std::vector<std::vector<double>>;

/// Row i has the weights of output i.
AxisMatrix MatrixOf(const ResizeAxis& axis) {
  AxisMatrix matrix(axis.output(), std::vector<double>(axis.input, 0.));
  for (int i = 0; i < axis.output(); ++i) {
    for (int k = 0; k < axis.terms(i); ++k) {
      matrix[i][axis.first[i] + k] = axis.weights[axis.start[i] + k];
    }
  }
  return matrix;
}

/// To more and to fewer positions, some of which fill vectors.
std::vector<ResizeAxis> Axes() {
  using kernels::ResampleFilter;
  return {kernels::AlignedAxis(5, 0, 0, 9),
          kernels::AlignedAxis(56, 0, 0, 112),
          kernels::AlignedAxis(37, 2, 1, 41),
          kernels::AlignedAxis(9, 2, 1, 4),
          kernels::AlignedAxis(4, 0, 0, 1),
          kernels::AlignedAxis(1, 0, 0, 3),
          kernels::AlignedAxis(40, 0, 0, 21),
          kernels::RepeatedAxis(4, 3),
          kernels::RepeatedAxis(19, 2),
          kernels::ResampledAxis(ResampleFilter::NEAREST, 7, 3, 1, true),
          kernels::ResampledAxis(ResampleFilter::NEAREST, 20, 40, 0.5f, false),
          kernels::ResampledAxis(ResampleFilter::LINEAR, 12, 5, 2, true),
          kernels::ResampledAxis(ResampleFilter::LINEAR, 70, 35, 2, false),
          kernels::ResampledAxis(ResampleFilter::CUBIC, 5, 12, 0.5f, false),
          kernels::ResampledAxis(ResampleFilter::CUBIC, 30, 64, 0.5f, false)};
}

TEST(ResizeAxis, IsTransposed) {
  for (const ResizeAxis& axis : Axes()) {
    const ResizeAxis transposed = axis.Transposed();
    ASSERT_EQ(transposed.input, axis.output());
    ASSERT_EQ(transposed.output(), axis.input);
    const AxisMatrix matrix = MatrixOf(axis), other = MatrixOf(transposed);
    for (int i = 0; i < axis.output(); ++i) {
      for (int k = 0; k < axis.input; ++k) EXPECT_EQ(other[k][i], matrix[i][k]) << i << ", " << k;
    }
  }
}

template <typename T>
void ExpectProductsWithMatrices(double rounding) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(Join("seed ", seed));
  std::mt19937 random(seed);
  constexpr size_t kPlanes = 3;
  const std::vector<ResizeAxis> axes = Axes();
  for (size_t a = 0; a < axes.size(); ++a) {
    const ResizeAxis &w = axes[a], &h = axes[random() % axes.size()];
    const AxisMatrix of_rows = MatrixOf(h), of_columns = MatrixOf(w);
    std::vector<T> x(kPlanes * h.input * w.input), y(kPlanes * h.output() * w.output());
    std::vector<T> dy(y.size()), dx(x.size());
    std::normal_distribution<float> normal;
    for (T& value : x) value = static_cast<T>(normal(random));
    for (T& value : dy) value = static_cast<T>(normal(random));
    kernels::ResizeForward(kPlanes, h, w, x.data(), y.data());
    kernels::ResizeBackward(kPlanes, h, w, dy.data(), dx.data());
    for (size_t plane = 0; plane < kPlanes; ++plane) {
      const T* from = x.data() + plane * h.input * w.input;
      const T* above = dy.data() + plane * h.output() * w.output();
      std::vector<double> wanted(dx.size() / kPlanes);
      for (int i = 0; i < h.output(); ++i) {
        for (int j = 0; j < w.output(); ++j) {
          const size_t at = size_t(i) * w.output() + j;
          double sum = 0;
          for (int k = 0; k < h.input; ++k) {
            if (of_rows[i][k] == 0) continue;
            for (int l = 0; l < w.input; ++l) {
              const double weight = of_rows[i][k] * of_columns[j][l];
              sum += weight * static_cast<double>(from[k * w.input + l]);
              wanted[k * w.input + l] += weight * static_cast<double>(above[at]);
            }
          }
          ASSERT_NEAR(static_cast<double>(y[plane * h.output() * w.output() + at]), sum, rounding)
              << "axis " << a << ", row " << i << ", column " << j;
        }
      }
      for (size_t i = 0; i < wanted.size(); ++i) {
        ASSERT_NEAR(static_cast<double>(dx[plane * wanted.size() + i]), wanted[i], 4 * rounding)
            << "axis " << a << ", element " << i;
      }
    }
  }
}

TEST(ResizeKernels, AreProductsWithMatricesInEachType) {
  kernels::OnEveryInstructionSet([] {
    ExpectProductsWithMatrices<float>(3e-6);
    ExpectProductsWithMatrices<double>(1e-14);
    ExpectProductsWithMatrices<float16>(8e-3);
  });
}

TEST(ResizeKernels, AnInfinityReachesOnlyOutputsThatReadIt) {
  const ResizeAxis w = kernels::AlignedAxis(33, 0, 0, 66), h = kernels::RepeatedAxis(1, 2);
  kernels::OnEveryInstructionSet([&] {
    for (int at = 0; at < w.input; ++at) {
      std::vector<float> x(w.input, 1.f), y(2 * w.output());
      x[at] = std::numeric_limits<float>::infinity();
      kernels::ResizeForward(1, h, w, x.data(), y.data());
      for (int j = 0; j < w.output(); ++j) {
        const bool reads = w.first[j] <= at && at < w.first[j] + w.terms(j);
        EXPECT_EQ(std::isfinite(y[j]), !reads) << at << ", " << j;
      }
    }
  });
}

}  // namespace
}  // namespace caffe
