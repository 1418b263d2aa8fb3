#ifndef CAFFE_UTIL_THREAD_TEAM_HPP_
#define CAFFE_UTIL_THREAD_TEAM_HPP_

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>

#include "caffe/common.hpp"
#include "caffe/util/system/joined_threads.hpp"

namespace caffe {

/// Threads that share loops over independent items, for work other than a net's own (decoding); the
/// loops inside a net run on OpenMP's team (kernels/parallel.hpp).
class ThreadTeam {
 public:
  /// `size` threads, the one that calls ForEach among them; at least 1. Throws std::system_error
  /// where the system has no more.
  explicit ThreadTeam(int size);
  ~ThreadTeam();

  int size() const { return threads_.size() + 1; }

  /// Calls f(0) ... f(count - 1), each once, in any order, several at a time; returns when all are
  /// done. If calls throw, the rest may be left out, and the exception of the lowest item is
  /// rethrown: the one that a plain loop would have met.
  void ForEach(int count, const std::function<void(int)>& f);

 private:
  void Work();
  void Stop();
  /// Takes items until there are none; `lock` is held, but not during a call.
  void TakeItems(std::unique_lock<std::mutex>* lock);

  std::mutex mutex_;
  std::condition_variable work_, done_;
  const std::function<void(int)>* function_ = nullptr;
  int next_ = 0, count_ = 0, running_ = 0;
  int failed_item_ = 0;
  std::exception_ptr error_;
  bool stop_ = false;
  JoinedThreads threads_;

  DISABLE_COPY_AND_ASSIGN(ThreadTeam);
};

}  // namespace caffe

#endif  // CAFFE_UTIL_THREAD_TEAM_HPP_
