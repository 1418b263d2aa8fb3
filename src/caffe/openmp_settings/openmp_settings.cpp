#include "openmp_settings.hpp"

#include <cstdlib>

namespace {

constexpr char kVariable[] = "GOMP_SPINCOUNT";
/// Some 50 microseconds: as long as a net's loops are apart, and short for the work of others.
/// docs/performance.md has measurements.
constexpr char kSpins[] = "3000";

bool is_ours = false;

__attribute__((constructor)) void SetSpinCount() {
  if (std::getenv(kVariable) || std::getenv("OMP_WAIT_POLICY")) return;
  is_ours = setenv(kVariable, kSpins, 0) == 0;
}

}  // namespace

extern "C" void caffe_restore_openmp_environment(void) {
  if (is_ours) unsetenv(kVariable);
  is_ours = false;
}
