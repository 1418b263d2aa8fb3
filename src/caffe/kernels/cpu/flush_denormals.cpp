#include "caffe/kernels/parallel.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace caffe {
namespace kernels {

#if defined(__x86_64__)

namespace {
constexpr unsigned kFlushToZero = 0x8000;
constexpr unsigned kDenormalsAreZero = 0x0040;
}  // namespace

FlushDenormals::FlushDenormals() {
  constexpr unsigned kBoth = kFlushToZero | kDenormalsAreZero;
  if (omp_in_parallel() || (_mm_getcsr() & kBoth) == kBoth) {
    // Nested: the outermost one already sees to the team.
    saved_.assign(1, _mm_getcsr());
    _mm_setcsr(saved_[0] | kBoth);
    return;
  }
  saved_.resize(omp_get_max_threads());
#pragma omp parallel num_threads(static_cast <int>(saved_.size()))
  {
    const int thread = omp_get_thread_num();
    saved_[thread] = _mm_getcsr();
    _mm_setcsr(saved_[thread] | kBoth);
  }
}

// The exception flags that were raised meanwhile stay raised, as after any arithmetic.
FlushDenormals::~FlushDenormals() {
  constexpr unsigned kFlags = 0x3f;
  if (saved_.size() == 1) {
    _mm_setcsr(saved_[0] | (_mm_getcsr() & kFlags));
    return;
  }
#pragma omp parallel num_threads(static_cast <int>(saved_.size()))
  {
    const int thread = omp_get_thread_num();
    _mm_setcsr(saved_[thread] | (_mm_getcsr() & kFlags));
  }
}

#else

FlushDenormals::FlushDenormals() = default;
FlushDenormals::~FlushDenormals() = default;

#endif

}  // namespace kernels
}  // namespace caffe
