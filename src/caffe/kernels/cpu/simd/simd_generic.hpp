#ifndef CAFFE_KERNELS_CPU_SIMD_GENERIC_HPP_
#define CAFFE_KERNELS_CPU_SIMD_GENERIC_HPP_

#include <stddef.h>
#include <stdint.h>

// Vector primitives for the loops that are compiled once per instruction set (vector_kernels.inc,
// packed_tiles.inc, winograd_loops.inc, int8_tiles.inc). Each set has a header with a struct `Simd`
// in the namespace of its name; cmake/Kernels.cmake includes it before the loops. Here the
// primitives are in plain C++, for blocks of any number of lanes: a new set derives from
// GenericSimd and overrides those that it has instructions for.
//
// Everything is in unnamed namespaces, as in vector_kernels.inc, and always inlined: vectors have
// no calling convention without AVX.
#define CAFFE_SIMD static __attribute__((always_inline)) inline

namespace caffe::kernels {
namespace {

/// Vectors as wide as `lanes` lanes of 32 bits. (In a template GCC 12 does not accept a vector type
/// whose size depends on a parameter.)
template <int lanes>
struct VectorsOf;
template <>
struct VectorsOf<8> {
  typedef float Lanes __attribute__((vector_size(32)));
  typedef int32_t Integers __attribute__((vector_size(32)));
  typedef uint32_t Unsigned __attribute__((vector_size(32)));
  typedef int64_t Wide __attribute__((vector_size(32)));
  typedef int16_t Words __attribute__((vector_size(32)));
  typedef uint8_t Bytes __attribute__((vector_size(32)));
  typedef int8_t SignedBytes __attribute__((vector_size(32)));
};
template <>
struct VectorsOf<16> {
  typedef float Lanes __attribute__((vector_size(64)));
  typedef int32_t Integers __attribute__((vector_size(64)));
  typedef uint32_t Unsigned __attribute__((vector_size(64)));
  typedef int64_t Wide __attribute__((vector_size(64)));
  typedef int16_t Words __attribute__((vector_size(64)));
  typedef uint8_t Bytes __attribute__((vector_size(64)));
  typedef int8_t SignedBytes __attribute__((vector_size(64)));
};

/// The number of vectors whose sums fit the registers, from kFloatPixels or kIntegerPixels.
constexpr int MaxVectors(const int (&pixels)[4]) {
  int vectors = 0;
  while (vectors < 4 && pixels[vectors] > 0) ++vectors;
  return vectors;
}

template <int block>
struct GenericSimd {
  // ---- Constants that each set defines.

  static constexpr int kBlock = block;         ///< lanes of a vector: channels of a block
  static constexpr int kRegisterBytes = 16;    ///< a vector may be several registers
  static constexpr size_t kWinogradPanel = 4;  ///< tiles of a panel whose sums fit the registers
  /// Pixels whose sums of V vectors fit the registers, with V vectors of weights and one pixel's
  /// value, at [V - 1]; 0: none.
  static constexpr int kFloatPixels[4] = {6, 3, 0, 0};
  static constexpr int kIntegerPixels[4] = {6, 6, 0, 0};
  /// True: kernels use only loops that compilers vectorise by themselves. False: they widen weights
  /// in registers, rescale short sums, and pack bytes; the primitives for the last are in
  /// simd_avx2.hpp, from PackTwo on.
  static constexpr bool kIsPlain = true;
  /// AddFourProducts is one instruction.
  static constexpr bool kHasByteProducts = false;
  /// AddFourProducts and, where kHasPairsTwice, AddFoursTwice are faster than pairs, but the sum of
  /// two neighbouring products saturates at 16 bits.
  static constexpr bool kByteProductsSaturate = false;
  static constexpr int kByteDepthwiseRows = 1;    ///< whose sums fit the registers: 1 or 2
  static constexpr bool kRoundsBFloat16 = false;  ///< StoreBFloat16s is one instruction
  /// AddPairsTwice is faster than AddPairs.
  static constexpr bool kHasPairsTwice = false;

