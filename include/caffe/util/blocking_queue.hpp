#ifndef CAFFE_UTIL_BLOCKING_QUEUE_HPP_
#define CAFFE_UTIL_BLOCKING_QUEUE_HPP_

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <queue>
#include <string>

#include "caffe/common.hpp"
#include "caffe/internal_thread.hpp"

namespace caffe {

/// A queue between threads. An internal thread (InternalThread) that waits here leaves with
/// ThreadInterrupted when it is to stop.
template <typename T>
class BlockingQueue {
 public:
  BlockingQueue() {}

  void push(const T& t) {
    std::lock_guard<std::mutex> lock(mutex_);
    queue_.push(t);
    filled_.notify_one();
  }

  /// Says that nothing will come any more: who waits for an element gets this error instead, when
  /// all those that are there have been taken.
  void Close(std::exception_ptr error) {
    std::lock_guard<std::mutex> lock(mutex_);
    closed_by_ = error;
    filled_.notify_all();
  }

  /// Does an internal thread's work: what it throws closes the queue, all but an interruption of
  /// the thread.
  template <typename Work>
  void CloseOnError(const Work& work) {
    try {
      work();
    } catch (const boost::thread_interrupted&) {
      throw;
    } catch (...) {
      Close(std::current_exception());
    }
  }

  /// Leaves it empty and open.
  void Clear() {
    std::lock_guard<std::mutex> lock(mutex_);
    queue_ = {};
    closed_by_ = nullptr;
  }

  bool try_pop(T* t) {
    std::lock_guard<std::mutex> lock(mutex_);
    return Take(t);
  }

  /// Waits for an element; logs `log_on_wait` now and then while it does.
  T pop(const string& log_on_wait = "") {
    std::unique_lock<std::mutex> lock(mutex_);
    Wait(&lock, log_on_wait);
    T t = queue_.front();
    queue_.pop();
    return t;
  }

  bool try_peek(T* t) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (queue_.empty()) return false;
    *t = queue_.front();
    return true;
  }

  T peek() {
    std::unique_lock<std::mutex> lock(mutex_);
    Wait(&lock, "");
    return queue_.front();
  }

  size_t size() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return queue_.size();
  }

 private:
  bool Take(T* t) {
    if (queue_.empty()) return false;
    *t = queue_.front();
    queue_.pop();
    return true;
  }

  void Wait(std::unique_lock<std::mutex>* lock, const string& log_on_wait) {
    while (queue_.empty()) {
      InterruptionPoint();
      if (closed_by_) std::rethrow_exception(closed_by_);
      if (!log_on_wait.empty()) {
        LOG_EVERY_N(INFO, 1000) << log_on_wait;
      }
      filled_.wait_for(*lock, std::chrono::milliseconds(20));
    }
  }

  mutable std::mutex mutex_;
  std::condition_variable filled_;
  std::queue<T> queue_;
  std::exception_ptr closed_by_;

  DISABLE_COPY_AND_ASSIGN(BlockingQueue);
};

}  // namespace caffe

#endif  // CAFFE_UTIL_BLOCKING_QUEUE_HPP_
