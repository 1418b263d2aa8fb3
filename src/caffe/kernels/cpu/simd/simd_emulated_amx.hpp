#ifndef CAFFE_KERNELS_CPU_SIMD_EMULATED_AMX_HPP_
#define CAFFE_KERNELS_CPU_SIMD_EMULATED_AMX_HPP_

// For amx_tiles.inc: AMX's instructions in software.
#include "emulated_tiles.hpp"

namespace caffe::kernels {
namespace {

struct Tiles {
  static EmulatedTiles& Own() {  // each thread has registers of its own
    static thread_local EmulatedTiles tiles;
    return tiles;
  }
  static void Configure(const TileConfig& config) { Own().Configure(config); }
  static void Release() { Own().Release(); }
  template <int tile>
  static void Load(const void* base, size_t stride) {
    Own().Load(tile, base, stride);
  }
  template <int tile>
  static void Store(void* base, size_t stride) {
    Own().Store(tile, base, stride);
  }
  template <int sum>
  static void DotSigned() {
    Own().DotSigned(sum, 4 + sum / 2, 6 + sum % 2);
  }
  template <int sum>
  static void DotUnsigned() {
    Own().DotUnsigned(sum, 4 + sum / 2, 6 + sum % 2);
  }
  template <int sum>
  static void DotBFloat16() {
    Own().DotBFloat16(sum, 4 + sum / 2, 6 + sum % 2);
  }
};

}  // namespace
}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_SIMD_EMULATED_AMX_HPP_
