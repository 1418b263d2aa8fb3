#ifndef CAFFE_INTERNAL_THREAD_HPP_
#define CAFFE_INTERNAL_THREAD_HPP_

#include <atomic>
#include <boost/thread/exceptions.hpp>
#include <exception>
#include <memory>
#include <thread>

#include "caffe/common.hpp"

namespace caffe {

/// Thrown inside an internal thread that waits on a queue when it is to stop. As in Caffe, it is
/// what Boost's threads throw.
struct ThreadInterrupted : boost::thread_interrupted {};

/// Throws ThreadInterrupted if the calling thread is an internal one that is to stop.
void InterruptionPoint();

/// A thread that runs InternalThreadEntry of a subclass. It starts with the settings (mode,
/// device, ranks) of the thread that starts it, and with a random seed drawn from that one's
/// generator. Where Boost's thread library was there when this one was built it is a boost::thread,
/// so that what waits in a sleep, condition variable or join of Boost's is interrupted, too.
class InternalThread {
 public:
  InternalThread() {}
  /// A subclass stops the thread in its own destructor, before its members go.
  virtual ~InternalThread() { StopInternalThread(); }

  void StartInternalThread();
  /// Asks the thread to stop and waits for it. Harmless if there is none.
  void StopInternalThread();
  bool is_started() const { return thread_ != nullptr; }

 protected:
  virtual void InternalThreadEntry() {}
  /// To be asked by long loops in InternalThreadEntry.
  bool must_stop() const { return stop_; }

 private:
  friend void InterruptionPoint();
  class Thread;

  std::shared_ptr<Thread> thread_;
  std::atomic<bool> stop_{false};

  DISABLE_COPY_AND_ASSIGN(InternalThread);
};

}  // namespace caffe

#endif  // CAFFE_INTERNAL_THREAD_HPP_
