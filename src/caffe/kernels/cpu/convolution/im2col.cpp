#include <vector>

#include "caffe/kernels/convolution.hpp"
#include "caffe/kernels/cpu/resize/gather.hpp"

namespace caffe::kernels {
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

/// The requested outputs: all, or a band on the first axis.
struct OutputRange {
  int begin, end;
};

OutputRange WholeOf(const ConvolutionShape& s) { return {0, s.axes() == 0 ? 1 : s.output[0]}; }

int OutputsOn(const ConvolutionShape& s, OutputRange band, int axis) {
  return axis == 0 ? band.end - band.begin : s.output[axis];
}

/// Where on `axis` the first requested output's input lies for a kernel position.
int StartOn(const ConvolutionShape& s, OutputRange band, int axis, const int* kernel_position) {
  return kernel_position[axis] * s.dilation[axis] - s.pad[axis] +
         (axis == 0 ? band.begin * s.stride[axis] : 0);
}

/// Calls row(image offset of the first output's input, column offset) for each run of outputs
/// along the last axis; `inside` is false for runs entirely in the padding. Handles one channel and
/// one kernel position, axis by axis.
template <typename Row>
void WalkRows(const ConvolutionShape& s, OutputRange band, const int* kernel_position, int axis,
              ptrdiff_t image, ptrdiff_t column, bool inside, Row&& row) {
  const int outputs = OutputsOn(s, band, axis);
  if (axis == s.axes() - 1) {
    row(image * s.input[axis], column * outputs, inside);
    return;
  }
  const int start = StartOn(s, band, axis, kernel_position);
  for (int o = 0; o < outputs; ++o) {
    const int i = start + o * s.stride[axis];
    const bool still_inside = inside && i >= 0 && i < s.input[axis];
    WalkRows(s, band, kernel_position, axis + 1, still_inside ? image * s.input[axis] + i : 0,
             column * outputs + o, still_inside, row);
  }
}

/// Calls f(kernel position, its index) for each of one channel's rows of the column matrix.
template <typename Function>
void ForEachKernelPosition(const ConvolutionShape& s, Function&& f) {
  const size_t positions = s.kernel_size();
  std::vector<int> position(s.axes(), 0);
  for (size_t k = 0; k < positions; ++k) {
    f(position.data(), k);
    for (int axis = s.axes() - 1; axis >= 0 && ++position[axis] == s.kernel[axis]; --axis) {
      position[axis] = 0;
    }
  }
}

/// Calls f(channel), several threads taking a part each.
template <typename Function>
void ForEachChannel(const ConvolutionShape& s, int channels, Function&& f) {
  const size_t work = s.kernel_size() * s.output_spatial();
  const size_t grain = std::max<size_t>(1, kLoopGrain / std::max<size_t>(1, work));
  ParallelFor(channels, grain, [&f](size_t begin, size_t end) {
    for (size_t c = begin; c < end; ++c) f(c);
  });
}

}  // namespace

template <typename T, typename C>
void Im2colBand(const ConvolutionShape& s, int channels, int begin, int end, const T* image,
                C* column) {
  const OutputRange band = {begin, end};
  const int last = s.axes() - 1;
  if (last < 0) return Convert(channels, image, column);
  const size_t inputs = s.input_spatial(), positions = s.kernel_size();
  const size_t outputs = s.output_spatial() / std::max(1, s.output[0]) * (end - begin);
  const int row_outputs = OutputsOn(s, band, last), stride = s.stride[last];
  ForEachChannel(s, channels, [&](size_t c) {
    ForEachKernelPosition(s, [&](const int* position, size_t k) {
      const int start = StartOn(s, band, last, position);
      const Range in = InsideOf(start, stride, s.input[last], row_outputs);
      C* target = column + (c * positions + k) * outputs;
      WalkRows(s, band, position, 0, 0, 0, true, [&](ptrdiff_t from, ptrdiff_t to, bool inside) {
        C* row = target + to;
        if (!inside || in.begin == in.end) {
          std::fill_n(row, row_outputs, C(0.f));
          return;
        }
        const T* first = image + c * inputs + from + start + ptrdiff_t(in.begin) * stride;
        std::fill_n(row, in.begin, C(0.f));
        Gather(in.end - in.begin, first, stride, row + in.begin);
        std::fill(row + in.end, row + row_outputs, C(0.f));
      });
    });
  });
}

template <typename T, typename C>
void Im2col(const ConvolutionShape& s, int channels, const T* image, C* column) {
  const OutputRange all = WholeOf(s);
  Im2colBand(s, channels, all.begin, all.end, image, column);
}

namespace {

/// plane += the columns of one channel.
template <typename C, typename F>
void AddColumns(const ConvolutionShape& s, const C* column, F* plane) {
  const OutputRange band = WholeOf(s);
  const int last = s.axes() - 1;
  if (last < 0) {
    *plane += static_cast<F>(*column);
    return;
  }
  const size_t outputs = s.output_spatial();
  const int stride = s.stride[last];
  ForEachKernelPosition(s, [&](const int* position, size_t k) {
    const int start = StartOn(s, band, last, position);
    const Range in = InsideOf(start, stride, s.input[last], s.output[last]);
    WalkRows(s, band, position, 0, 0, 0, true, [&](ptrdiff_t to, ptrdiff_t from, bool inside) {
      if (!inside) return;
      const C* row = column + k * outputs + from;
      F* target = plane + to;
      for (int o = in.begin; o < in.end; ++o) {
        target[start + ptrdiff_t(o) * stride] += static_cast<F>(row[o]);
      }
    });
  });
}

}  // namespace

template <typename C, typename T>
void Col2im(const ConvolutionShape& s, int channels, const C* column, T* image,
            const AccumulatorType<T>* start) {
  using F = AccumulatorType<T>;
  const size_t inputs = s.input_spatial();
  const size_t columns = s.kernel_size() * s.output_spatial();
  ForEachChannel(s, channels, [&](size_t c) {
    const auto add = [&](F* plane) {
      std::fill_n(plane, inputs, start ? start[c] : F(0));
      AddColumns(s, column + c * columns, plane);
    };
    if constexpr (std::is_same<F, T>::value) {
      add(image + c * inputs);
    } else {
      std::vector<F> plane(inputs);
      add(plane.data());
      Convert(inputs, plane.data(), image + c * inputs);
    }
  });
}

#define CAFFE_IM2COL(T, C)                                                        \
  template void Im2col(const ConvolutionShape&, int, const T*, C*);               \
  template void Im2colBand(const ConvolutionShape&, int, int, int, const T*, C*); \
  template void Col2im(const ConvolutionShape&, int, const C*, T*, const AccumulatorType<T>*)
CAFFE_IM2COL(float, float);
CAFFE_IM2COL(double, double);
CAFFE_IM2COL(float16, float16);
CAFFE_IM2COL(float16, float);
#undef CAFFE_IM2COL

}  // namespace caffe::kernels
