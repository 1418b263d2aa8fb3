// The registry of instruction sets: a row each. cmake/Kernels.cmake compiles their kernels and
// writes compiled_kernels.hpp, which declares those of the set `name` in namespace `name`, and
// defines CAFFE_COMPILED_NAME where all kernels of the row are there, and CAFFE_NATIVE_KERNELS
// where they are for one processor alone.
#include "caffe/kernels/instruction_set.hpp"
#include "compiled_kernels.hpp"
#include "instruction_set_row.hpp"

namespace caffe::kernels {
namespace {

using Features = CpuFeatures;

[[maybe_unused]] constexpr Features kAvx2 = Features::AVX2 | Features::F16C;
[[maybe_unused]] constexpr Features kAvx512 = kAvx2 | Features::AVX512;

const InstructionSetRow kRows[] = {
    {"generic", Features::NONE, false, &generic::kVectorKernels, &generic::kPackedTiles,
     &generic::kInt8Tiles, &generic::kWinogradKernels, &generic::kWinogradKernels,
     &generic::kPairTiles, nullptr},
#ifdef CAFFE_COMPILED_AVX2
    {"avx2", kAvx2, false, &avx2::kVectorKernels, &avx2::kPackedTiles, &avx2::kInt8Tiles,
     &avx2::kWinogradKernels, &avx2::kWinogradKernels, nullptr, nullptr},
#endif
#ifdef CAFFE_COMPILED_AVX2_VNNI
    // Only the kernels of 8-bit integers use VNNI.
    {"avx2_vnni", kAvx2 | Features::AVX_VNNI, false, &avx2::kVectorKernels, &avx2::kPackedTiles,
     &avx2_vnni::kInt8Tiles, &avx2::kWinogradKernels, &avx2::kWinogradKernels, nullptr, nullptr},
#endif
#ifdef CAFFE_COMPILED_AVX512
    {"avx512", kAvx512, false, &avx512::kVectorKernels, &avx512::kPackedTiles, &avx512::kInt8Tiles,
     &avx512::kWinogradKernels, &avx2::kWinogradKernels, nullptr, nullptr},
#endif
#ifdef CAFFE_COMPILED_AVX512_VNNI
    {"avx512_vnni", kAvx512 | Features::AVX512_VNNI, false, &avx512::kVectorKernels,
     &avx512::kPackedTiles, &avx512_vnni::kInt8Tiles, &avx512::kWinogradKernels,
     &avx2::kWinogradKernels, nullptr, nullptr},
#endif
#ifdef CAFFE_COMPILED_AVX512_BF16
    // Only the kernels of bfloat16 pairs use AVX512-BF16.
    {"avx512_bf16", kAvx512 | Features::AVX512_VNNI | Features::AVX512_BF16, false,
     &avx512::kVectorKernels, &avx512::kPackedTiles, &avx512_vnni::kInt8Tiles,
     &avx512::kWinogradKernels, &avx2::kWinogradKernels, &avx512_bf16::kPairTiles, nullptr},
#endif
#ifdef CAFFE_COMPILED_AMX
    {"amx", kAvx512 | Features::AVX512_BF16 | Features::AMX_INT8 | Features::AMX_BF16, false,
     nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, &amx::kAmxTiles},
#endif
    // AMX's instructions emulated one by one: runs everywhere, slowly.
    {"emulated_amx", Features::NONE, true, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
     &emulated_amx::kAmxTiles},
};

}  // namespace

InstructionSetRows RegisteredRows() { return {kRows, kRows + sizeof(kRows) / sizeof(kRows[0])}; }

#ifdef CAFFE_NATIVE_KERNELS
bool HasNativeKernelsOnly() { return true; }
#else
bool HasNativeKernelsOnly() { return false; }
#endif

}  // namespace caffe::kernels
