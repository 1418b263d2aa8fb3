#include "caffe/kernels/instruction_set.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>

#include "caffe/error.hpp"

namespace caffe {
namespace kernels {
namespace {

std::atomic<int> chosen{-1};

InstructionSet Choose() {
  const std::vector<InstructionSet> supported = SupportedInstructionSets();
  const char* wanted = std::getenv("CAFFE_CPU_ISA");
  if (!wanted || !*wanted) return supported.back();
  std::string names;
  for (InstructionSet set : supported) {
    if (Name(set) == std::string(wanted)) return set;
    names += std::string(names.empty() ? "" : ", ") + Name(set);
  }
  Fail("CAFFE_CPU_ISA is '", wanted, "': this machine runs ", names);
}

}  // namespace

const char* Name(InstructionSet set) {
  switch (set) {
    case InstructionSet::GENERIC:
      return "generic";
    case InstructionSet::AVX2:
      return "avx2";
    default:
      return "avx512";
  }
}

std::vector<InstructionSet> SupportedInstructionSets() {
  std::vector<InstructionSet> sets = {InstructionSet::GENERIC};
#if defined(__x86_64__)
  // These ask CPUID and whether the operating system saves the registers.
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("f16c")) {
    sets.push_back(InstructionSet::AVX2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
      sets.push_back(InstructionSet::AVX512);
    }
  }
#endif
  return sets;
}

InstructionSet CpuInstructionSet() {
  int set = chosen.load(std::memory_order_relaxed);
  if (set < 0) {
    set = static_cast<int>(Choose());
    chosen.store(set);
  }
  return static_cast<InstructionSet>(set);
}

void SetCpuInstructionSet(InstructionSet set) {
  const std::vector<InstructionSet> supported = SupportedInstructionSets();
  Require(std::find(supported.begin(), supported.end(), set) != supported.end(),
          "this machine does not run ", Name(set));
  chosen.store(static_cast<int>(set));
}

}  // namespace kernels
}  // namespace caffe