  typedef typename VectorsOf<block>::Lanes Lanes;
  typedef typename VectorsOf<block>::Integers Integers;
  typedef typename VectorsOf<block>::Unsigned Unsigned;
  typedef typename VectorsOf<block>::Wide Wide;
  typedef typename VectorsOf<block>::Words Words;
  typedef typename VectorsOf<block>::Bytes FourBlocks;

  // ---- FLOAT16 and BFLOAT16, lane by lane.

  /// Branch-free, so that compilers vectorise it. The exponent is adjusted by integer arithmetic;
  /// subnormal halves, infinities and NaNs are fixed up by selection.
  CAFFE_SIMD float HalfToFloat(uint16_t half_bits) {
    const uint32_t half = half_bits;
    const uint32_t sign = (half & 0x8000) << 16;
    const uint32_t magnitude = half & 0x7fff;
    // A subnormal half is magnitude * 2^-24, exactly.
    const float small =
        static_cast<float>(static_cast<int32_t>(magnitude)) * 5.9604644775390625e-8f;
    uint32_t small_bits;
    __builtin_memcpy(&small_bits, &small, sizeof(small_bits));
    const uint32_t quiet = magnitude > 0x7c00 ? 0x400000 : 0;
    const uint32_t top = magnitude >= 0x7c00 ? (uint32_t(112) << 23) : 0;
    const uint32_t normal = ((magnitude << 13) + (uint32_t(112) << 23) + top) | quiet;
    const uint32_t bits = sign | (magnitude < 0x400 ? small_bits : normal);
    float value;
    __builtin_memcpy(&value, &bits, sizeof(value));
    return value;
  }
  CAFFE_SIMD uint16_t FloatToHalf(float value) {
    uint32_t bits;
    __builtin_memcpy(&bits, &value, sizeof(bits));
    const uint32_t sign = (bits >> 16) & 0x8000;
    const uint32_t magnitude = bits & 0x7fffffff;
    uint32_t half;
    if (magnitude >= 0x47800000) {  // 65536 and above, infinity, NaN
      half = magnitude > 0x7f800000 ? 0x7e00 | ((magnitude >> 13) & 0x3ff) : 0x7c00;
    } else if (magnitude >= 0x38800000) {  // normal: rounding may carry up to infinity
      half = (magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1)) >> 13;
    } else if (magnitude > 0x33000000) {  // subnormal, above 2^-25
      const uint32_t significand = (magnitude & 0x7fffff) | 0x800000;
      const uint32_t shift = 126 - (magnitude >> 23);
      const uint32_t rest = significand & ((uint32_t(1) << shift) - 1);
      const uint32_t middle = uint32_t(1) << (shift - 1);
      half = significand >> shift;
      half += rest > middle || (rest == middle && (half & 1));
    } else {
      half = 0;
    }
    return static_cast<uint16_t>(sign | half);
  }
  /// Converts the leading ones of n numbers, in whole vectors; returns how many.
  CAFFE_SIMD size_t HalvesToFloats(size_t, const uint16_t*, float*) { return 0; }
  CAFFE_SIMD size_t FloatsToHalves(size_t, const float*, uint16_t*) { return 0; }

  /// Where kRoundsBFloat16.
  template <typename From>
  CAFFE_SIMD void StoreBFloat16s(const From& lanes, uint16_t* y);

