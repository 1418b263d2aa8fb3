// How many threads share a loop, how long they wait for the next one, and what a fork leaves of
// them.
#include "threads.hpp"

#include <omp.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <optional>

#include "caffe/common.hpp"
#include "caffe/context.hpp"
#include "caffe/kernels/blas.hpp"
#include "caffe/kernels/loop_team.hpp"
#include "caffe/util/system/cpu_quota.hpp"

/// Of openmp_settings.cpp, by way of the chain of libraries.
extern "C" void CAFFE_RESTORE_OPENMP_ENVIRONMENT(void);

/// Only LLVM's OpenMP and Intel's have it.
extern "C" __attribute__((weak)) int kmp_get_blocktime(void);

namespace caffe {
namespace {

/// Libraries that this one needs are loaded before it: libgomp has read its environment.
[[maybe_unused]] const bool environment_is_restored = (CAFFE_RESTORE_OPENMP_ENVIRONMENT(), true);

/// A forked child has the forking thread alone. libgomp would go on as if that one's team were
/// there, and wait for it for ever. A thread that has no team makes one where it next needs it, in
/// parent and child. The teams of other threads stay: nothing in the child uses them. Inside a
/// parallel loop libgomp refuses, and nothing changes. The other OpenMP has a handler of its own.
void EndTeamBeforeFork() {
  if (!kmp_get_blocktime) omp_pause_resource_all(omp_pause_hard);
  kernels::LoopTeam::End();
}

[[maybe_unused]] const bool teams_end_before_forks =
    pthread_atfork(&EndTeamBeforeFork, nullptr, nullptr) == 0;

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
