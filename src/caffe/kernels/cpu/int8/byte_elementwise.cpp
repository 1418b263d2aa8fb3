#include "caffe/kernels/byte_elementwise.hpp"

#include <algorithm>
#include <type_traits>

#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/cpu/elementwise/chunks.hpp"
#include "caffe/kernels/cpu/simd/vector_kernels.hpp"

namespace caffe::kernels {
namespace {

void Load(const ScaledBytes& x, size_t offset, size_t n, float* y) {
  const QuantizeLoops& loops = ChosenKernels().quantize;
  if (x.is_unsigned) {
    loops.from_uint8(n, x.scale, 0, static_cast<const uint8_t*>(x.data) + offset, y);
  } else {
    loops.from_int8(n, x.scale, 0, static_cast<const int8_t*>(x.data) + offset, y);
  }
}

void Combine(Combination combination, size_t n, const float* x, float* y) {
  switch (combination) {
    case Combination::SUM:
      return Loops<float>().add(n, y, x, y);
    case Combination::PRODUCT:
      return Loops<float>().multiply(n, y, x, y);
    case Combination::MAXIMUM:
      return Loops<float>().maximum(n, y, x, y);
  }
}

}  // namespace

template <typename Y>
void CombineBytes(Combination combination, size_t n, const std::vector<ScaledBytes>& x,
                  float factor, Y* y) {
  ForEachChunk(n, [&](size_t offset, size_t length) {
    float sum[kChunk], next[kChunk];
    Load(x[0], offset, length, sum);
    for (size_t i = 1; i < x.size(); ++i) {
      Load(x[i], offset, length, next);
      Combine(combination, length, next, sum);
    }
    if constexpr (std::is_same<Y, int8_t>::value) {
      ChosenKernels().quantize.to_int8(length, factor, 0, sum, y + offset);
    } else {
      ChosenKernels().quantize.to_uint8(length, factor, 0, sum, y + offset);
    }
  });
}

template void CombineBytes(Combination, size_t, const std::vector<ScaledBytes>&, float, int8_t*);
template void CombineBytes(Combination, size_t, const std::vector<ScaledBytes>&, float, uint8_t*);

void LookUpBytes(size_t num, size_t channels, size_t spatial, size_t block, bool by_channel,
                 const uint8_t* tables, const uint8_t* x, uint8_t* y) {
  constexpr size_t kTable = 256;
  const size_t blocks = CeilDiv(channels, block);
  const size_t run = std::max<size_t>(1, kLoopGrain / block), runs = CeilDiv(spatial, run);
  ParallelFor(num * blocks * runs, 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t plane = i / runs, first = i % runs * run, b = plane % blocks;
      const size_t pixels = std::min(run, spatial - first),
                   used = std::min(block, channels - b * block);
      const size_t at = (plane * spatial + first) * block;
      const uint8_t* from = x + at;
      uint8_t* to = y + at;
      if (!by_channel && used == block) {
        for (size_t k = 0; k < pixels * block; ++k) to[k] = tables[from[k]];
        continue;
      }
      const uint8_t* table = by_channel ? tables + b * block * kTable : tables;
      const size_t step = by_channel ? kTable : 0;
      for (size_t s = 0; s < pixels; ++s, from += block, to += block) {
        for (size_t c = 0; c < used; ++c) to[c] = table[c * step + from[c]];
        std::fill(to + used, to + block, uint8_t(0));
      }
    }
  });
}

}  // namespace caffe::kernels