  /// Two bfloat16 numbers, the first in the lower half of each lane.
  CAFFE_SIMD Unsigned BroadcastPair(const uint16_t* x) {
    uint32_t pair;
    __builtin_memcpy(&pair, x, sizeof(pair));
    return Unsigned{} + pair;
  }
  CAFFE_SIMD void AddPairProducts(const Unsigned& x, const Unsigned& y, Lanes* sum) {
    *sum += (Lanes)(x & 0xffff0000) * (Lanes)(y & 0xffff0000);
    *sum += (Lanes)(x << 16) * (Lanes)(y << 16);
  }
  /// Of x and y, to nearest even.
  CAFFE_SIMD Unsigned RoundedPairs(const Lanes& x, const Lanes& y) {
    const auto rounded = [](const Lanes& value) __attribute__((always_inline)) {
      const Unsigned bits = (Unsigned)value;
      const Unsigned nearest = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
      return (bits & 0x7fffffff) > 0x7f800000 ? (bits >> 16) | 0x40 : nearest;
    };
    return rounded(x) | (rounded(y) << 16);
  }
  /// Pairs of x and y by turns.
  CAFFE_SIMD void StoreInTurns(const Unsigned& x, const Unsigned& y, uint16_t* to) {
    for (int i = 0; i < block; ++i) {
      const uint32_t two[2] = {x[i], y[i]};
      __builtin_memcpy(to + i * 4, two, sizeof(two));
    }
  }

  /// A vector of floats from and to FLOAT16.
  template <typename To>
  CAFFE_SIMD To LoadHalves(const uint16_t* x) {
    float wide[sizeof(To) / sizeof(float)];
    for (size_t i = 0; i < sizeof(To) / sizeof(float); ++i) wide[i] = HalfToFloat(x[i]);
    To lanes;
    __builtin_memcpy(&lanes, wide, sizeof(lanes));
    return lanes;
  }
  template <typename From>
  CAFFE_SIMD void StoreHalves(const From& lanes, uint16_t* y) {
    float wide[sizeof(From) / sizeof(float)];
    __builtin_memcpy(wide, &lanes, sizeof(lanes));
    for (size_t i = 0; i < sizeof(From) / sizeof(float); ++i) y[i] = FloatToHalf(wide[i]);
  }
  /// From BFLOAT16: the upper halves of floats.
  template <typename To>
  CAFFE_SIMD To LoadBFloat16s(const uint16_t* x) {
    uint32_t bits[sizeof(To) / sizeof(float)];
    for (size_t i = 0; i < sizeof(To) / sizeof(float); ++i) bits[i] = uint32_t(x[i]) << 16;
    To lanes;
    __builtin_memcpy(&lanes, bits, sizeof(lanes));
    return lanes;
  }
  /// Stores the lower 16 bits of 32-bit lanes, whose upper bits are 0.
  template <typename From>
  CAFFE_SIMD void StoreLower(const From& lanes, uint16_t* y) {
    for (size_t i = 0; i < sizeof(From) / 4; ++i) y[i] = static_cast<uint16_t>(lanes[i]);
  }

  // ---- Floats.

  /// The same lanes, forced into a register.
  template <typename Vector>
  CAFFE_SIMD Vector InRegister(Vector lanes) {
    return lanes;
  }
  CAFFE_SIMD Lanes Broadcast(const float* x) { return Lanes{} + *x; }
  /// sum += x y.
  CAFFE_SIMD void AddProduct(const Lanes& x, const Lanes& y, Lanes* sum) { *sum += x * y; }
  /// sum + x y of whole numbers below 2^24, for which a fused operation gives the same result.
  CAFFE_SIMD Lanes WholeProductSum(const Lanes& x, const Lanes& y, const Lanes& sum) {
    return sum + x * y;
  }
  /// 1 / sqrt(x) to 3e-7 of it; infinity may give NaN.
  CAFFE_SIMD Lanes InverseRoots(const Lanes& x) {
    Lanes roots;
    for (int lane = 0; lane < kBlock; ++lane) roots[lane] = 1.f / __builtin_sqrtf(x[lane]);
    return roots;
  }
  /// The nearest integers in [low, high], halves to even; no NaN.
  template <typename To, typename From>
  CAFFE_SIMD To Rounded(From value, const From& low, const From& high) {
    // A float of this size has no fractional bits.
    const From shift = From{} + 12582912.f;
    value = value < low ? low : value;
    value = value > high ? high : value;
    return __builtin_convertvector((value + shift) - shift, To);
  }

