#include "caffe/kernels/parallel.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace caffe::kernels {

#if defined(__x86_64__)

namespace {
constexpr unsigned kFlushToZero = 0x8000;
constexpr unsigned kDenormalsAreZero = 0x0040;
}  // namespace

FlushDenormals::FlushDenormals() {
  constexpr unsigned kBoth = kFlushToZero | kDenormalsAreZero;
  if (InParallel() || LoopTeam::IsUsed()) {  // whose threads take it from this one
    saved_.assign(1, Saved{true, _mm_getcsr()});
    _mm_setcsr(saved_[0].word | kBoth);
    return;
  }
  // A team may be smaller than requested: only saved modes are restored.
  saved_.assign(omp_get_max_threads(), Saved{false, 0});
#pragma omp parallel num_threads(static_cast <int>(saved_.size()))
  {
    Saved& own = saved_[omp_get_thread_num()];
    own = Saved{true, _mm_getcsr()};
    _mm_setcsr(own.word | kBoth);
  }
}

// The exception flags that were raised meanwhile stay raised, as after any arithmetic.
FlushDenormals::~FlushDenormals() {
  constexpr unsigned kFlags = 0x3f;
  const auto restore = [](const Saved& own) {
    if (own.valid) _mm_setcsr(own.word | (_mm_getcsr() & kFlags));
  };
  if (saved_.size() == 1) {
    restore(saved_[0]);
    return;
  }
#pragma omp parallel num_threads(static_cast <int>(saved_.size()))
  restore(saved_[omp_get_thread_num()]);
}

#else

FlushDenormals::FlushDenormals() = default;
FlushDenormals::~FlushDenormals() = default;

#endif

}  // namespace caffe::kernels
