// Axes of resampling as matrices.
#include <gtest/gtest.h>

#include <vector>

#include "caffe/kernels/resize.hpp"

namespace caffe {
namespace {

using kernels::ResizeAxis;

/// Row i has the weights of output i.
std::vector<std::vector<double>> MatrixOf(const ResizeAxis& axis) {
  std::vector<std::vector<double>> matrix(axis.output(), std::vector<double>(axis.input, 0.));
  for (int i = 0; i < axis.output(); ++i) {
    for (int k = 0; k < axis.terms(i); ++k) {
      matrix[i][axis.first[i] + k] = axis.weights[axis.start[i] + k];
    }
  }
  return matrix;
}

TEST(ResizeAxis, IsTransposed) {
  using kernels::ResampleFilter;
  for (const ResizeAxis& axis :
       {kernels::AlignedAxis(5, 0, 0, 9), kernels::AlignedAxis(9, 2, 1, 4),
        kernels::AlignedAxis(4, 0, 0, 1), kernels::AlignedAxis(1, 0, 0, 3),
        kernels::RepeatedAxis(4, 3), kernels::ResampledAxis(ResampleFilter::NEAREST, 7, 3, 1, true),
        kernels::ResampledAxis(ResampleFilter::LINEAR, 12, 5, 2, true),
        kernels::ResampledAxis(ResampleFilter::CUBIC, 5, 12, 0.5f, false)}) {
    const std::vector<std::vector<double>> matrix = MatrixOf(axis);
    const ResizeAxis transposed = axis.Transposed();
    ASSERT_EQ(transposed.input, axis.output());
    ASSERT_EQ(transposed.output(), axis.input);
    const std::vector<std::vector<double>> other = MatrixOf(transposed);
    for (int i = 0; i < axis.output(); ++i) {
      for (int k = 0; k < axis.input; ++k) EXPECT_EQ(other[k][i], matrix[i][k]) << i << ", " << k;
    }
  }
}

}  // namespace
}  // namespace caffe