  // ---- Bytes from and to lanes of integers; compilers convert vectors of such different sizes
  // lane by lane.

  template <typename To, typename T>
  CAFFE_SIMD To LoadBytes(const T* x) {
    To lanes;
    for (size_t i = 0; i < sizeof(To) / 4; ++i) lanes[i] = x[i];
    return lanes;
  }
  template <typename From, typename T>
  CAFFE_SIMD void StoreBytes(const From& lanes, T* y) {
    for (size_t i = 0; i < sizeof(From) / 4; ++i) y[i] = static_cast<T>(lanes[i]);
  }
  /// To lanes of 16 bits.
  template <typename To, typename T>
  CAFFE_SIMD To LoadShorts(const T* x) {
    To lanes;
    for (size_t i = 0; i < sizeof(To) / 2; ++i) lanes[i] = x[i];
    return lanes;
  }

  // ---- Sums of products of integers. They may overflow 32 bits and come back (Winograd's do),
  // which only unsigned arithmetic allows.

  CAFFE_SIMD Integers Plus(const Integers& x, const Integers& y) {
    return (Integers)((Unsigned)x + (Unsigned)y);
  }
  /// sums + the products of pairs: those at `weights`, one per lane, with the one at x.
  template <typename Weight>
  CAFFE_SIMD Integers AddPairs(const Integers& sums, const Weight* weights, const int16_t* x) {
    Integers products;
    for (int lane = 0; lane < kBlock; ++lane) {
      products[lane] = weights[2 * lane] * x[0] + weights[2 * lane + 1] * x[1];
    }
    return Plus(sums, products);
  }
  /// The same for two vectors of weights.
  CAFFE_SIMD void AddPairsTwice(const Words& w0, const Words& w1, const int16_t* x, Integers* sum0,
                                Integers* sum1) {
    for (int lane = 0; lane < kBlock; ++lane) {
      (*sum0)[lane] += w0[2 * lane] * x[0] + w0[2 * lane + 1] * x[1];
      (*sum1)[lane] += w1[2 * lane] * x[0] + w1[2 * lane + 1] * x[1];
    }
  }
  /// AddFourProducts of the four bytes at x, for two vectors of weights.
  CAFFE_SIMD void AddFoursTwice(const Integers& w0, const Integers& w1, const uint8_t* x,
                                Integers* sum0, Integers* sum1) {
    uint32_t four;
    __builtin_memcpy(&four, x, sizeof(four));
    *sum0 = AddFourProducts(*sum0, Unsigned{} + four, (Unsigned)w0);
    *sum1 = AddFourProducts(*sum1, Unsigned{} + four, (Unsigned)w1);
  }
  /// start + x factors[0] + y factors[1] of 16-bit numbers.
  CAFFE_SIMD Integers TwoProducts(int32_t start, const Integers& x, const Integers& y,
                                  const int16_t (&factors)[2]) {
    return x * factors[0] + y * factors[1] + start;
  }
  /// sums + the products of four bytes in each lane: unsigned ones of x by signed weights. Where
  /// kByteProductsSaturate: the sum of the first two, and that of the other two, at 16 bits.
  CAFFE_SIMD Integers AddFourProducts(Integers sums, const Unsigned& x, const Unsigned& weights) {
    for (int lane = 0; lane < kBlock; ++lane) {
      for (int byte = 0; byte < 32; byte += 8) {
        sums[lane] += static_cast<uint8_t>(x[lane] >> byte) *
                      static_cast<int8_t>(static_cast<uint8_t>(weights[lane] >> byte));
      }
    }
    return sums;
  }
  /// Stands for a row of bytes outside the image: four equal bytes.
  typedef uint32_t Outside;
  CAFFE_SIMD Outside AllOutside(uint32_t four) { return four; }
  /// Four bytes of each channel in its lane: those at `offset` in four rows, for a null row those
  /// of `outside`.
  CAFFE_SIMD Unsigned GatherRows(const char* const (&rows)[4], ptrdiff_t offset,
                                 const Outside& outside) {
    Unsigned lanes;
    for (int lane = 0; lane < kBlock; ++lane) {
      uint32_t four = 0;
      for (int r = 0; r < 4; ++r) {
        const auto byte = static_cast<uint8_t>(rows[r] ? rows[r][offset + lane] : outside & 0xff);
        four |= uint32_t{byte} << 8 * r;
      }
      lanes[lane] = four;
    }
    return lanes;
  }

