#ifndef CAFFE_KERNELS_CPU_SIMD_AMX_HPP_
#define CAFFE_KERNELS_CPU_SIMD_AMX_HPP_

// For amx_tiles.inc: AMX's own instructions.
#include "amx_tiles.hpp"

namespace caffe::kernels {
namespace {

/// A tile instruction names its registers in its text: constants of the template.
#define CAFFE_DOT(name, instruction)                                     \
  template <int sum, int x, int weights>                                 \
  static void name() {                                                   \
    __asm__ volatile(instruction " %%tmm%c[w], %%tmm%c[x], %%tmm%c[sum]" \
                     :                                                   \
                     : [w] "i"(weights), [x] "i"(x), [sum] "i"(sum));    \
  }

struct Tiles {
  static void Configure(const TileConfig& config) {
    __asm__ volatile("ldtilecfg %[config]" : : [config] "m"(config));
  }
  static void Release() { __asm__ volatile("tilerelease"); }
  template <int tile>
  static void Zero() {
    __asm__ volatile("tilezero %%tmm%c[tile]" : : [tile] "i"(tile));
  }
  // What memory they touch the compiler is not told, but that it is memory.
  template <int tile>
  static void Load(const void* base, size_t stride) {
    __asm__ volatile("tileloadd (%[base],%[stride],1), %%tmm%c[tile]"
                     :
                     : [base] "r"(base), [stride] "r"(stride), [tile] "i"(tile)
                     : "memory");
  }
  template <int tile>
  static void Store(void* base, size_t stride) {
    __asm__ volatile("tilestored %%tmm%c[tile], (%[base],%[stride],1)"
                     :
                     : [base] "r"(base), [stride] "r"(stride), [tile] "i"(tile)
                     : "memory");
  }
  CAFFE_DOT(DotSigned, "tdpbssd")
  CAFFE_DOT(DotUnsigned, "tdpbusd")
  CAFFE_DOT(DotBFloat16, "tdpbf16ps")
};

#undef CAFFE_DOT

}  // namespace
}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_SIMD_AMX_HPP_
