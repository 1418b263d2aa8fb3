#ifndef CAFFE_KERNELS_INSTRUCTION_SET_HPP_
#define CAFFE_KERNELS_INSTRUCTION_SET_HPP_

#include <vector>

namespace caffe {
namespace kernels {

/// What the CPU kernels may use, each including the one before.
enum class InstructionSet {
  GENERIC,  ///< what every processor of the architecture has
  AVX2,     ///< x86-64 with AVX2, FMA and F16C
  AVX512    ///< and AVX-512 F, BW, DQ, VL
};

/// "generic", "avx2", "avx512".
const char* Name(InstructionSet set);

/// What this processor and operating system can run, GENERIC first.
std::vector<InstructionSet> SupportedInstructionSets();

/// The set in use: the best supported one, or the one that the environment variable
/// CAFFE_CPU_ISA names. Throws Error for a name that is unknown or not supported here.
InstructionSet CpuInstructionSet();

/// Uses another supported set from now on (for tests; not while kernels run).
void SetCpuInstructionSet(InstructionSet set);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_INSTRUCTION_SET_HPP_
