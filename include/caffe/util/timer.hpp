#ifndef CAFFE_UTIL_TIMER_HPP_
#define CAFFE_UTIL_TIMER_HPP_

#include <chrono>

namespace caffe {

/// A stopwatch. Reading it stops it. In GPU mode it starts and stops when the calling thread's GPU
/// has done what it was given before: it waits for that.
class Timer {
 public:
  virtual ~Timer() {}
  virtual void Start();
  virtual void Stop();
  virtual float MilliSeconds() { return MicroSeconds() / 1000; }
  virtual float MicroSeconds();
  virtual float Seconds() { return MicroSeconds() / 1e6f; }

  bool initted() const { return true; }
  bool running() const { return running_; }
  bool has_run_at_least_once() const { return has_run_; }

 protected:
  virtual void WaitForGpu();

  using Clock = std::chrono::steady_clock;
  bool running_ = false;
  bool has_run_ = false;
  Clock::time_point start_, stop_;
};

/// Caffe's name for a timer that never looks at a GPU.
class CPUTimer : public Timer {
 protected:
  void WaitForGpu() override {}
};

}  // namespace caffe

#endif  // CAFFE_UTIL_TIMER_HPP_
