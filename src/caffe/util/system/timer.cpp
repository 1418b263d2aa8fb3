#include "caffe/util/timer.hpp"

#include "caffe/common.hpp"
#include "caffe/context.hpp"
#include "caffe/device.hpp"

namespace caffe {

void Timer::WaitForGpu() {
  if (Caffe::mode() == Caffe::GPU) Context::Current().stream().Synchronize();
}

void Timer::Start() {
  if (running_) return;
  WaitForGpu();
  start_ = Clock::now();
  running_ = true;
  has_run_ = true;
}

void Timer::Stop() {
  if (!running_) return;
  WaitForGpu();
  stop_ = Clock::now();
  running_ = false;
}

float Timer::MicroSeconds() {
  if (!has_run_) return 0;
  Stop();
  return std::chrono::duration<float, std::micro>(stop_ - start_).count();
}

}  // namespace caffe