  // ---- 32-bit integers and their 64-bit products.

  /// Odd lanes moved to the even ones.
  CAFFE_SIMD Integers OddLanes(const Integers& x) { return (Integers)((Wide)x >> 32); }
  /// The products of even lanes.
  CAFFE_SIMD Wide EvenProducts(const Integers& x, const Integers& y) {
    Wide products;
    for (int i = 0; i < kBlock / 2; ++i) products[i] = int64_t{x[2 * i]} * y[2 * i];
    return products;
  }
  /// Even lanes of one, odd ones of the other.
  CAFFE_SIMD Integers EvenAndOdd(const Wide& even, const Wide& odd) {
    Integers lanes = (Integers)even;
    for (int i = 1; i < kBlock; i += 2) lanes[i] = ((Integers)odd)[i];
    return lanes;
  }
  /// The upper halves of these products in even and odd lanes.
  CAFFE_SIMD Integers UpperHalves(const Wide& even, const Wide& odd) {
    Integers lanes = (Integers)odd;
    for (int i = 0; i < kBlock; i += 2) lanes[i] = ((Integers)even)[i + 1];
    return lanes;
  }
  CAFFE_SIMD Integers ShiftRight(const Integers& x, const Integers& by) { return x >> by; }
  /// x where the sign bit is set, else y.
  CAFFE_SIMD Integers WhereNegative(const Integers& sign, const Integers& x, const Integers& y) {
    return sign < 0 ? x : y;
  }
  CAFFE_SIMD bool HasNegative(const Integers& x) {
    int32_t all = 0;
    for (int lane = 0; lane < kBlock; ++lane) all |= x[lane];
    return all < 0;
  }
  /// A table's entries at these places, and the next ones.
  CAFFE_SIMD void GatherTwo(const int32_t* table, const Integers& at, Integers* here,
                            Integers* next) {
    for (int lane = 0; lane < kBlock; ++lane) {
      (*here)[lane] = table[at[lane]];
      (*next)[lane] = table[at[lane] + 1];
    }
  }

  // ---- Four blocks of bytes.

  template <typename T>
  CAFFE_SIMD FourBlocks MaxOfBytes(const FourBlocks& a, const FourBlocks& b) {
    if constexpr (T(-1) < T(0)) {
      typedef typename VectorsOf<block>::SignedBytes Signed;
      return (FourBlocks)((Signed)a > (Signed)b ? (Signed)a : (Signed)b);
    } else {
      return a > b ? a : b;
    }
  }
  /// The first and third block of each.
  CAFFE_SIMD FourBlocks EveryOther(const FourBlocks& low, const FourBlocks& high) {
    FourBlocks blocks;
    for (int i = 0; i < block; ++i) {
      blocks[i] = low[i];
      blocks[block + i] = low[2 * block + i];
      blocks[2 * block + i] = high[i];
      blocks[3 * block + i] = high[2 * block + i];
    }
    return blocks;
  }
};

}  // namespace

namespace generic {
namespace {

struct Simd : GenericSimd<8> {};

}  // namespace
}  // namespace generic
}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_SIMD_GENERIC_HPP_
