#ifndef CAFFE_KERNELS_INSTRUCTION_SET_HPP_
#define CAFFE_KERNELS_INSTRUCTION_SET_HPP_

#include <vector>

namespace caffe {
namespace kernels {

/// What the CPU kernels may use, in the order of preference. Sets with VNNI differ from those
/// before them in the kernels of 8-bit integers alone.
enum class InstructionSet {
  GENERIC,      ///< what every processor of the architecture has
  AVX2,         ///< x86-64 with AVX2, FMA and F16C
  AVX2_VNNI,    ///< and AVX-VNNI: sums of four products of bytes in vectors of 256 bits
  AVX512,       ///< AVX2 and AVX-512 F, BW, DQ, VL
  AVX512_VNNI,  ///< and AVX512-VNNI: the same sums in vectors of 512 bits
  AMX,          ///< and matrix products in tiles of bfloat16 and of 8-bit integers
  /// AMX in software, for tests: matrix products by the kernels of AMX, whose instructions are
  /// computed one by one, the rest by the best other set. Runs everywhere, slowly.
  EMULATED_AMX
};

/// "generic", "avx2", "avx2_vnni", "avx512", "avx512_vnni", "amx", "emulated_amx".
const char* Name(InstructionSet set);

/// What this processor and operating system can run, GENERIC first; without EMULATED_AMX. The first
/// call asks the operating system for the use of AMX's registers; where it refuses, AMX is missing.
std::vector<InstructionSet> SupportedInstructionSets();

/// Those of them whose kernels of floats differ: all but the sets with VNNI.
std::vector<InstructionSet> FloatInstructionSets();

/// The set in use: the best supported one, or the one that the environment variable
/// CAFFE_CPU_ISA names (emulated_amx too). Throws Error for a name that is unknown or not supported
/// here.
InstructionSet CpuInstructionSet();

/// What kernels use that know no tiles: the set in use; for AMX and EMULATED_AMX the best set
/// supported here below AMX.
InstructionSet VectorInstructionSet();

/// Uses another supported set, or EMULATED_AMX, from now on (for tests; not while kernels run).
void SetCpuInstructionSet(InstructionSet set);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_INSTRUCTION_SET_HPP_
