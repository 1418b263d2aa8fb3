// Squares of stride x stride pixels as one pixel: what cuda/folded_convolution.hpp computes with.
#include "lanes.hpp"
#include "own_convolutions.hpp"

namespace caffe {
namespace cuda {
namespace {

/// Where a pixel of a square lies, along one axis, is index * stride + place - pad.
struct Axis {
  int input, folded, kernel, folded_kernel, stride, pad;
};

Axis AxisOf(const ConvolutionProblem& problem, const ConvolutionProblem& folded, int a) {
  const kernels::ConvolutionShape &s = problem.shape, &f = folded.shape;
  return {s.input[a], f.input[a], s.kernel[a], f.kernel[a], s.stride[a], s.pad[a]};
}

/// to[square of `row_stride` x ... pixels][channels]: at(row, column) of each place of the square,
/// or null for what lies outside.
template <typename T, typename At>
__host__ __device__ void FoldSquare(int rows, int columns, int used, int channels, T* to,
                                    const At& at) {
  int channel = 0;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const T* from = at(row, column);
      for (int c = 0; c < used; ++c) to[channel++] = from ? from[c] : T(0);
    }
  }
  while (channel < channels) to[channel++] = T(0);
}

// Elements are only moved: T is a number of their size.

template <typename T>
void FoldInputAs(Stream& stream, const ConvolutionProblem& problem,
                 const ConvolutionProblem& folded, int used, const void* x, void* to) {
  const Axis y_axis = AxisOf(problem, folded, 0), x_axis = AxisOf(problem, folded, 1);
  const size_t pixel = InputStride(problem);
  const int channels = folded.shape.channels;
  const T* const image = static_cast<const T*>(x);
  T* const squares = static_cast<T*>(to);
  const int count = CountedWork(double(problem.num) * y_axis.folded * x_axis.folded);
  ForEach(stream, count, [=] __host__ __device__(int i) {
    const int column = i % x_axis.folded, row = i / x_axis.folded % y_axis.folded;
    const size_t n = i / x_axis.folded / y_axis.folded;
    FoldSquare(y_axis.stride, x_axis.stride, used, channels, squares + size_t(i) * channels,
               [=](int down, int right) -> const T* {
                 const int at_y = row * y_axis.stride + down - y_axis.pad;
                 const int at_x = column * x_axis.stride + right - x_axis.pad;
                 if (at_y < 0 || at_y >= y_axis.input || at_x < 0 || at_x >= x_axis.input) {
                   return nullptr;
                 }
                 return image + ((n * y_axis.input + at_y) * x_axis.input + at_x) * pixel;
               });
  });
}

template <typename T>
void FoldWeightsAs(Stream& stream, const ConvolutionProblem& problem,
                   const ConvolutionProblem& folded, int used, const void* weights, void* to) {
  const Axis y_axis = AxisOf(problem, folded, 0), x_axis = AxisOf(problem, folded, 1);
  const int given = problem.shape.channels, channels = folded.shape.channels;
  const T* const taps = static_cast<const T*>(weights);
  T* const squares = static_cast<T*>(to);
  const int count = problem.shape.outputs * y_axis.folded_kernel * x_axis.folded_kernel;
  ForEach(stream, count, [=] __host__ __device__(int i) {
    const int column = i % x_axis.folded_kernel;
    const int row = i / x_axis.folded_kernel % y_axis.folded_kernel;
    const size_t output = i / x_axis.folded_kernel / y_axis.folded_kernel;
    FoldSquare(y_axis.stride, x_axis.stride, used, channels, squares + size_t(i) * channels,
               [=](int down, int right) -> const T* {
                 const int at_y = row * y_axis.stride + down;
                 const int at_x = column * x_axis.stride + right;
                 if (at_y >= y_axis.kernel || at_x >= x_axis.kernel) return nullptr;
                 return taps + ((output * y_axis.kernel + at_y) * x_axis.kernel + at_x) * given;
               });
  });
}

}  // namespace

void FoldInput(Stream& stream, const ConvolutionProblem& problem, const ConvolutionProblem& folded,
               int used, const void* x, void* to) {
  const auto fold = SizeOf(problem.input) == 1   ? FoldInputAs<uint8_t>
                    : SizeOf(problem.input) == 2 ? FoldInputAs<uint16_t>
                                                 : FoldInputAs<uint32_t>;
  fold(stream, problem, folded, used, x, to);
}

void FoldWeights(Stream& stream, const ConvolutionProblem& problem,
                 const ConvolutionProblem& folded, int used, const void* weights, void* to) {
  const auto fold = SizeOf(problem.input) == 1   ? FoldWeightsAs<uint8_t>
                    : SizeOf(problem.input) == 2 ? FoldWeightsAs<uint16_t>
                                                 : FoldWeightsAs<uint32_t>;
  fold(stream, problem, folded, used, weights, to);
}

}  // namespace cuda
}  // namespace caffe
