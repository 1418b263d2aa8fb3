#include "caffe/util/timer.hpp"

namespace caffe {

void Timer::Start() {
  if (running_) return;
  start_ = Clock::now();
  running_ = true;
  has_run_ = true;
}

void Timer::Stop() {
  if (!running_) return;
  stop_ = Clock::now();
  running_ = false;
}

float Timer::MicroSeconds() {
  if (!has_run_) return 0;
  Stop();
  return std::chrono::duration<float, std::micro>(stop_ - start_).count();
}

}  // namespace caffe
