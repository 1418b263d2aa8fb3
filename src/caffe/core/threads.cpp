// How many threads share a loop, and how long they wait for the next one.
#include "threads.hpp"

#include <omp.h>

#include <atomic>
#include <cstdlib>
#include <optional>

#include "caffe/common.hpp"
#include "caffe/context.hpp"
#include "caffe/kernels/blas.hpp"
#include "caffe/util/system/cpu_quota.hpp"

/// Of openmp_settings.cpp, by way of the chain of libraries.
extern "C" void CAFFE_RESTORE_OPENMP_ENVIRONMENT(void);

namespace caffe {
namespace {

/// Libraries that this one needs are loaded before it: libgomp has read its environment.
[[maybe_unused]] const bool environment_is_restored = (CAFFE_RESTORE_OPENMP_ENVIRONMENT(), true);

std::atomic<int> latest{0};  // 0: set_threads was not called

}  // namespace

// OpenMP has a number for each thread. It knows nothing of quotas; where the program has given it
// a number itself, that one stands.
void StartWithLatestThreads() {
  if (latest > 0) {
    omp_set_num_threads(latest);
    return;
  }
  static const std::optional<int> quota =
      std::getenv("OMP_NUM_THREADS") ? std::nullopt : CpuQuota();
  const int threads = omp_get_max_threads();
  if (quota && *quota < threads && threads == omp_get_num_procs()) omp_set_num_threads(*quota);
}

int Caffe::threads() {
  Context::Current();  // a thread's first use of Caffe
  return omp_get_max_threads();
}

void Caffe::set_threads(int threads) {
  Require(threads >= 1, "the number of threads must be at least 1, got ", threads);
  Context::Current();
  latest = threads;
  omp_set_num_threads(threads);
  kernels::SetBlasThreads(threads);
}

}  // namespace caffe
