#include "caffe/kernels/quantize.hpp"

#include <algorithm>
#include <atomic>
#include <type_traits>

#include "caffe/kernels/cpu/elementwise/chunks.hpp"
#include "caffe/kernels/cpu/simd/vector_kernels.hpp"

namespace caffe::kernels {
namespace {

template <typename Q>
auto ToInteger() {
  if constexpr (std::is_same<Q, int8_t>::value) {
    return ChosenKernels().quantize.to_int8;
  } else {
    return ChosenKernels().quantize.to_uint8;
  }
}

template <typename Q>
auto FromInteger() {
  if constexpr (std::is_same<Q, int8_t>::value) {
    return ChosenKernels().quantize.from_int8;
  } else {
    return ChosenKernels().quantize.from_uint8;
  }
}

/// Calls f(offset, channel) for each row of `inner` elements of (groups, outer, channels, inner).
template <typename Function>
void ForEachRun(size_t groups, size_t outer, size_t channels, size_t inner, Function&& f) {
  const size_t grain = std::max<size_t>(1, kLoopGrain / std::max<size_t>(inner, 1));
  ParallelFor(groups * outer * channels, grain, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      f(row * inner, row / (outer * channels) * channels + row % channels);
    }
  });
}

}  // namespace

template <typename Q>
void Quantize(size_t n, float factor, const float* x, Q* y, int zero_point) {
  const auto loop = ToInteger<Q>();
  ParallelFor(n, kLoopGrain, [&](size_t begin, size_t end) {
    loop(end - begin, factor, zero_point, x + begin, y + begin);
  });
}

template <typename Q>
void Dequantize(size_t n, float scale, const Q* q, float* y, int zero_point) {
  const auto loop = FromInteger<Q>();
  ParallelFor(n, kLoopGrain, [&](size_t begin, size_t end) {
    loop(end - begin, scale, zero_point, q + begin, y + begin);
  });
}

template <typename Q>
void FakeQuantize(size_t n, float scale, const float* x, float* y) {
  const auto there = ToInteger<Q>();
  const auto back = FromInteger<Q>();
  ForEachChunk(n, [&](size_t offset, size_t length) {
    Q integers[kChunk];
    there(length, 1 / scale, 0, x + offset, integers);
    back(length, scale, 0, integers, y + offset);
  });
}

void QuantizeChannels(size_t groups, size_t outer, size_t channels, size_t inner,
                      const float* factors, const float* x, int8_t* y) {
  const auto loop = ChosenKernels().quantize.to_int8;
  ForEachRun(groups, outer, channels, inner, [&](size_t offset, size_t channel) {
    loop(inner, factors[channel], 0, x + offset, y + offset);
  });
}

void DequantizeChannels(size_t groups, size_t outer, size_t channels, size_t inner,
                        const float* scales, const int8_t* q, float* y) {
  const auto loop = ChosenKernels().quantize.from_int8;
  ForEachRun(groups, outer, channels, inner, [&](size_t offset, size_t channel) {
    loop(inner, scales[channel], 0, q + offset, y + offset);
  });
}

ValueSummary Summarize(size_t n, const float* x) {
  ValueSummary summary;
  ChosenKernels().quantize.summarize(n, x, &summary);
  return summary;
}

void MagnitudeBins(size_t n, float factor, const float* x, int32_t* y) {
  ChosenKernels().quantize.bins(n, factor, x, y);
}

bool LargestPerChannel(size_t groups, size_t outer, size_t channels, size_t inner, const float* x,
                       float* largest) {
  std::atomic<bool> finite{true};
  const size_t grain = std::max<size_t>(1, kLoopGrain / std::max<size_t>(outer * inner, 1));
  ParallelFor(groups * channels, grain, [&](size_t begin, size_t end) {
    for (size_t c = begin; c < end; ++c) {
      const size_t group = c / channels, channel = c % channels;
      largest[c] = 0;
      for (size_t o = 0; o < outer; ++o) {
        const size_t row = (group * outer + o) * channels + channel;
        const ValueSummary summary = Summarize(inner, x + row * inner);
        largest[c] = std::max(largest[c], summary.largest);
        if (summary.infinite + summary.not_a_number > 0) finite = false;
      }
    }
  });
  return finite;
}

#define CAFFE_QUANTIZE(Q)                                         \
  template void Quantize(size_t, float, const float*, Q*, int);   \
  template void Dequantize(size_t, float, const Q*, float*, int); \
  template void FakeQuantize<Q>(size_t, float, const float*, float*)
CAFFE_QUANTIZE(int8_t);
CAFFE_QUANTIZE(uint8_t);
#undef CAFFE_QUANTIZE

}  // namespace caffe::kernels
