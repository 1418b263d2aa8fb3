#include "amx_tiles.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "int8_tiles.hpp"
#include "packed_tiles.hpp"
#include "vector_kernels.hpp"

namespace caffe {
namespace kernels {

#if defined(__x86_64__)
namespace {

template <typename Kernels>
const Kernels& Choose(const Kernels& generic, const Kernels& avx2, const Kernels& avx512) {
  switch (VectorInstructionSet()) {
    case InstructionSet::AVX512:
      return avx512;
    case InstructionSet::AVX2:
      return avx2;
    default:
      return generic;
  }
}

}  // namespace

const VectorKernels& ChosenKernels() {
  return Choose(kGenericKernels, kAvx2Kernels, kAvx512Kernels);
}
const PackedTiles& ChosenPackedTiles() {
  return Choose(kGenericPackedTiles, kAvx2PackedTiles, kAvx512PackedTiles);
}
const Int8Tiles& ChosenInt8Tiles() {
  static const bool avx512_vnni = __builtin_cpu_supports("avx512vnni");
  static const bool avx_vnni = __builtin_cpu_supports("avxvnni");
  return Choose(kGenericInt8Tiles, avx_vnni ? kAvxVnniInt8Tiles : kAvx2Int8Tiles,
                avx512_vnni ? kAvx512VnniInt8Tiles : kAvx512Int8Tiles);
}
#else
const VectorKernels& ChosenKernels() { return kGenericKernels; }
const PackedTiles& ChosenPackedTiles() { return kGenericPackedTiles; }
const Int8Tiles& ChosenInt8Tiles() { return kGenericInt8Tiles; }
#endif

const AmxTiles* ChosenAmxTiles() {
  const InstructionSet set = CpuInstructionSet();
#if defined(__x86_64__)
  if (set == InstructionSet::AMX) return &kAmxTiles;
#endif
  return set == InstructionSet::EMULATED_AMX ? &kEmulatedAmxTiles : nullptr;
}

}  // namespace kernels
}  // namespace caffe
