#ifndef CAFFE_KERNELS_CPU_SIMD_AVX512_HPP_
#define CAFFE_KERNELS_CPU_SIMD_AVX512_HPP_

#include "simd_avx2.hpp"

namespace caffe::kernels::avx512 {
namespace {

/// Functions for vectors of any type also accept those of eight lanes.
struct Simd : GenericSimd<16> {
  static constexpr int kRegisterBytes = 64;
  static constexpr size_t kWinogradPanel = 12;
  static constexpr int kFloatPixels[4] = {12, 12, 9, 6};
  static constexpr int kIntegerPixels[4] = {6, 6, 6, 6};
  static constexpr bool kIsPlain = false;
  static constexpr bool kByteProductsSaturate = true;

  typedef avx2::Simd Eight;
  typedef __m512i FourBlocks;

  CAFFE_SIMD __m512i Load512(const void* x) { return _mm512_loadu_si512(x); }

  CAFFE_SIMD float HalfToFloat(uint16_t half) { return Eight::HalfToFloat(half); }
  CAFFE_SIMD uint16_t FloatToHalf(float value) { return Eight::FloatToHalf(value); }
  CAFFE_SIMD size_t HalvesToFloats(size_t n, const uint16_t* x, float* y) {
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
      _mm512_storeu_ps(y + i, _mm512_cvtph_ps(Eight::Load256(x + i)));
    }
    return i + Eight::HalvesToFloats(n - i, x + i, y + i);
  }
  CAFFE_SIMD size_t FloatsToHalves(size_t n, const float* x, uint16_t* y) {
    size_t i = 0;
    for (; i + 16 <= n; i += 16) StoreHalves(_mm512_loadu_ps(x + i), y + i);
    return i + Eight::FloatsToHalves(n - i, x + i, y + i);
  }
  template <typename To>
  CAFFE_SIMD To LoadHalves(const uint16_t* x) {
    if constexpr (sizeof(To) == 64) {
      return (To)_mm512_cvtph_ps(Eight::Load256(x));
    } else {
      return Eight::LoadHalves<To>(x);
    }
  }
  template <typename From>
  CAFFE_SIMD void StoreHalves(const From& lanes, uint16_t* y) {
    if constexpr (sizeof(From) == 64) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(y),
                          _mm512_cvtps_ph((__m512)lanes, _MM_FROUND_TO_NEAREST_INT));
    } else {
      Eight::StoreHalves(lanes, y);
    }
  }
  template <typename To>
  CAFFE_SIMD To LoadBFloat16s(const uint16_t* x) {
    if constexpr (sizeof(To) == 64) {
      return (To)_mm512_slli_epi32(_mm512_cvtepu16_epi32(Eight::Load256(x)), 16);
    } else {
      return Eight::LoadBFloat16s<To>(x);
    }
  }
  template <typename From>
  CAFFE_SIMD void StoreLower(const From& lanes, uint16_t* y) {
    if constexpr (sizeof(From) == 64) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm512_cvtepi32_epi16((__m512i)lanes));
    } else {
      Eight::StoreLower(lanes, y);
    }
  }

  template <typename Vector>
  CAFFE_SIMD Vector InRegister(Vector lanes) {
    __asm__("" : "+v"(lanes));
    return lanes;
  }
  CAFFE_SIMD Lanes Broadcast(const float* x) {
    Lanes lanes;
    __asm__("vbroadcastss %1, %0" : "=v"(lanes) : "m"(*x));
    return lanes;
  }
  /// As for AVX2.
  CAFFE_SIMD void AddProduct(const Lanes& x, const Lanes& y, Lanes* sum) {
    __asm__("vfmadd231ps %2, %1, %0" : "+v"(*sum) : "v"(x), "v"(y));
  }
  CAFFE_SIMD Lanes WholeProductSum(const Lanes& x, const Lanes& y, const Lanes& sum) {
    return (Lanes)_mm512_fmadd_ps((__m512)x, (__m512)y, (__m512)sum);
  }
  CAFFE_SIMD Lanes InverseRoots(const Lanes& x) {
    const Lanes root = (Lanes)_mm512_rsqrt14_ps((__m512)x);
    return root * (1.5f - 0.5f * x * root * root);
  }
  CAFFE_SIMD Lanes Pick(const Lanes& low, const Lanes& high, const Integers& places) {
    return (Lanes)_mm512_permutex2var_ps((__m512)low, (__m512i)places, (__m512)high);
  }
  template <typename To, typename From>
  CAFFE_SIMD To Rounded(From value, const From& low, const From& high) {
    if constexpr (sizeof(From) == 64) {
      const __m512 clipped = _mm512_min_ps(_mm512_max_ps((__m512)value, (__m512)low), (__m512)high);
      return (To)_mm512_cvtps_epi32(clipped);
    } else {
      return Eight::Rounded<To>(value, low, high);
    }
  }

  template <typename To>
  CAFFE_SIMD To LoadBytes(const int8_t* x) {
    if constexpr (sizeof(To) == 64) {
      return (To)_mm512_cvtepi8_epi32(Eight::Load128(x));
    } else {
      return Eight::LoadBytes<To>(x);
    }
  }
  template <typename To>
  CAFFE_SIMD To LoadBytes(const uint8_t* x) {
    if constexpr (sizeof(To) == 64) {
      return (To)_mm512_cvtepu8_epi32(Eight::Load128(x));
    } else {
      return Eight::LoadBytes<To>(x);
    }
  }
  template <typename From, typename T>
  CAFFE_SIMD void StoreBytes(const From& lanes, T* y) {
    if constexpr (sizeof(From) == 64) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm512_cvtepi32_epi8((__m512i)lanes));
    } else {
      Eight::StoreBytes(lanes, y);
    }
  }
  /// For 32, 16 or 8 lanes.
  template <typename To, typename T>
  CAFFE_SIMD To LoadShorts(const T* x) {
    if constexpr (sizeof(To) == 64) {
      const __m256i bytes = Eight::Load256(x);
      return (To)(T(-1) < T(0) ? _mm512_cvtepi8_epi16(bytes) : _mm512_cvtepu8_epi16(bytes));
    } else {
      return Eight::LoadShorts<To>(x);
    }
  }

  CAFFE_SIMD Integers AddWords(const Integers& sums, const __m512i& x, const __m512i& y) {
    return InRegister(Plus(sums, (Integers)_mm512_madd_epi16(x, y)));
  }
  CAFFE_SIMD __m512i AllPairs(const int16_t* x) {
    int32_t pair;
    __builtin_memcpy(&pair, x, sizeof(pair));
    return _mm512_set1_epi32(pair);
  }
  CAFFE_SIMD __m512i LoadWords(const int16_t* x) { return Load512(x); }
  CAFFE_SIMD __m512i LoadWords(const int8_t* x) { return _mm512_cvtepi8_epi16(Eight::Load256(x)); }
  template <typename Weight>
  CAFFE_SIMD Integers AddPairs(const Integers& sums, const Weight* weights, const int16_t* x) {
    return AddWords(sums, LoadWords(weights), AllPairs(x));
  }
  CAFFE_SIMD Integers AddFourProducts(const Integers& sums, const Unsigned& x,
                                      const Unsigned& weights) {
    return AddWords(sums, _mm512_maddubs_epi16((__m512i)x, (__m512i)weights), _mm512_set1_epi16(1));
  }
  CAFFE_SIMD __m512i PairsOf(const Integers& x, const Integers& y) {
    return (__m512i)((x & 0xffff) | (Integers)((Unsigned)y << 16));
  }
  CAFFE_SIMD Integers TwoProducts(int32_t start, const Integers& x, const Integers& y,
                                  const int16_t (&factors)[2]) {
    return AddWords(Integers{} + start, AllPairs(factors), PairsOf(x, y));
  }

  CAFFE_SIMD Integers OddLanes(const Integers& x) {
    return (Integers)_mm512_srli_epi64((__m512i)x, 32);
  }
  CAFFE_SIMD Wide EvenProducts(const Integers& x, const Integers& y) {
    return (Wide)_mm512_mul_epi32((__m512i)x, (__m512i)y);
  }
  CAFFE_SIMD Integers EvenAndOdd(const Wide& even, const Wide& odd) {
    return (Integers)_mm512_mask_blend_epi32(0xaaaa, (__m512i)even, (__m512i)odd);
  }
  CAFFE_SIMD Integers UpperHalves(const Wide& even, const Wide& odd) {
    return (Integers)_mm512_mask_shuffle_epi32((__m512i)odd, 0x5555, (__m512i)even,
                                               static_cast<_MM_PERM_ENUM>(0xf5));
  }
  CAFFE_SIMD Integers ShiftRight(const Integers& x, const Integers& by) {
    return (Integers)_mm512_srav_epi32((__m512i)x, (__m512i)by);
  }
  CAFFE_SIMD Integers WhereNegative(const Integers& sign, const Integers& x, const Integers& y) {
    return (Integers)_mm512_ternarylogic_epi32(_mm512_srai_epi32((__m512i)sign, 31), (__m512i)x,
                                               (__m512i)y, 0xca);
  }
  CAFFE_SIMD bool HasNegative(const Integers& x) {
    return _mm512_cmplt_epi32_mask((__m512i)x, _mm512_setzero_si512()) != 0;
  }
  CAFFE_SIMD void GatherTwo(const int32_t* table, const Integers& at, Integers* here,
                            Integers* next) {
    const auto half = [table](const __m256i& places) __attribute__((always_inline)) {
      return _mm512_i32gather_epi64(places, table, 4);
    };
    const __m512i low = half(_mm512_castsi512_si256((__m512i)at));
    const __m512i high = half(_mm512_extracti64x4_epi64((__m512i)at, 1));
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_or_si512(even, _mm512_set1_epi32(1));
    *here = (Integers)_mm512_permutex2var_epi32(low, even, high);
    *next = (Integers)_mm512_permutex2var_epi32(low, odd, high);
  }

  template <typename T>
  CAFFE_SIMD FourBlocks MaxOfBytes(const FourBlocks& a, const FourBlocks& b) {
    return T(-1) < T(0) ? _mm512_max_epi8(a, b) : _mm512_max_epu8(a, b);
  }
  template <typename T>
  CAFFE_SIMD FourBlocks MinOfBytes(const FourBlocks& a, const FourBlocks& b) {
    return T(-1) < T(0) ? _mm512_min_epi8(a, b) : _mm512_min_epu8(a, b);
  }
  CAFFE_SIMD FourBlocks EveryOther(const FourBlocks& low, const FourBlocks& high) {
    return _mm512_shuffle_i64x2(low, high, 0x88);
  }

  CAFFE_SIMD Words PackTwo(const Integers& a, const Integers& b) {
    return (Words)_mm512_packs_epi32((__m512i)a, (__m512i)b);
  }
  CAFFE_SIMD Words AllWords(int value) {
    return (Words)_mm512_set1_epi16(static_cast<short>(value));
  }
  CAFFE_SIMD Words WordsPlus(const Words& x, const Words& y) {
    return (Words)_mm512_adds_epi16((__m512i)x, (__m512i)y);
  }
  template <typename T>
  CAFFE_SIMD FourBlocks PackFour(const Words& ab, const Words& cd) {
    const __m512i bytes = T(-1) < T(0) ? _mm512_packs_epi16((__m512i)ab, (__m512i)cd)
                                       : _mm512_packus_epi16((__m512i)ab, (__m512i)cd);
    // Each quarter has four lanes of each vector.
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, bytes);
  }
  template <typename T>
  CAFFE_SIMD FourBlocks AllBytes(T value) {
    return _mm512_set1_epi8(static_cast<char>(value));
  }
  CAFFE_SIMD void StoreFour(const FourBlocks& bytes, void* y) { _mm512_storeu_si512(y, bytes); }
  template <typename Place>
  CAFFE_SIMD void StoreBlocks(int count, const FourBlocks& bytes, const Place& place) {
    const auto to = [&](int i) { return reinterpret_cast<__m128i*>(place(i)); };
    _mm_storeu_si128(to(0), _mm512_castsi512_si128(bytes));
    if (count > 1) _mm_storeu_si128(to(1), _mm512_extracti32x4_epi32(bytes, 1));
    if (count > 2) _mm_storeu_si128(to(2), _mm512_extracti32x4_epi32(bytes, 2));
    if (count > 3) _mm_storeu_si128(to(3), _mm512_extracti32x4_epi32(bytes, 3));
  }
  CAFFE_SIMD Integers RoundedBelow(const Lanes& value, const Lanes& high) {
    return (Integers)_mm512_cvtps_epi32(_mm512_min_ps((__m512)high, (__m512)value));
  }
};

}  // namespace
}  // namespace caffe::kernels::avx512

#endif  // CAFFE_KERNELS_CPU_SIMD_AVX512_HPP_
