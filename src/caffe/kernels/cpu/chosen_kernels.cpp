#include "caffe/kernels/instruction_set.hpp"
#include "vector_kernels.hpp"

namespace caffe {
namespace kernels {

const VectorKernels& ChosenKernels() {
#if defined(__x86_64__)
  switch (CpuInstructionSet()) {
    case InstructionSet::AVX512:
      return kAvx512Kernels;
    case InstructionSet::AVX2:
      return kAvx2Kernels;
    default:
      return kGenericKernels;
  }
#else
  return kGenericKernels;
#endif
}

}  // namespace kernels
}  // namespace caffe
