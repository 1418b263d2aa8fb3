#include "wait_limit.hpp"

#include <algorithm>
#include <utility>

namespace caffe {
namespace {

constexpr int kTicks = 20;  // of a limit

std::chrono::milliseconds TickOf(std::chrono::milliseconds limit) {
  return std::max(limit / kTicks, std::chrono::milliseconds(1));
}

}  // namespace

bool WaitTicks::Tick() {
  const uint64_t current = current_;
  const bool goes_on = current != 0 && current == seen_;
  seen_ = current;
  ticks_ = goes_on ? ticks_ + 1 : 0;
  return goes_on && ticks_ == limit_;
}

WaitLimit::WaitLimit(std::chrono::milliseconds limit, std::function<void()> expired)
    : tick_(TickOf(limit)), expired_(std::move(expired)), ticks_(kTicks) {
  if (limit.count() > 0) thread_ = std::thread([this] { Watch(); });
}

WaitLimit::~WaitLimit() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void WaitLimit::Watch() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!changed_.wait_for(lock, tick_, [this] { return ended_; })) {
    if (ticks_.Tick()) expired_();
  }
}

}  // namespace caffe
