#ifndef CAFFE_KERNELS_CPU_HALF_ARITHMETIC_HPP_
#define CAFFE_KERNELS_CPU_HALF_ARITHMETIC_HPP_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "caffe/float16.hpp"
#include "caffe/kernels/cpu/simd/vector_kernels.hpp"
#include "chunks.hpp"

namespace caffe::kernels {

/// True for operands that are all float16: HalfLoops serve them.
template <typename... T>
constexpr bool kAreHalves = (std::is_same<T, float16>::value && ...);

inline const uint16_t* BitsOf(const float16* x) { return reinterpret_cast<const uint16_t*>(x); }
inline uint16_t* BitsOf(float16* x) { return reinterpret_cast<uint16_t*>(x); }

/// y = loop(x, z), several threads taking a part each.
inline void OfHalves(size_t n, void (*loop)(size_t, const uint16_t*, const uint16_t*, uint16_t*),
                     const float16* x, const float16* z, float16* y) {
  ParallelFor(n, kLoopGrain, [&](size_t begin, size_t end) {
    loop(end - begin, BitsOf(x + begin), BitsOf(z + begin), BitsOf(y + begin));
  });
}

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_HALF_ARITHMETIC_HPP_
