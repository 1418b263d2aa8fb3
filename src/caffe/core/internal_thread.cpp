#include "caffe/internal_thread.hpp"

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
  thread_ = std::thread([this, settings, seed] {
    stop_flag = &stop_;
    Context::Current().Inherit(settings);
    Caffe::set_random_seed(seed);
    try {
      InternalThreadEntry();
    } catch (const ThreadInterrupted&) {
    }
  });
}

void InternalThread::StopInternalThread() {
  if (!is_started()) return;
  stop_ = true;
  thread_.join();
}

}  // namespace caffe
