#ifndef CAFFE_KERNELS_CPU_SIMD_AVX2_HPP_
#define CAFFE_KERNELS_CPU_SIMD_AVX2_HPP_

#include <immintrin.h>

#include "simd_generic.hpp"

namespace caffe::kernels::avx2 {
namespace {

struct Simd : GenericSimd<8> {
  static constexpr int kRegisterBytes = 32;
  static constexpr size_t kWinogradPanel = 6;
  static constexpr int kFloatPixels[4] = {12, 6, 4, 0};
  static constexpr bool kIsPlain = false;
  static constexpr bool kHasPairsTwice = true;
  static constexpr bool kByteProductsSaturate = true;

  typedef __m256i FourBlocks;

  CAFFE_SIMD __m128i Load128(const void* x) {
    return _mm_loadu_si128(static_cast<const __m128i*>(x));
  }
  CAFFE_SIMD __m128i Load64(const void* x) {
    return _mm_loadl_epi64(static_cast<const __m128i*>(x));
  }
  CAFFE_SIMD __m256i Load256(const void* x) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(x));
  }

  CAFFE_SIMD float HalfToFloat(uint16_t half) { return _cvtsh_ss(half); }
  CAFFE_SIMD uint16_t FloatToHalf(float value) {
    return _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT);
  }
  CAFFE_SIMD size_t HalvesToFloats(size_t n, const uint16_t* x, float* y) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(y + i, _mm256_cvtph_ps(Load128(x + i)));
    return i;
  }
  CAFFE_SIMD size_t FloatsToHalves(size_t n, const float* x, uint16_t* y) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8) StoreHalves(_mm256_loadu_ps(x + i), y + i);
    return i;
  }
  template <typename To>
  CAFFE_SIMD To LoadHalves(const uint16_t* x) {
    return (To)_mm256_cvtph_ps(Load128(x));
  }
  template <typename From>
  CAFFE_SIMD void StoreHalves(const From& lanes, uint16_t* y) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y),
                     _mm256_cvtps_ph((__m256)lanes, _MM_FROUND_TO_NEAREST_INT));
  }
  template <typename To>
  CAFFE_SIMD To LoadBFloat16s(const uint16_t* x) {
    return (To)_mm256_slli_epi32(_mm256_cvtepu16_epi32(Load128(x)), 16);
  }
  template <typename From>
  CAFFE_SIMD void StoreLower(const From& lanes, uint16_t* y) {
    const __m256i eight = (__m256i)lanes;
    _mm_storeu_si128(
        reinterpret_cast<__m128i*>(y),
        _mm_packus_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1)));
  }

  template <typename Vector>
  CAFFE_SIMD Vector InRegister(Vector lanes) {
    __asm__("" : "+x"(lanes));
    return lanes;
  }
  CAFFE_SIMD Lanes Broadcast(const float* x) {
    Lanes lanes;
    __asm__("vbroadcastss %1, %0" : "=x"(lanes) : "m"(*x));
    return lanes;
  }
  /// Otherwise GCC moves the sums between registers from step to step, which needs more registers
  /// than there are.
  CAFFE_SIMD void AddProduct(const Lanes& x, const Lanes& y, Lanes* sum) {
    __asm__("vfmadd231ps %2, %1, %0" : "+x"(*sum) : "x"(x), "x"(y));
  }
  CAFFE_SIMD Lanes WholeProductSum(const Lanes& x, const Lanes& y, const Lanes& sum) {
    return (Lanes)_mm256_fmadd_ps((__m256)x, (__m256)y, (__m256)sum);
  }
  /// An estimate of 12 bits, and a step of Newton's method.
  CAFFE_SIMD Lanes InverseRoots(const Lanes& x) {
    const Lanes root = (Lanes)_mm256_rsqrt_ps((__m256)x);
    return root * (1.5f - 0.5f * x * root * root);
  }
  /// The lanes `places` of low and high, one behind the other.
  CAFFE_SIMD Lanes Pick(const Lanes& low, const Lanes& high, const Integers& places) {
    const __m256i at = (__m256i)places, is_high = _mm256_cmpgt_epi32(at, _mm256_set1_epi32(7));
    return (Lanes)_mm256_blendv_ps(_mm256_permutevar8x32_ps((__m256)low, at),
                                   _mm256_permutevar8x32_ps((__m256)high, at), (__m256)is_high);
  }
  template <typename To, typename From>
  CAFFE_SIMD To Rounded(From value, const From& low, const From& high) {
    const __m256 clipped = _mm256_min_ps(_mm256_max_ps((__m256)value, (__m256)low), (__m256)high);
    return (To)_mm256_cvtps_epi32(clipped);
  }

  template <typename To>
  CAFFE_SIMD To LoadBytes(const int8_t* x) {
    return (To)_mm256_cvtepi8_epi32(Load64(x));
  }
  template <typename To>
  CAFFE_SIMD To LoadBytes(const uint8_t* x) {
    return (To)_mm256_cvtepu8_epi32(Load64(x));
  }
  template <typename From, typename T>
  CAFFE_SIMD void StoreBytes(const From& lanes, T* y) {
    // The lowest byte of each 32 bits, then both halves together.
    const __m256i low = _mm256_shuffle_epi8((__m256i)lanes, _mm256_set1_epi32(0x0c080400));
    const __m128i bytes =
        _mm_unpacklo_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(y), bytes);
  }
  template <typename To, typename T>
  CAFFE_SIMD To LoadShorts(const T* x) {
    if constexpr (sizeof(To) == 32) {
      const __m128i bytes = Load128(x);
      return (To)(T(-1) < T(0) ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes));
    } else {
      const __m128i bytes = Load64(x);
      return (To)(T(-1) < T(0) ? _mm_cvtepi8_epi16(bytes) : _mm_cvtepu8_epi16(bytes));
    }
  }

  /// GCC reassociates these integer sums, adding products first, and runs out of registers:
  /// InRegister keeps each sum in place.
  CAFFE_SIMD Integers AddWords(const Integers& sums, const __m256i& x, const __m256i& y) {
    return InRegister(Plus(sums, (Integers)_mm256_madd_epi16(x, y)));
  }
  CAFFE_SIMD __m256i AllPairs(const int16_t* x) {
    int32_t pair;
    __builtin_memcpy(&pair, x, sizeof(pair));
    return _mm256_set1_epi32(pair);
  }
  CAFFE_SIMD __m256i LoadWords(const int16_t* x) { return Load256(x); }
  CAFFE_SIMD __m256i LoadWords(const int8_t* x) { return _mm256_cvtepi8_epi16(Load128(x)); }
  template <typename Weight>
  CAFFE_SIMD Integers AddPairs(const Integers& sums, const Weight* weights, const int16_t* x) {
    return AddWords(sums, LoadWords(weights), AllPairs(x));
  }
  /// Otherwise GCC reloads the weights for each pixel and runs out of registers for the sums.
  CAFFE_SIMD void AddPairsTwice(const Words& w0, const Words& w1, const int16_t* x, Integers* sum0,
                                Integers* sum1) {
    __m256i pair, product;
    __asm__(
        "vpbroadcastd %[x], %[pair]\n\t"
        "vpmaddwd %[pair], %[w0], %[product]\n\t"
        "vpmaddwd %[pair], %[w1], %[pair]\n\t"
        "vpaddd %[product], %[sum0], %[sum0]\n\t"
        "vpaddd %[pair], %[sum1], %[sum1]"
        : [sum0] "+x"(*sum0), [sum1] "+x"(*sum1), [pair] "=&x"(pair), [product] "=&x"(product)
        : [w0] "x"(w0), [w1] "x"(w1), [x] "m"(*reinterpret_cast<const int16_t(*)[2]>(x)));
  }
  CAFFE_SIMD Integers AddFourProducts(const Integers& sums, const Unsigned& x,
                                      const Unsigned& weights) {
    return AddWords(sums, _mm256_maddubs_epi16((__m256i)x, (__m256i)weights), _mm256_set1_epi16(1));
  }
  CAFFE_SIMD void AddFoursTwice(const Integers& w0, const Integers& w1, const uint8_t* x,
                                Integers* sum0, Integers* sum1) {
    // In memory: sums, weights and products take all registers.
    alignas(32) static constexpr int16_t kOnes[16] = {1, 1, 1, 1, 1, 1, 1, 1,
                                                      1, 1, 1, 1, 1, 1, 1, 1};
    __m256i four, product;
    __asm__(
        "vpbroadcastd %[x], %[four]\n\t"
        "vpmaddubsw %[w0], %[four], %[product]\n\t"
        "vpmaddubsw %[w1], %[four], %[four]\n\t"
        "vpmaddwd %[ones], %[product], %[product]\n\t"
        "vpmaddwd %[ones], %[four], %[four]\n\t"
        "vpaddd %[product], %[sum0], %[sum0]\n\t"
        "vpaddd %[four], %[sum1], %[sum1]"
        : [sum0] "+x"(*sum0), [sum1] "+x"(*sum1), [four] "=&x"(four), [product] "=&x"(product)
        : [w0] "x"(w0), [w1] "x"(w1), [ones] "m"(kOnes),
          [x] "m"(*reinterpret_cast<const uint8_t(*)[4]>(x)));
  }
  CAFFE_SIMD __m256i PairsOf(const Integers& x, const Integers& y) {
    return (__m256i)((x & 0xffff) | (Integers)((Unsigned)y << 16));
  }
  CAFFE_SIMD Integers TwoProducts(int32_t start, const Integers& x, const Integers& y,
                                  const int16_t (&factors)[2]) {
    return AddWords(Integers{} + start, AllPairs(factors), PairsOf(x, y));
  }

  CAFFE_SIMD Integers OddLanes(const Integers& x) {
    return (Integers)_mm256_srli_epi64((__m256i)x, 32);
  }
  CAFFE_SIMD Wide EvenProducts(const Integers& x, const Integers& y) {
    return (Wide)_mm256_mul_epi32((__m256i)x, (__m256i)y);
  }
  CAFFE_SIMD Integers EvenAndOdd(const Wide& even, const Wide& odd) {
    return (Integers)_mm256_blend_epi32((__m256i)even, (__m256i)odd, 0xaa);
  }
  CAFFE_SIMD Integers UpperHalves(const Wide& even, const Wide& odd) {
    return (Integers)_mm256_blend_epi32(_mm256_shuffle_epi32((__m256i)even, 0xf5), (__m256i)odd,
                                        0xaa);
  }
  CAFFE_SIMD Integers ShiftRight(const Integers& x, const Integers& by) {
    return (Integers)_mm256_srav_epi32((__m256i)x, (__m256i)by);
  }
  CAFFE_SIMD Integers WhereNegative(const Integers& sign, const Integers& x, const Integers& y) {
    return (Integers)_mm256_blendv_ps((__m256)y, (__m256)x, (__m256)sign);
  }
  CAFFE_SIMD bool HasNegative(const Integers& x) { return _mm256_movemask_ps((__m256)x) != 0; }
  /// Both are loaded together.
  CAFFE_SIMD void GatherTwo(const int32_t* table, const Integers& at, Integers* here,
                            Integers* next) {
    const auto half = [table](const __m128i& places) __attribute__((always_inline)) {
      return _mm256_castsi256_ps(
          _mm256_i32gather_epi64(reinterpret_cast<const long long*>(table), places, 4));
    };
    const __m256 low = half(_mm256_castsi256_si128((__m256i)at));
    const __m256 high = half(_mm256_extracti128_si256((__m256i)at, 1));
    const auto ordered = [](const __m256& x) __attribute__((always_inline)) {
      return (Integers)_mm256_permute4x64_epi64(_mm256_castps_si256(x), 0xd8);
    };
    *here = ordered(_mm256_shuffle_ps(low, high, 0x88));
    *next = ordered(_mm256_shuffle_ps(low, high, 0xdd));
  }

  template <typename T>
  CAFFE_SIMD FourBlocks MaxOfBytes(const FourBlocks& a, const FourBlocks& b) {
    return T(-1) < T(0) ? _mm256_max_epi8(a, b) : _mm256_max_epu8(a, b);
  }
  template <typename T>
  CAFFE_SIMD FourBlocks MinOfBytes(const FourBlocks& a, const FourBlocks& b) {
    return T(-1) < T(0) ? _mm256_min_epi8(a, b) : _mm256_min_epu8(a, b);
  }
  CAFFE_SIMD FourBlocks EveryOther(const FourBlocks& low, const FourBlocks& high) {
    return _mm256_permute4x64_epi64(_mm256_unpacklo_epi64(low, high), 0xd8);
  }

  // ---- Packed bytes, which non-plain sets define in addition to simd_generic.hpp.

  /// Two vectors of 32 bits as one of 16 bits, saturated, in the order that PackFour takes.
  CAFFE_SIMD Words PackTwo(const Integers& a, const Integers& b) {
    return (Words)_mm256_packs_epi32((__m256i)a, (__m256i)b);
  }
  CAFFE_SIMD Words AllWords(int value) {
    return (Words)_mm256_set1_epi16(static_cast<short>(value));
  }
  /// Saturated.
  CAFFE_SIMD Words WordsPlus(const Words& x, const Words& y) {
    return (Words)_mm256_adds_epi16((__m256i)x, (__m256i)y);
  }
  /// Packs four vectors into consecutive bytes.
  template <typename T>
  CAFFE_SIMD FourBlocks PackFour(const Words& ab, const Words& cd) {
    const __m256i bytes = T(-1) < T(0) ? _mm256_packs_epi16((__m256i)ab, (__m256i)cd)
                                       : _mm256_packus_epi16((__m256i)ab, (__m256i)cd);
    // Each half has four lanes of each vector.
    return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  }
  template <typename T>
  CAFFE_SIMD FourBlocks AllBytes(T value) {
    return _mm256_set1_epi8(static_cast<char>(value));
  }
  CAFFE_SIMD void StoreFour(const FourBlocks& bytes, void* y) {
    _mm256_storeu_si256(static_cast<__m256i*>(y), bytes);
  }
  /// The first `count` blocks to to(0), to(1), ...
  template <typename Place>
  CAFFE_SIMD void StoreBlocks(int count, const FourBlocks& bytes, const Place& place) {
    const __m128 low = _mm_castsi128_ps(_mm256_castsi256_si128(bytes));
    const __m128 high = _mm_castsi128_ps(_mm256_extracti128_si256(bytes, 1));
    const auto to = [&](int i) { return reinterpret_cast<__m64*>(place(i)); };
    _mm_storel_pi(to(0), low);
    if (count > 1) _mm_storeh_pi(to(1), low);
    if (count > 2) _mm_storel_pi(to(2), high);
    if (count > 3) _mm_storeh_pi(to(3), high);
  }
  /// The nearest integers up to `high`, halves to even; values far below 0 and NaN become any
  /// number below -2^15.
  CAFFE_SIMD Integers RoundedBelow(const Lanes& value, const Lanes& high) {
    return (Integers)_mm256_cvtps_epi32(_mm256_min_ps((__m256)high, (__m256)value));
  }
};

}  // namespace
}  // namespace caffe::kernels::avx2

#endif  // CAFFE_KERNELS_CPU_SIMD_AVX2_HPP_
