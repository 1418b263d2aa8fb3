#ifndef CAFFE_KERNELS_CPU_SIMD_AVX512_VNNI_HPP_
#define CAFFE_KERNELS_CPU_SIMD_AVX512_VNNI_HPP_

#include "simd_avx512.hpp"

// Products of pairs and of four bytes with their sum in one instruction: the same bits.
namespace caffe::kernels::avx512_vnni {
namespace {

struct Simd : avx512::Simd {
  static constexpr bool kHasByteProducts = true;
  static constexpr bool kByteProductsSaturate = false;
  static constexpr int kByteDepthwiseRows = 2;

  CAFFE_SIMD Integers AddWords(const Integers& sums, const __m512i& x, const __m512i& y) {
    return (Integers)_mm512_dpwssd_epi32((__m512i)sums, x, y);
  }
  template <typename Weight>
  CAFFE_SIMD Integers AddPairs(const Integers& sums, const Weight* weights, const int16_t* x) {
    return AddWords(sums, LoadWords(weights), AllPairs(x));
  }
  CAFFE_SIMD Integers TwoProducts(int32_t start, const Integers& x, const Integers& y,
                                  const int16_t (&factors)[2]) {
    return AddWords(Integers{} + start, AllPairs(factors), PairsOf(x, y));
  }
  CAFFE_SIMD Integers AddFourProducts(const Integers& sums, const Unsigned& x,
                                      const Unsigned& weights) {
    return (Integers)_mm512_dpbusd_epi32((__m512i)sums, (__m512i)x, (__m512i)weights);
  }
  typedef __m128i Outside;
  CAFFE_SIMD Outside AllOutside(uint32_t four) { return _mm_set1_epi32(static_cast<int>(four)); }
  CAFFE_SIMD Unsigned GatherRows(const char* const (&rows)[4], ptrdiff_t offset,
                                 const Outside& outside) {
    const __m128i order = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const auto row = [&](int r) __attribute__((always_inline)) {
      return rows[r] ? Eight::Load128(rows[r] + offset) : outside;
    };
    __m512i all = _mm512_castsi128_si512(row(0));
    all = _mm512_inserti32x4(all, row(1), 1);
    all = _mm512_inserti32x4(all, row(2), 2);
    all = _mm512_inserti32x4(all, row(3), 3);
    // Four channels of each row in each quarter, then four rows of each channel.
    all = _mm512_permutexvar_epi32(_mm512_cvtepu8_epi32(order), all);
    return (Unsigned)_mm512_shuffle_epi8(all, _mm512_broadcast_i32x4(order));
  }
};

}  // namespace
}  // namespace caffe::kernels::avx512_vnni

#endif  // CAFFE_KERNELS_CPU_SIMD_AVX512_VNNI_HPP_
