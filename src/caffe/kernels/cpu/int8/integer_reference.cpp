#include "caffe/kernels/integer_reference.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "caffe/error.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/parallel.hpp"

namespace caffe::kernels {
namespace {

constexpr size_t kExact = 1 << 14;          // 17-bit products whose sum fits 32 bits
constexpr size_t kPositions = 32;           // patches that are gathered at a time
constexpr size_t kGrainProducts = 1 << 14;  // products worth a thread

template <typename X, typename W>
int64_t SumOfProducts(size_t count, const X* x, const W* w, int32_t weight_zero_point) {
  int64_t sum = 0;
  for (size_t begin = 0; begin < count; begin += kExact) {
    const size_t end = std::min(count, begin + kExact);
    int32_t part = 0;
    for (size_t k = begin; k < end; ++k) part += int32_t{x[k]} * (w[k] - weight_zero_point);
    sum += part;
  }
  return sum;
}

/// Rescaled of a sum of `count` products; checks that it fits.
int32_t Output(const Rescaling& by, size_t output, int64_t sum, size_t count) {
  const int64_t total = sum + by.bias[output];
  RequireTotalFits(total < 0 ? -(total + 1) : total, count);
  return Rescaled(by, static_cast<int>(output), static_cast<int32_t>(static_cast<uint32_t>(sum)));
}

/// Byte i of the output with the residual, if any, added to y.
int32_t WithResidual(const Residual* residual, size_t i, int32_t y) {
  if (!residual) return y;
  const IntegerOperand r = {residual->data, residual->is_unsigned, 0};
  return residual->sum.Of(y, r.At(i));
}

/// Where the positions of a kernel lie in the input's plane, for an output position; -1: nowhere.
std::vector<ptrdiff_t> Taps(const ConvolutionShape& s, bool transposed, size_t position) {
  std::vector<ptrdiff_t> taps(s.kernel_size());
  for (size_t k = 0; k < taps.size(); ++k) {
    ptrdiff_t place = 0, stride = 1;
    size_t rest_of_kernel = k, rest = position;
    for (int axis = s.axes() - 1; axis >= 0; --axis) {
      const int tap = static_cast<int>(rest_of_kernel % s.kernel[axis]) * s.dilation[axis];
      const int out = static_cast<int>(rest % s.output[axis]);
      rest_of_kernel /= s.kernel[axis];
      rest /= s.output[axis];
      const int moved =
          transposed ? out + s.pad[axis] - tap : out * s.stride[axis] - s.pad[axis] + tap;
      const bool meets = !transposed || moved % s.stride[axis] == 0;
      const int in = transposed ? moved / s.stride[axis] : moved;
      if (!meets || moved < 0 || in >= s.input[axis]) {
        place = -1;
        break;
      }
      place += in * stride;
      stride *= s.input[axis];
    }
    taps[k] = place;
  }
  return taps;
}

/// A convolution of either kind, with weights (outputs, channels / group, kernel...).
template <typename X, typename W, typename Y>
void Convolve(const ConvolutionShape& s, bool transposed, size_t num, const X* x, const W* weights,
              int32_t weight_zero_point, const Rescaling& by, Y* y,
              const Residual* residual = nullptr) {
  const size_t positions = s.output_spatial(), plane = s.input_spatial(), taps = s.kernel_size();
  const size_t channels = s.channels / s.group, outputs = s.outputs / s.group;
  const size_t count = channels * taps;
  const size_t blocks = CeilDiv(positions, kPositions);
  const size_t grain =
      std::max<size_t>(1, kGrainProducts / std::max<size_t>(1, kPositions * count * outputs));
  ParallelFor(num * s.group * blocks, grain, [&](size_t begin, size_t end) {
    std::vector<X> patches(kPositions * count);
    for (size_t i = begin; i < end; ++i) {
      const size_t first = i % blocks * kPositions, group = i / blocks % s.group;
      const size_t image = i / blocks / s.group;
      const size_t some = std::min(kPositions, positions - first);
      const X* from = x + (image * s.channels + group * channels) * plane;
      for (size_t p = 0; p < some; ++p) {
        const std::vector<ptrdiff_t> places = Taps(s, transposed, first + p);
        X* patch = patches.data() + p * count;
        for (size_t c = 0; c < channels; ++c) {
          for (size_t k = 0; k < taps; ++k) {
            patch[c * taps + k] =
                places[k] < 0 ? static_cast<X>(by.input_zero_point) : from[c * plane + places[k]];
          }
        }
      }
      for (size_t o = group * outputs; o < (group + 1) * outputs; ++o) {
        const size_t to = (image * s.outputs + o) * positions + first;
        for (size_t p = 0; p < some; ++p) {
          const int64_t sum = SumOfProducts(count, patches.data() + p * count, weights + o * count,
                                            weight_zero_point);
          y[to + p] = static_cast<Y>(WithResidual(residual, to + p, Output(by, o, sum, count)));
        }
      }
    }
  });
}

}  // namespace

void RequireTotalFits(int64_t largest, size_t inputs) {
  Require(largest <= std::numeric_limits<int32_t>::max(),
          "more than 31 bits of sum possible: ", inputs, " inputs and their bias make up to ",
          largest, ": keep the layer in float, or split its inputs over layers");
}

template <typename X, typename W, typename Y>
void IntegerConvolution(const ConvolutionShape& shape, size_t num, const X* x, const W* weights,
                        int32_t weight_zero_point, const Rescaling& by, Y* y,
                        const Residual* residual) {
  Convolve(shape, false, num, x, weights, weight_zero_point, by, y, residual);
}

template <typename W>
void TransposeDeconvolution(const ConvolutionShape& shape, const W* weights, W* transposed) {
  const size_t taps = shape.kernel_size(), channels = shape.channels / shape.group;
  const size_t outputs = shape.outputs / shape.group;
  for (size_t c = 0; c < size_t(shape.channels); ++c) {
    for (size_t o = 0; o < outputs; ++o) {
      std::copy_n(weights + (c * outputs + o) * taps, taps,
                  transposed + ((c / channels * outputs + o) * channels + c % channels) * taps);
    }
  }
}

template <typename X, typename W, typename Y>
void IntegerDeconvolution(const ConvolutionShape& shape, size_t num, const X* x, const W* weights,
                          int32_t weight_zero_point, const Rescaling& by, Y* y) {
  std::vector<W> transposed(shape.channels * (shape.outputs / shape.group) * shape.kernel_size());
  TransposeDeconvolution(shape, weights, transposed.data());
  Convolve(shape, true, num, x, transposed.data(), weight_zero_point, by, y);
}

template <typename X, typename W, typename Y>
void IntegerInnerProduct(size_t rows, size_t inputs, size_t outputs, const X* x, const W* weights,
                         int32_t weight_zero_point, const Rescaling& by, Y* y) {
  const size_t grain = std::max<size_t>(1, kGrainProducts / std::max<size_t>(1, inputs * rows));
  ParallelFor(outputs, grain, [&](size_t begin, size_t end) {
    for (size_t o = begin; o < end; ++o) {
      for (size_t row = 0; row < rows; ++row) {
        const int64_t sum =
            SumOfProducts(inputs, x + row * inputs, weights + o * inputs, weight_zero_point);
        y[row * outputs + o] = static_cast<Y>(Output(by, o, sum, inputs));
      }
    }
  });
}

template <typename W>
int32_t FoldZeroPoint(size_t count, const W* weights, int32_t weight_zero_point,
                      int32_t input_zero_point, int32_t bias) {
  int64_t sum = 0;
  for (size_t k = 0; k < count; ++k) sum += weights[k] - weight_zero_point;
  const int64_t folded = bias - input_zero_point * sum;
  Require(
      folded >= std::numeric_limits<int32_t>::min() &&
          folded <= std::numeric_limits<int32_t>::max(),
      "the bias ", bias, " less the input's zero point ", input_zero_point, " times the sum ", sum,
      " of ", count,
      " weights does not fit 32 bits: keep the layer in float, or give its input a wider range");
  return static_cast<int32_t>(folded);
}

#define CAFFE_INTEGER_REFERENCE_OF(X, W, Y)                                                        \
  template void IntegerConvolution(const ConvolutionShape&, size_t, const X*, const W*, int32_t,   \
                                   const Rescaling&, Y*, const Residual*);                         \
  template void IntegerDeconvolution(const ConvolutionShape&, size_t, const X*, const W*, int32_t, \
                                     const Rescaling&, Y*);                                        \
  template void IntegerInnerProduct(size_t, size_t, size_t, const X*, const W*, int32_t,           \
                                    const Rescaling&, Y*)
#define CAFFE_INTEGER_REFERENCE(W)                                             \
  CAFFE_INTEGER_REFERENCE_OF(int8_t, W, int8_t);                               \
  CAFFE_INTEGER_REFERENCE_OF(int8_t, W, uint8_t);                              \
  CAFFE_INTEGER_REFERENCE_OF(uint8_t, W, int8_t);                              \
  CAFFE_INTEGER_REFERENCE_OF(uint8_t, W, uint8_t);                             \
  template void TransposeDeconvolution(const ConvolutionShape&, const W*, W*); \
  template int32_t FoldZeroPoint(size_t, const W*, int32_t, int32_t, int32_t)
CAFFE_INTEGER_REFERENCE(int8_t);
CAFFE_INTEGER_REFERENCE(uint8_t);
#undef CAFFE_INTEGER_REFERENCE
#undef CAFFE_INTEGER_REFERENCE_OF

}  // namespace caffe::kernels
