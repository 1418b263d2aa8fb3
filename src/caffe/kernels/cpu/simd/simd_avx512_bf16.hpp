#ifndef CAFFE_KERNELS_CPU_SIMD_AVX512_BF16_HPP_
#define CAFFE_KERNELS_CPU_SIMD_AVX512_BF16_HPP_

#include "simd_avx512.hpp"

// Products of two bfloat16 numbers with their sum in one instruction, which takes subnormals for
// zeros.
namespace caffe::kernels::avx512_bf16 {
namespace {

struct Simd : avx512::Simd {
  static constexpr bool kRoundsBFloat16 = true;

  CAFFE_SIMD Unsigned BroadcastPair(const uint16_t* x) {
    Unsigned pairs;
    __asm__("vpbroadcastd %1, %0" : "=v"(pairs) : "m"(*reinterpret_cast<const uint32_t*>(x)));
    return pairs;
  }
  /// As AddProduct.
  CAFFE_SIMD void AddPairProducts(const Unsigned& x, const Unsigned& y, Lanes* sum) {
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(*sum) : "v"(x), "v"(y));
  }
  CAFFE_SIMD Unsigned RoundedPairs(const Lanes& x, const Lanes& y) {
    const __m512i low = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh((__m512)x));
    const __m512i high = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh((__m512)y));
    return (Unsigned)_mm512_or_si512(low, _mm512_slli_epi32(high, 16));
  }
  CAFFE_SIMD void StoreInTurns(const Unsigned& x, const Unsigned& y, uint16_t* to) {
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
    _mm512_storeu_si512(to, _mm512_permutex2var_epi32((__m512i)x, low, (__m512i)y));
    _mm512_storeu_si512(to + 32, _mm512_permutex2var_epi32((__m512i)x, high, (__m512i)y));
  }
  template <typename From>
  CAFFE_SIMD void StoreBFloat16s(const From& lanes, uint16_t* y) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), (__m256i)_mm512_cvtneps_pbh((__m512)lanes));
  }
};

}  // namespace
}  // namespace caffe::kernels::avx512_bf16

#endif  // CAFFE_KERNELS_CPU_SIMD_AVX512_BF16_HPP_
