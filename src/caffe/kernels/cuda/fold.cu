// Squares of stride x stride pixels as one pixel, for cuda/folded_convolution.hpp.
#include "lanes.hpp"
#include "own_convolutions.hpp"

namespace caffe::cuda {
namespace {

/// Where a pixel of a square lies, along one axis, is index * stride + place - pad.
struct Axis {
  int input, folded, kernel, folded_kernel, stride, pad;
};

Axis AxisOf(const ConvolutionProblem& problem, const ConvolutionProblem& folded, int a) {
  const kernels::ConvolutionShape &s = problem.shape, &f = folded.shape;
  return {s.input[a], f.input[a], s.kernel[a], f.kernel[a], s.stride[a], s.pad[a]};
}

/// A word of a folded pixel: elements from channel `first` on of a square with `across` pixels per
/// row, each with `used` channels. at(row, column) is where a pixel of the square lies, or null.
template <typename T, typename At>
__host__ __device__ void FoldWord(int rows, int across, int used, int first, T* to, const At& at) {
  constexpr int kElements = 16 / sizeof(T);
  T word[kElements];
  for (int e = 0; e < kElements; ++e) {
    const int pixel = (first + e) / used, channel = (first + e) % used;
    const T* const from = pixel < rows * across ? at(pixel / across, pixel % across) : nullptr;
    word[e] = from ? from[channel] : T(0);
  }
  WriteLanes(word, to);
}

// Elements are only moved: T is a number of their size. Neighbouring threads write neighbouring
// words.

template <typename T>
void FoldInputAs(Stream& stream, const ConvolutionProblem& problem,
                 const ConvolutionProblem& folded, int used, const void* x, void* to) {
  constexpr int kElements = 16 / sizeof(T);
  const Axis down = AxisOf(problem, folded, 0), right = AxisOf(problem, folded, 1);
  const size_t pixel = InputStride(problem);
  const int words = folded.shape.channels / kElements;
  const T* const image = static_cast<const T*>(x);
  T* const squares = static_cast<T*>(to);
  const int count = CountedWork(double(problem.num) * down.folded * right.folded * words);
  ForEach(stream, count, [=] __host__ __device__(int i) {
    const int square = i / words, first = i % words * kElements;
    const int column = square % right.folded, row = square / right.folded % down.folded;
    const size_t n = square / right.folded / down.folded;
    FoldWord(down.stride, right.stride, used, first, squares + size_t(i) * kElements,
             [=](int y, int x) -> const T* {
               const int at_y = row * down.stride + y - down.pad;
               const int at_x = column * right.stride + x - right.pad;
               if (at_y < 0 || at_y >= down.input || at_x < 0 || at_x >= right.input) {
                 return nullptr;
               }
               return image + ((n * down.input + at_y) * right.input + at_x) * pixel;
             });
  });
}

template <typename T>
void FoldWeightsAs(Stream& stream, const ConvolutionProblem& problem,
                   const ConvolutionProblem& folded, int used, const void* weights, void* to) {
  constexpr int kElements = 16 / sizeof(T);
  const Axis down = AxisOf(problem, folded, 0), right = AxisOf(problem, folded, 1);
  const int given = problem.shape.channels, words = folded.shape.channels / kElements;
  const T* const taps = static_cast<const T*>(weights);
  T* const squares = static_cast<T*>(to);
  const int count = problem.shape.outputs * down.folded_kernel * right.folded_kernel * words;
  ForEach(stream, count, [=] __host__ __device__(int i) {
    const int square = i / words, first = i % words * kElements;
    const int column = square % right.folded_kernel;
    const int row = square / right.folded_kernel % down.folded_kernel;
    const size_t output = square / right.folded_kernel / down.folded_kernel;
    FoldWord(down.stride, right.stride, used, first, squares + size_t(i) * kElements,
             [=](int y, int x) -> const T* {
               const int at_y = row * down.stride + y, at_x = column * right.stride + x;
               if (at_y >= down.kernel || at_x >= right.kernel) return nullptr;
               return taps + ((output * down.kernel + at_y) * right.kernel + at_x) * given;
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

}  // namespace caffe::cuda
