#ifndef CAFFE_KERNELS_CPU_FEATURES_HPP_
#define CAFFE_KERNELS_CPU_FEATURES_HPP_

#include <stdint.h>

#include <string>
#include <vector>

namespace caffe::kernels {

/// What a processor has beyond the baseline of its architecture; one bit each.
enum class CpuFeatures : uint32_t {
  NONE = 0,
  AVX2 = 1u << 0,         ///< and FMA
  F16C = 1u << 1,         ///< conversions of FLOAT16
  AVX_VNNI = 1u << 2,     ///< sums of four products of bytes in vectors of 256 bits
  AVX512 = 1u << 3,       ///< F, BW, DQ, VL
  AVX512_VNNI = 1u << 4,  ///< the same sums in vectors of 512 bits
  AVX512_FP16 = 1u << 5,  ///< arithmetic in FLOAT16
  AVX512_BF16 = 1u << 6,  ///< sums of two products of BFLOAT16
  AMX_INT8 = 1u << 7,     ///< products of matrices in tiles, of 8-bit integers
  AMX_BF16 = 1u << 8,     ///< of BFLOAT16
  AMX_FP16 = 1u << 9      ///< of FLOAT16
};

constexpr CpuFeatures operator|(CpuFeatures x, CpuFeatures y) {
  return static_cast<CpuFeatures>(static_cast<uint32_t>(x) | static_cast<uint32_t>(y));
}
constexpr CpuFeatures operator&(CpuFeatures x, CpuFeatures y) {
  return static_cast<CpuFeatures>(static_cast<uint32_t>(x) & static_cast<uint32_t>(y));
}
/// The features of x that are not in y.
constexpr CpuFeatures Without(CpuFeatures x, CpuFeatures y) {
  return static_cast<CpuFeatures>(static_cast<uint32_t>(x) & ~static_cast<uint32_t>(y));
}
constexpr bool Includes(CpuFeatures all, CpuFeatures some) { return (all & some) == some; }

/// "avx2", "f16c", "avx_vnni", ...: in the order above.
std::vector<std::string> NamesOf(CpuFeatures features);

struct DetectedCpuFeatures {
  CpuFeatures found = CpuFeatures::NONE;  ///< what programs can use
  /// What the processor has and the operating system saves registers for, but refuses to this
  /// process: AMX's features, or none.
  CpuFeatures refused = CpuFeatures::NONE;
};

/// Looks at the processor. `request_tiles` asks the operating system for permission to use AMX's
/// registers, and is called where there are any; false: it refuses. For tests; null: that of the
/// system.
DetectedCpuFeatures DetectCpuFeatures(bool (*request_tiles)());

/// What the processor has and the operating system lets programs use. Detected once: the first call
/// asks Linux for permission to use AMX's registers; where it refuses, AMX is missing.
CpuFeatures FoundCpuFeatures();
/// DetectedCpuFeatures::refused of the same detection.
CpuFeatures RefusedCpuFeatures();

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_FEATURES_HPP_
