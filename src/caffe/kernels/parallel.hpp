#ifndef CAFFE_KERNELS_PARALLEL_HPP_
#define CAFFE_KERNELS_PARALLEL_HPP_

#include <omp.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <vector>

#include "caffe/kernels/loop_team.hpp"

namespace caffe::kernels {

/// True inside a part of a parallel loop.
inline bool InParallel() { return omp_in_parallel() || LoopTeam::InPart(); }

/// How many parts ParallelFor cuts `n` items into: at least `grain` items each, at most one part
/// per thread; one part inside another parallel loop.
inline size_t ParallelParts(size_t n, size_t grain) {
  if (n <= grain || InParallel()) return 1;
  const size_t threads = static_cast<size_t>(std::max(1, omp_get_max_threads()));
  return std::max<size_t>(1, std::min(threads, n / std::max<size_t>(1, grain)));
}

/// Calls f(part, begin, end) for ParallelParts(n, grain) equal parts of [0, n), each on a thread of
/// its own, which is one of OpenMP's or, within a LoopTeam::Scope, of that team. The cut depends
/// only on n, grain and the number of threads, so sums over parts are repeatable. An exception is
/// rethrown here after all parts have ended.
template <typename Function>
void ParallelParts(size_t n, size_t grain, Function&& f) {
  if (n == 0) return;
  const size_t parts = ParallelParts(n, grain);
  if (parts == 1) {
    f(size_t(0), size_t(0), n);
    return;
  }
  std::vector<std::exception_ptr> errors(parts);
  auto compute = [&](size_t part) {
    try {
      f(part, n * part / parts, n * (part + 1) / parts);
    } catch (...) {
      errors[part] = std::current_exception();
    }
  };
  if (LoopTeam::IsUsed()) {
    LoopTeam::Share(
        parts,
        [](void* context, size_t part) { (*static_cast<decltype(compute)*>(context))(part); },
        &compute);
  } else {
#pragma omp parallel for num_threads(parts) schedule(static, 1)
    for (size_t part = 0; part < parts; ++part) compute(part);
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

/// Calls f(begin, end) for equal parts of [0, n), likewise.
template <typename Function>
void ParallelFor(size_t n, size_t grain, Function&& f) {
  ParallelParts(n, grain, [&f](size_t, size_t begin, size_t end) { f(begin, end); });
}

/// Copies so many bytes; threads share 256 KB or more.
inline void CopyBytes(size_t bytes, const void* from, void* to) {
  ParallelFor(bytes, 1 << 17, [&](size_t begin, size_t end) {
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                end - begin);
  });
}

/// While it lives, loops of the calling thread are shared by `threads` threads, 1 or more.
class TeamSize {
 public:
  explicit TeamSize(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~TeamSize() { omp_set_num_threads(before_); }
  TeamSize(const TeamSize&) = delete;
  TeamSize& operator=(const TeamSize&) = delete;

 private:
  const int before_;
};

/// While it lives, denormal floats count as zero in the calling thread and in the threads that
/// share its loops: vanishing gradients would otherwise slow everything down twentyfold. The
/// threads' modes are restored at the end. Does nothing on processors other than x86-64.
class FlushDenormals {
 public:
  FlushDenormals();
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  struct Saved {
    bool valid;
    unsigned word;
  };
  std::vector<Saved> saved_;  // the control word of each thread of the team
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_PARALLEL_HPP_
