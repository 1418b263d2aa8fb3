#include "caffe/gpu_fallback.hpp"

#include <glog/logging.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "caffe/device.hpp"
#include "caffe/error.hpp"

namespace caffe {
namespace {

bool IsSetInEnvironment() {
  const char* value = std::getenv("CAFFE_GPU_FALLBACK");
  const std::string text = value ? value : "";
  Require(text.empty() || text == "0" || text == "1", "CAFFE_GPU_FALLBACK=", text,
          ": it is 1, for the CPU to compute where no GPU can be used, or 0");
  return text == "1";
}

std::atomic<bool>& Fallback() {
  static std::atomic<bool> fall_back(IsSetInEnvironment());
  return fall_back;
}

}  // namespace

bool gpu_fallback() { return Fallback(); }
void set_gpu_fallback(bool fall_back) { Fallback() = fall_back; }

bool RequireGpu(const std::string& asked_by) {
  if (Device::available()) return true;
  Require(gpu_fallback(), asked_by, ": ", Device::WhyNone(),
          "; CAFFE_GPU_FALLBACK=1 in the environment, or -gpu_fallback of the tools, lets the CPU "
          "compute wherever a GPU is asked for");
  static std::once_flag warned;
  std::call_once(warned, [&] {
    LOG(WARNING) << asked_by << ": " << Device::WhyNone() << ". The CPU computes in its place, as "
                 << "CAFFE_GPU_FALLBACK or -gpu_fallback says";
  });
  return false;
}

}  // namespace caffe
