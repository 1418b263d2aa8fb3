#ifndef CAFFE_INTERNAL_THREAD_HPP_
#define CAFFE_INTERNAL_THREAD_HPP_

#include <atomic>
#include <exception>
#include <thread>

#include "caffe/common.hpp"

namespace caffe {

/// Thrown inside an internal thread that waits on a queue when it is to stop.
struct ThreadInterrupted {};

/// Throws ThreadInterrupted if the calling thread is an internal one that is to stop.
void InterruptionPoint();

/// A thread that runs InternalThreadEntry of a subclass. It starts with the settings (mode,
/// device, ranks) of the thread that starts it, and with a random seed drawn from that one's
/// generator.
class InternalThread {
 public:
  InternalThread() {}
  /// A subclass stops the thread in its own destructor, before its members go.
  virtual ~InternalThread() { StopInternalThread(); }

  void StartInternalThread();
  /// Asks the thread to stop and waits for it. Harmless if there is none.
  void StopInternalThread();
  bool is_started() const { return thread_.joinable(); }

 protected:
  virtual void InternalThreadEntry() {}
  /// To be asked by long loops in InternalThreadEntry.
  bool must_stop() const { return stop_; }

 private:
  std::thread thread_;
  std::atomic<bool> stop_{false};

  DISABLE_COPY_AND_ASSIGN(InternalThread);
};

}  // namespace caffe

#endif  // CAFFE_INTERNAL_THREAD_HPP_
