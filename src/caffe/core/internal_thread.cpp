#include "caffe/internal_thread.hpp"

#include <future>

#include "caffe/context.hpp"
#include "caffe/util/math_functions.hpp"

namespace caffe {
namespace {

thread_local const std::atomic<bool>* stop_flag = nullptr;

}  // namespace

void InterruptionPoint() {
  if (stop_flag && *stop_flag) throw ThreadInterrupted();
}

void InternalThread::StartInternalThread() {
  CHECK(!is_started()) << "Threads should persist and not be restarted.";
  stop_ = false;
  const Context::Settings settings = Context::Current().settings();
  // Solvers that train together are set up with one seed (Solver::Init), and draw each their own.
  const unsigned int seed = caffe_rng_rand() + settings.solver_rank;
  std::promise<void> starts;
  std::future<void> started = starts.get_future();
  thread_ = std::thread([this, settings, seed, starts = std::move(starts)]() mutable {
    stop_flag = &stop_;
    try {
      Context::Current().Inherit(settings);
      Caffe::set_random_seed(seed);
    } catch (...) {
      return starts.set_exception(std::current_exception());
    }
    starts.set_value();
    try {
      InternalThreadEntry();
    } catch (const ThreadInterrupted&) {
    }
  });
  try {
    started.get();
  } catch (...) {
    thread_.join();
    throw;
  }
}

void InternalThread::StopInternalThread() {
  if (!is_started()) return;
  stop_ = true;
  thread_.join();
}

}  // namespace caffe
