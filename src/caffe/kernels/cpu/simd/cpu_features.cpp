#include "caffe/kernels/cpu_features.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

namespace caffe::kernels {
namespace {

enum Register { EAX, EBX, ECX, EDX };

/// Bits of one register that CPUID fills.
struct CpuidBits {
  unsigned leaf, subleaf;
  Register in;
  unsigned bits;
};

/// States of registers that the operating system saves, bits of XCR0.
constexpr unsigned kAvxState = 0x6, kAvx512State = 0xe6, kTileState = 0x60000;

struct FeatureRow {
  CpuFeatures feature;
  const char* name;
  unsigned state;
  CpuidBits bits[2];  ///< all of them
};

constexpr CpuidBits InLeaf7(Register in, unsigned bits) { return {7, 0, in, bits}; }
constexpr CpuidBits InLeaf7_1(Register in, unsigned bits) { return {7, 1, in, bits}; }
constexpr CpuidBits kTile = InLeaf7(EDX, 1u << 24);

constexpr FeatureRow kFeatureRows[] = {
    {CpuFeatures::AVX2, "avx2", kAvxState, {InLeaf7(EBX, 1u << 5), {1, 0, ECX, 1u << 12}}},
    {CpuFeatures::F16C, "f16c", kAvxState, {{1, 0, ECX, 1u << 29}}},
    {CpuFeatures::AVX_VNNI, "avx_vnni", kAvxState, {InLeaf7_1(EAX, 1u << 4)}},
    {CpuFeatures::AVX512,
     "avx512",
     kAvx512State,
     {InLeaf7(EBX, 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31)}},
    {CpuFeatures::AVX512_VNNI, "avx512_vnni", kAvx512State, {InLeaf7(ECX, 1u << 11)}},
    {CpuFeatures::AVX512_FP16, "avx512_fp16", kAvx512State, {InLeaf7(EDX, 1u << 23)}},
    {CpuFeatures::AVX512_BF16, "avx512_bf16", kAvx512State, {InLeaf7_1(EAX, 1u << 5)}},
    {CpuFeatures::AMX_INT8, "amx_int8", kTileState, {InLeaf7(EDX, 1u << 25), kTile}},
    {CpuFeatures::AMX_BF16, "amx_bf16", kTileState, {InLeaf7(EDX, 1u << 22), kTile}},
    {CpuFeatures::AMX_FP16, "amx_fp16", kTileState, {InLeaf7_1(EAX, 1u << 21), kTile}},
};

#if defined(__x86_64__)
bool Has(const CpuidBits& wanted) {
  unsigned r[4];
  if (wanted.bits == 0) return true;
  if (!__get_cpuid_count(wanted.leaf, wanted.subleaf, r, r + 1, r + 2, r + 3)) return false;
  return (r[wanted.in] & wanted.bits) == wanted.bits;
}

/// XCR0; 0 if programs may not read it.
unsigned SavedStates() {
  if (!Has({1, 0, ECX, 1u << 27})) return 0;  // OSXSAVE
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

/// Linux grants a process the tiles' 8 KB of state only on request, for all its threads at once.
bool RequestTiles() {
#if defined(__linux__)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

CpuFeatures FeaturesWith(unsigned states) {
  CpuFeatures found = CpuFeatures::NONE;
  for (const FeatureRow& row : kFeatureRows) {
    const bool has = Has(row.bits[0]) && Has(row.bits[1]) && (states & row.state) == row.state;
    if (has) found = found | row.feature;
  }
  return found;
}
#endif

const DetectedCpuFeatures& Detected() {
  static const DetectedCpuFeatures detected = DetectCpuFeatures(nullptr);
  return detected;
}

}  // namespace

#if defined(__x86_64__)
DetectedCpuFeatures DetectCpuFeatures(bool (*request_tiles)()) {
  if (!request_tiles) request_tiles = RequestTiles;
  const unsigned states = SavedStates();
  const CpuFeatures all = FeaturesWith(states);
  const bool has_tiles = (states & kTileState) == kTileState && Has(kTile);
  if (!has_tiles || request_tiles()) return {all, CpuFeatures::NONE};
  const CpuFeatures found = FeaturesWith(states & ~kTileState);
  return {found, Without(all, found)};
}
#else
DetectedCpuFeatures DetectCpuFeatures(bool (*)()) { return {}; }
#endif

std::vector<std::string> NamesOf(CpuFeatures features) {
  std::vector<std::string> names;
  for (const FeatureRow& row : kFeatureRows) {
    if (Includes(features, row.feature)) names.push_back(row.name);
  }
  return names;
}

CpuFeatures FoundCpuFeatures() { return Detected().found; }
CpuFeatures RefusedCpuFeatures() { return Detected().refused; }

}  // namespace caffe::kernels
