#ifndef CAFFE_KERNELS_INSTRUCTION_SET_HPP_
#define CAFFE_KERNELS_INSTRUCTION_SET_HPP_

#include <vector>

namespace caffe {
namespace kernels {

/// What the CPU kernels may use, each but the last including the one before.
enum class InstructionSet {
  GENERIC,  ///< what every processor of the architecture has
  AVX2,     ///< x86-64 with AVX2, FMA and F16C
  AVX512,   ///< and AVX-512 F, BW, DQ, VL
  AMX,      ///< and matrix products in tiles of bfloat16 and of 8-bit integers
  /// AMX in software, for tests: matrix products by the kernels of AMX, whose instructions are
  /// computed one by one, the rest by the best other set. Runs everywhere, slowly.
  EMULATED_AMX
};

/// "generic", "avx2", "avx512", "amx", "emulated_amx".
const char* Name(InstructionSet set);

/// What this processor and operating system can run, GENERIC first; without EMULATED_AMX. The first
/// call asks the operating system for the use of AMX's registers; where it refuses, AMX is missing.
std::vector<InstructionSet> SupportedInstructionSets();

/// The set in use: the best supported one, or the one that the environment variable
/// CAFFE_CPU_ISA names (emulated_amx too). Throws Error for a name that is unknown or not supported
/// here.
InstructionSet CpuInstructionSet();

/// What kernels use that know no tiles: the set in use, AVX512 for AMX, the best set supported here
/// below AMX for EMULATED_AMX.
InstructionSet VectorInstructionSet();

/// Uses another supported set, or EMULATED_AMX, from now on (for tests; not while kernels run).
void SetCpuInstructionSet(InstructionSet set);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_INSTRUCTION_SET_HPP_
