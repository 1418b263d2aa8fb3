#ifndef CAFFE_KERNELS_CPU_SIMD_AVX2_VNNI_HPP_
#define CAFFE_KERNELS_CPU_SIMD_AVX2_VNNI_HPP_

#include "simd_avx2.hpp"

// Products of pairs and of four bytes with their sum in one instruction: the same bits.
namespace caffe::kernels::avx2_vnni {
namespace {

struct Simd : avx2::Simd {
  static constexpr bool kHasByteProducts = true;
  static constexpr bool kByteProductsSaturate = false;
  static constexpr bool kHasPairsTwice = false;

  CAFFE_SIMD Integers AddWords(const Integers& sums, const __m256i& x, const __m256i& y) {
    return (Integers)_mm256_dpwssd_avx_epi32((__m256i)sums, x, y);
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
    return (Integers)_mm256_dpbusd_avx_epi32((__m256i)sums, (__m256i)x, (__m256i)weights);
  }
  typedef __m128i Outside;
  CAFFE_SIMD Outside AllOutside(uint32_t four) { return _mm_set1_epi32(static_cast<int>(four)); }
  CAFFE_SIMD Unsigned GatherRows(const char* const (&rows)[4], ptrdiff_t offset,
                                 const Outside& outside) {
    const __m128i order = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const auto row = [&](int r) __attribute__((always_inline)) {
      return rows[r] ? Load64(rows[r] + offset) : outside;
    };
    const __m128i first = _mm_unpacklo_epi64(row(0), row(1));
    const __m128i last = _mm_unpacklo_epi64(row(2), row(3));
    __m256i all = _mm256_inserti128_si256(_mm256_castsi128_si256(first), last, 1);
    // Four channels of each row in each half, then four rows of each channel.
    all = _mm256_permutevar8x32_epi32(all, _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
    return (Unsigned)_mm256_shuffle_epi8(all, _mm256_broadcastsi128_si256(order));
  }
};

}  // namespace
}  // namespace caffe::kernels::avx2_vnni

#endif  // CAFFE_KERNELS_CPU_SIMD_AVX2_VNNI_HPP_
