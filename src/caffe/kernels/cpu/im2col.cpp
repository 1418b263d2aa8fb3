#include <algorithm>
#include <cstring>

#include "caffe/kernels/convolution.hpp"

namespace caffe {
namespace kernels {
namespace {

/// The outputs o in [0, outputs) for which start + o * stride lies in [0, inputs).
struct Range {
  int begin, end;
};

Range InsideOf(int start, int stride, int inputs, int outputs) {
  const int begin = start >= 0 ? 0 : (-start + stride - 1) / stride;
  const int end = start >= inputs ? 0 : (inputs - start - 1) / stride + 1;
  return {std::min(begin, outputs), std::max(std::min(end, outputs), std::min(begin, outputs))};
}

/// Calls row(image offset of the first output's input, column offset) for each run of outputs
/// along the last axis; `inside` is false for runs that lie in the padding altogether. Walks one
/// channel and one kernel position, axis by axis.
template <typename Row>
void WalkRows(const ConvolutionShape& s, const int* kernel_position, int axis, ptrdiff_t image,
              ptrdiff_t column, bool inside, Row&& row) {
  if (axis == s.axes() - 1) {
    row(image * s.input[axis], column * s.output[axis], inside);
    return;
  }
  const int start = kernel_position[axis] * s.dilation[axis] - s.pad[axis];
  for (int o = 0; o < s.output[axis]; ++o) {
    const int i = start + o * s.stride[axis];
    const bool still_inside = inside && i >= 0 && i < s.input[axis];
    WalkRows(s, kernel_position, axis + 1, still_inside ? image * s.input[axis] + i : 0,
             column * s.output[axis] + o, still_inside, row);
  }
}

/// Calls f(channel, kernel position, its index) for each row of the column matrix.
template <typename Function>
void ForEachColumnRow(const ConvolutionShape& s, int channels, Function&& f) {
  const size_t positions = s.kernel_size();
  std::vector<int> position(s.axes());
  for (int c = 0; c < channels; ++c) {
    std::fill(position.begin(), position.end(), 0);
    for (size_t k = 0; k < positions; ++k) {
      f(c, position.data(), c * positions + k);
      for (int axis = s.axes() - 1; axis >= 0 && ++position[axis] == s.kernel[axis]; --axis) {
        position[axis] = 0;
      }
    }
  }
}

template <typename T>
void GatherRow(const T* image, int start, int stride, Range in, int outputs, T* column) {
  std::fill(column, column + in.begin, T(0.f));
  if (stride == 1) {
    std::memcpy(column + in.begin, image + (start + in.begin), (in.end - in.begin) * sizeof(T));
  } else {
    for (int o = in.begin; o < in.end; ++o) column[o] = image[start + o * stride];
  }
  std::fill(column + in.end, column + outputs, T(0.f));
}

}  // namespace

template <typename T>
void Im2col(const ConvolutionShape& s, int channels, const T* image, T* column) {
  const int last = s.axes() - 1;
  const size_t input_spatial = s.input_spatial();
  const size_t output_spatial = s.output_spatial();
  ForEachColumnRow(s, channels, [&](int c, const int* position, size_t index) {
    const int start = position[last] * s.dilation[last] - s.pad[last];
    const Range in = InsideOf(start, s.stride[last], s.input[last], s.output[last]);
    WalkRows(s, position, 0, 0, 0, true, [&](ptrdiff_t from, ptrdiff_t to, bool inside) {
      T* row = column + index * output_spatial + to;
      if (inside) {
        GatherRow(image + c * input_spatial + from, start, s.stride[last], in, s.output[last], row);
      } else {
        std::fill(row, row + s.output[last], T(0.f));
      }
    });
  });
}

template <typename T>
void Col2im(const ConvolutionShape& s, int channels, const T* column, T* image) {
  const int last = s.axes() - 1;
  const size_t input_spatial = s.input_spatial();
  const size_t output_spatial = s.output_spatial();
  std::fill(image, image + channels * input_spatial, T(0.f));
  ForEachColumnRow(s, channels, [&](int c, const int* position, size_t index) {
    const int start = position[last] * s.dilation[last] - s.pad[last];
    const int stride = s.stride[last];
    const Range in = InsideOf(start, stride, s.input[last], s.output[last]);
    WalkRows(s, position, 0, 0, 0, true, [&](ptrdiff_t to, ptrdiff_t from, bool inside) {
      if (!inside) return;
      const T* row = column + index * output_spatial + from;
      T* target = image + c * input_spatial + to;
      for (int o = in.begin; o < in.end; ++o) target[start + o * stride] += row[o];
    });
  });
}

#define CAFFE_IM2COL(T)                                             \
  template void Im2col(const ConvolutionShape&, int, const T*, T*); \
  template void Col2im(const ConvolutionShape&, int, const T*, T*)
CAFFE_IM2COL(float);
CAFFE_IM2COL(double);
CAFFE_IM2COL(float16);
#undef CAFFE_IM2COL

}  // namespace kernels
}  // namespace caffe
