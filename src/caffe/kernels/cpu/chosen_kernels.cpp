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
  const InstructionSet set = VectorInstructionSet();
  if (set >= InstructionSet::AVX512) return avx512;
  return set >= InstructionSet::AVX2 ? avx2 : generic;
}

}  // namespace

const VectorKernels& ChosenKernels() {
  return Choose(kGenericKernels, kAvx2Kernels, kAvx512Kernels);
}
const PackedTiles& ChosenPackedTiles() {
  return Choose(kGenericPackedTiles, kAvx2PackedTiles, kAvx512PackedTiles);
}
const Int8Tiles& ChosenInt8Tiles() {
  const InstructionSet set = VectorInstructionSet();
  return Choose(kGenericInt8Tiles,
                set == InstructionSet::AVX2_VNNI ? kAvxVnniInt8Tiles : kAvx2Int8Tiles,
                set == InstructionSet::AVX512_VNNI ? kAvx512VnniInt8Tiles : kAvx512Int8Tiles);
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
