#include "caffe/internal_thread.hpp"

#include <future>

#ifdef CAFFE_BOOST_THREAD
#include <boost/thread/thread.hpp>
#endif

#include "caffe/context.hpp"
#include "caffe/util/math_functions.hpp"

namespace caffe {

#ifdef CAFFE_BOOST_THREAD
class InternalThread::Thread {
 public:
  template <typename Function>
  explicit Thread(Function&& f) : thread_(std::forward<Function>(f)) {}
  /// Not where the waiting thread is interrupted itself: destructors wait.
  void Join() {
    const boost::this_thread::disable_interruption undisturbed;
    thread_.join();
  }
  void Interrupt() {
    thread_.interrupt();
    is_interrupted_ = true;
  }
  /// In the thread itself: Boost's request is answered. What the thread does before it ends may
  /// wait.
  void TakeInterrupt() {
    while (!is_interrupted_) boost::this_thread::yield();
    try {
      boost::this_thread::interruption_point();
    } catch (const boost::thread_interrupted&) {
    }
  }

 private:
  boost::thread thread_;
  std::atomic<bool> is_interrupted_{false};
};
#else
class InternalThread::Thread {
 public:
  template <typename Function>
  explicit Thread(Function&& f) : thread_(std::forward<Function>(f)) {}
  void Join() { thread_.join(); }
  void Interrupt() {}
  void TakeInterrupt() {}

 private:
  std::thread thread_;
};
#endif

namespace {

thread_local InternalThread* this_thread = nullptr;

}  // namespace

void InterruptionPoint() {
  if (!this_thread || !this_thread->stop_) return;
  this_thread->thread_->TakeInterrupt();
  throw ThreadInterrupted();
}

void InternalThread::StartInternalThread() {
  CHECK(!is_started()) << "Threads should persist and not be restarted.";
  stop_ = false;
  const Context::Settings settings = Context::Current().settings();
  // Solvers that train together are set up with one seed (Solver::Init), and draw each their own.
  const unsigned int seed = caffe_rng_rand() + settings.solver_rank;
  std::promise<void> starts;
  std::future<void> started = starts.get_future();
  thread_ = std::make_shared<Thread>([this, settings, seed, starts = std::move(starts)]() mutable {
    this_thread = this;
    try {
      Context::Current().Inherit(settings);
      Caffe::set_random_seed(seed);
    } catch (...) {
      return starts.set_exception(std::current_exception());
    }
    starts.set_value();
    try {
      InternalThreadEntry();
    } catch (const boost::thread_interrupted&) {
    }
  });
  try {
    started.get();
  } catch (...) {
    thread_->Join();
    thread_.reset();
    throw;
  }
}

void InternalThread::StopInternalThread() {
  if (!is_started()) return;
  stop_ = true;
  thread_->Interrupt();
  thread_->Join();
  thread_.reset();
}

}  // namespace caffe
