// How long OpenMP's threads wait for work before they sleep.
//
// libgomp, whose threads libcaffe, oneDNN and OpenBLAS share, lets them spin for some milliseconds.
// Where other work wants the cores they keep each other from running all that time: a net takes a
// hundred times as long. The length can be set by the environment alone, which libgomp reads when
// it is loaded; this library's constructor puts it there, so it has to run before libgomp's. Where
// no library needs the other the loader begins with those that are named at the deepest level.
// Therefore libcaffe does not name this library, but the first of a chain of libraries that each
// name the next one (chain.cpp): this one, at its end, lies deeper than all that need libgomp,
// libraries that OpenCV needs among them. Where it does not, libgomp keeps its own setting, and
// nothing else happens.
#include <cstdlib>

namespace {

constexpr char kVariable[] = "GOMP_SPINCOUNT";
/// Some 50 microseconds: longer than from one loop of a net to the next, and short for other work.
/// docs/performance.md has measurements.
constexpr char kSpins[] = "3000";

bool is_ours = false;

__attribute__((constructor)) void SetSpinCount() {
  if (std::getenv(kVariable) || std::getenv("OMP_WAIT_POLICY")) return;
  is_ours = setenv(kVariable, kSpins, 0) == 0;
}

}  // namespace

extern "C" void THIS(void);

/// Takes the setting out of the environment, so that child processes do not inherit it. Called when
/// libgomp has read it.
extern "C" void THIS(void) {
  if (is_ours) unsetenv(kVariable);
  is_ours = false;
}
