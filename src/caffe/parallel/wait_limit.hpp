#ifndef CAFFE_WAIT_LIMIT_HPP_
#define CAFFE_WAIT_LIMIT_HPP_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace caffe {

/// How long one wait has lasted, in ticks of whoever calls Tick. A process that is stopped (Ctrl-Z)
/// does not tick, so that all ranks of a job may be stopped for as long as one likes.
class WaitTicks {
 public:
  explicit WaitTicks(int limit) : limit_(limit) {}
  /// One wait at a time, from any thread.
  void Begin() { current_ = ++last_; }
  void End() { current_ = 0; }
  /// True if this tick is the one that makes the current wait too long. From one thread.
  bool Tick();

 private:
  const int limit_;
  std::atomic<uint64_t> last_{0}, current_{0};  // numbers of waits; 0: none
  uint64_t seen_ = 0;
  int ticks_ = 0;
};

/// Calls `expired`, in a thread of its own, when one wait lasts longer than `limit`; 0: none does.
class WaitLimit {
 public:
  WaitLimit(std::chrono::milliseconds limit, std::function<void()> expired);
  ~WaitLimit();
  WaitLimit(const WaitLimit&) = delete;
  WaitLimit& operator=(const WaitLimit&) = delete;

  /// Lives as long as the caller waits.
  class Wait {
   public:
    explicit Wait(WaitLimit* limit) : ticks_(&limit->ticks_) { ticks_->Begin(); }
    ~Wait() { ticks_->End(); }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    WaitTicks* const ticks_;
  };

 private:
  void Watch();

  const std::chrono::milliseconds tick_;
  const std::function<void()> expired_;
  WaitTicks ticks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace caffe

#endif  // CAFFE_WAIT_LIMIT_HPP_
