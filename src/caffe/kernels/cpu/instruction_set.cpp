#include "caffe/kernels/instruction_set.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "caffe/error.hpp"

namespace caffe {
namespace kernels {
namespace {

std::atomic<int> chosen{-1};

#if defined(__x86_64__) && defined(__linux__)
/// The processor has tiles with both kinds of products, and the operating system saves them.
bool ProcessorHasAmx() {
  constexpr unsigned kOsXsave = 1u << 27;                                   // leaf 1, ECX
  constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24, kInt8 = 1u << 25;  // leaf 7, EDX
  constexpr unsigned kTileState = 3u << 17;  // XCR0: XTILECFG, XTILEDATA
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & kOsXsave)) return false;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  if ((d & (kBf16 | kTile | kInt8)) != (kBf16 | kTile | kInt8)) return false;
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & kTileState) == kTileState;
}

/// Linux gives a process the tiles' 8 KB of state only if it asks, for all its threads at once.
bool MayUseTiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool HasAmx() {
  static const bool has = ProcessorHasAmx() && MayUseTiles();
  return has;
}
#elif defined(__x86_64__)
bool HasAmx() { return false; }
#endif

InstructionSet Choose() {
  const std::vector<InstructionSet> supported = SupportedInstructionSets();
  const char* wanted = std::getenv("CAFFE_CPU_ISA");
  if (!wanted || !*wanted) return supported.back();
  std::string names;
  if (wanted == std::string(Name(InstructionSet::EMULATED_AMX))) {
    return InstructionSet::EMULATED_AMX;
  }
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
    case InstructionSet::AVX2_VNNI:
      return "avx2_vnni";
    case InstructionSet::AVX512:
      return "avx512";
    case InstructionSet::AVX512_VNNI:
      return "avx512_vnni";
    case InstructionSet::AMX:
      return "amx";
    default:
      return "emulated_amx";
  }
}

std::vector<InstructionSet> SupportedInstructionSets() {
  std::vector<InstructionSet> sets = {InstructionSet::GENERIC};
#if defined(__x86_64__)
  // These ask CPUID and whether the operating system saves the registers.
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("f16c")) {
    sets.push_back(InstructionSet::AVX2);
    if (__builtin_cpu_supports("avxvnni")) sets.push_back(InstructionSet::AVX2_VNNI);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
      sets.push_back(InstructionSet::AVX512);
      if (__builtin_cpu_supports("avx512vnni")) sets.push_back(InstructionSet::AVX512_VNNI);
      if (HasAmx()) sets.push_back(InstructionSet::AMX);
    }
  }
#endif
  return sets;
}

std::vector<InstructionSet> FloatInstructionSets() {
  std::vector<InstructionSet> sets = SupportedInstructionSets();
  const auto has_vnni = [](InstructionSet set) {
    return set == InstructionSet::AVX2_VNNI || set == InstructionSet::AVX512_VNNI;
  };
  sets.erase(std::remove_if(sets.begin(), sets.end(), has_vnni), sets.end());
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

InstructionSet VectorInstructionSet() {
  const InstructionSet set = CpuInstructionSet();
  if (set < InstructionSet::AMX) return set;
  static const InstructionSet best = [] {
    std::vector<InstructionSet> sets = SupportedInstructionSets();
    if (sets.back() == InstructionSet::AMX) sets.pop_back();
    return sets.back();
  }();
  return best;
}

void SetCpuInstructionSet(InstructionSet set) {
  std::vector<InstructionSet> supported = SupportedInstructionSets();
  supported.push_back(InstructionSet::EMULATED_AMX);
  Require(std::find(supported.begin(), supported.end(), set) != supported.end(),
          "this machine does not run ", Name(set));
  chosen.store(static_cast<int>(set));
}

}  // namespace kernels
}  // namespace caffe
