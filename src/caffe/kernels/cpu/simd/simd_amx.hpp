#ifndef CAFFE_KERNELS_CPU_SIMD_AMX_HPP_
#define CAFFE_KERNELS_CPU_SIMD_AMX_HPP_

// For amx_tiles.inc: AMX's own instructions.
#include <immintrin.h>

#include "amx_tiles.hpp"

namespace caffe::kernels {
namespace {

// The intrinsics need a register number as a literal for the assembler, not any constant
// expression. Nor do they tell the compiler what memory they read.
#define CAFFE_FOR_TILE(instruction, tile, ...)              \
  do {                                                      \
    if constexpr (tile == 0) instruction(0, ##__VA_ARGS__); \
    if constexpr (tile == 1) instruction(1, ##__VA_ARGS__); \
    if constexpr (tile == 2) instruction(2, ##__VA_ARGS__); \
    if constexpr (tile == 3) instruction(3, ##__VA_ARGS__); \
    if constexpr (tile == 4) instruction(4, ##__VA_ARGS__); \
    if constexpr (tile == 5) instruction(5, ##__VA_ARGS__); \
    if constexpr (tile == 6) instruction(6, ##__VA_ARGS__); \
    if constexpr (tile == 7) instruction(7, ##__VA_ARGS__); \
  } while (false)
// Sums are tiles 0 to 3, of rows 4 + sum / 2 and weights 6 + sum % 2.
#define CAFFE_FOR_SUM(instruction, sum)           \
  do {                                            \
    if constexpr (sum == 0) instruction(0, 4, 6); \
    if constexpr (sum == 1) instruction(1, 4, 7); \
    if constexpr (sum == 2) instruction(2, 5, 6); \
    if constexpr (sum == 3) instruction(3, 5, 7); \
  } while (false)

struct Tiles {
  static void Configure(const TileConfig& config) {
    __asm__ volatile("" : : "r"(&config) : "memory");
    _tile_loadconfig(&config);
  }
  static void Release() { _tile_release(); }
  template <int tile>
  static void Load(const void* base, size_t stride) {
    CAFFE_FOR_TILE(_tile_loadd, tile, base, stride);
  }
  template <int tile>
  static void Store(void* base, size_t stride) {
    CAFFE_FOR_TILE(_tile_stored, tile, base, stride);
  }
  template <int sum>
  static void DotSigned() {
    CAFFE_FOR_SUM(_tile_dpbssd, sum);
  }
  template <int sum>
  static void DotUnsigned() {
    CAFFE_FOR_SUM(_tile_dpbusd, sum);
  }
  template <int sum>
  static void DotBFloat16() {
    CAFFE_FOR_SUM(_tile_dpbf16ps, sum);
  }
};

#undef CAFFE_FOR_TILE
#undef CAFFE_FOR_SUM

}  // namespace
}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_SIMD_AMX_HPP_
