#include "caffe/kernels/byte_deconvolution.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "caffe/kernels/pointwise.hpp"
#include "chunks.hpp"
#include "vector_kernels.hpp"

// A row of the output at a time: every row of the input that touches it is widened to floats and
// added, pixel by pixel, where its taps fall.
namespace caffe {
namespace kernels {
namespace {

void Widen(size_t n, float scale, const uint8_t* x, float* y) {
  ChosenKernels().quantize.from_uint8(n, scale, x, y);
}
void Widen(size_t n, float scale, const int8_t* x, float* y) {
  ChosenKernels().quantize.from_int8(n, scale, x, y);
}

template <typename Y>
void Narrow(size_t n, float factor, const float* x, Y* y) {
  if constexpr (std::is_same<Y, float>::value) {
    std::memcpy(y, x, n * sizeof(float));
  } else if constexpr (std::is_same<Y, int8_t>::value) {
    ChosenKernels().quantize.to_int8(n, factor, x, y);
  } else {
    ChosenKernels().quantize.to_uint8(n, factor, x, y);
  }
}

/// The pixels of an input row that tap `offset` brings to pixels of an output row: [first, last).
struct Span {
  int first, last;
};

Span SpanOf(int offset, int stride, int width, int out_width) {
  const int first = offset < 0 ? (-offset + stride - 1) / stride : 0;
  const int behind = out_width - offset;
  const int last = behind <= 0 ? 0 : std::min(width, (behind + stride - 1) / stride);
  return {first, last};
}

template <int kBlock>
void AddTap(const Span& span, int offset, int stride, const float* weights, const float* x,
            float* sums) {
  float* to = sums + (ptrdiff_t(span.first) * stride + offset) * kBlock;
  const float* from = x + ptrdiff_t(span.first) * kBlock;
  for (int i = span.first; i < span.last; ++i, from += kBlock, to += ptrdiff_t(stride) * kBlock) {
    for (int c = 0; c < kBlock; ++c) to[c] += weights[c] * from[c];
  }
}

template <int kBlock, typename X, typename Y>
class Rows {
 public:
  Rows(const ByteDeconvolutionShape& shape, float x_scale, const float* weights,
       const ByteDeconvolutionEnd& end)
      : s_(shape),
        x_scale_(x_scale),
        weights_(weights),
        end_(end),
        x_(size_t(shape.width) * kBlock),
        sums_(size_t(shape.out_width) * kBlock) {}

  /// Row `row` of block b of the channels; x is that block's plane.
  void Compute(int b, int row, const X* x, Y* y) {
    for (int i = 0; i < s_.out_width; ++i) {
      std::copy_n(end_.bias + b * kBlock, kBlock, sums_.data() + ptrdiff_t(i) * kBlock);
    }
    for (int k = 0; k < s_.kernel[0]; ++k) {
      const int place = row + s_.pad[0] - k * s_.dilation[0];
      if (place < 0 || place % s_.stride[0] != 0 || place / s_.stride[0] >= s_.height) continue;
      Widen(x_.size(), x_scale_, x + size_t(place / s_.stride[0]) * x_.size(), x_.data());
      AddRow(weights_ + (size_t(b) * s_.kernel[0] + k) * s_.kernel[1] * kBlock);
    }
    const size_t used = std::min(kBlock, s_.channels - b * kBlock);
    FusedFunction function = end_.function;
    if (function.slopes) function.slopes += b * kBlock;
    FinishInPlace(1, used, s_.out_width, kBlock, end_.activation, function, sums_.data());
    Narrow(sums_.size(), end_.factor, sums_.data(), y);
  }

 private:
  void AddRow(const float* weights) {
    for (int k = 0; k < s_.kernel[1]; ++k) {
      const int offset = k * s_.dilation[1] - s_.pad[1];
      AddTap<kBlock>(SpanOf(offset, s_.stride[1], s_.width, s_.out_width), offset, s_.stride[1],
                     weights + size_t(k) * kBlock, x_.data(), sums_.data());
    }
  }

  const ByteDeconvolutionShape& s_;
  const float x_scale_;
  const float* const weights_;
  const ByteDeconvolutionEnd& end_;
  std::vector<float> x_, sums_;
};

template <int kBlock, typename X, typename Y>
void Run(const ByteDeconvolutionShape& s, float x_scale, const X* x, const float* weights,
         const ByteDeconvolutionEnd& end, Y* y) {
  const size_t blocks = (s.channels + kBlock - 1) / kBlock;
  const size_t row = size_t(s.out_width) * kBlock, plane = size_t(s.height) * s.width * kBlock;
  const size_t grain = std::max<size_t>(1, kLoopGrain / std::max<size_t>(1, row));
  ParallelFor(s.num * blocks * s.out_height, grain, [&](size_t begin, size_t last) {
    Rows<kBlock, X, Y> rows(s, x_scale, weights, end);
    for (size_t i = begin; i < last; ++i) {
      const size_t at = i / s.out_height;
      rows.Compute(static_cast<int>(at % blocks), static_cast<int>(i % s.out_height),
                   x + at * plane, y + i * row);
    }
  });
}

}  // namespace

template <typename X, typename Y>
void ByteDeconvolution(const ByteDeconvolutionShape& shape, int block, float x_scale, const X* x,
                       const float* weights, const ByteDeconvolutionEnd& end, Y* y) {
  block == 8 ? Run<8>(shape, x_scale, x, weights, end, y)
             : Run<16>(shape, x_scale, x, weights, end, y);
}

#define CAFFE_DECONVOLUTION(X, Y)                                                      \
  template void ByteDeconvolution(const ByteDeconvolutionShape&, int, float, const X*, \
                                  const float*, const ByteDeconvolutionEnd&, Y*)
CAFFE_DECONVOLUTION(int8_t, float);
CAFFE_DECONVOLUTION(int8_t, int8_t);
CAFFE_DECONVOLUTION(int8_t, uint8_t);
CAFFE_DECONVOLUTION(uint8_t, float);
CAFFE_DECONVOLUTION(uint8_t, int8_t);
CAFFE_DECONVOLUTION(uint8_t, uint8_t);
#undef CAFFE_DECONVOLUTION

}  // namespace kernels
}  // namespace caffe
