// What libraries that libcaffe needs read from the environment when they are loaded, and can be
// told in no other way: how long OpenMP's threads wait for work before they sleep, and for which
// processor OpenBLAS computes.
//
// libgomp, whose threads libcaffe, oneDNN and OpenBLAS share, lets them spin for some milliseconds.
// Where other work wants the cores they keep each other from running all that time: a net takes a
// hundred times as long. OpenBLAS knows the processors that were there when it was released; of a
// younger one it uses kernels for SSE3, at a tenth of the speed.
//
// This library's constructor puts both into the environment, so it has to run before theirs. Where
// no library needs the other the loader begins with those that are named at the deepest level.
// Therefore libcaffe does not name this library, but the first of a chain of libraries that each
// name the next one (chain.cpp): this one, at its end, lies deeper than all that need libgomp,
// libraries that OpenCV needs among them. Where it does not, they keep their own settings, and
// nothing else happens.
#include <cstdlib>

namespace {

/// A variable that the user has not set.
struct Setting {
  const char* name;
  bool is_ours = false;

  void Set(const char* value) { is_ours = !std::getenv(name) && setenv(name, value, 0) == 0; }
  void Restore() {
    if (is_ours) unsetenv(name);
    is_ours = false;
  }
};

Setting spins = {"GOMP_SPINCOUNT"}, processor = {"OPENBLAS_CORETYPE"};

/// Some 50 microseconds: longer than from one loop of a net to the next, and short for other work.
/// docs/performance_notes.md has measurements.
constexpr char kSpins[] = "3000";

/// The oldest of OpenBLAS's processors with this one's vectors, whose kernels its successors use
/// for FLOAT and DOUBLE, too; null: it may know better.
const char* OpenBlasProcessor() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx512) return "SkylakeX";
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx2 && __builtin_cpu_is("intel")) return "Haswell";
#endif
  return nullptr;
}

__attribute__((constructor)) void SetAll() {
  if (!std::getenv("OMP_WAIT_POLICY")) spins.Set(kSpins);
  if (const char* name = OpenBlasProcessor()) processor.Set(name);
}

}  // namespace

extern "C" void THIS(void);

/// Takes the settings out of the environment, so that child processes do not inherit them. Called
/// when the libraries have read them.
extern "C" void THIS(void) {
  spins.Restore();
  processor.Restore();
}
