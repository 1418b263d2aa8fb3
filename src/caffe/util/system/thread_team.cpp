#include "caffe/util/system/thread_team.hpp"

#include <algorithm>

namespace caffe {

ThreadTeam::ThreadTeam(int size) {
  try {
    for (int i = 1; i < size; ++i) threads_.Start([this] { Work(); });
  } catch (...) {
    Stop();  // those that have started
    throw;
  }
}

ThreadTeam::~ThreadTeam() { Stop(); }

void ThreadTeam::Stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  threads_.Join();
}

// Items are taken in order, so an item below a failed one is done or running: waiting for those
// that run finds the lowest failure.
void ThreadTeam::TakeItems(std::unique_lock<std::mutex>* lock) {
  while (next_ < count_) {
    const int item = next_++;
    const auto& f = *function_;
    ++running_;
    lock->unlock();
    std::exception_ptr error;
    try {
      f(item);
    } catch (...) {
      error = std::current_exception();
    }
    lock->lock();
    --running_;
    if (error && (!error_ || item < failed_item_)) {
      error_ = error;
      failed_item_ = item;
    }
    if (error) next_ = count_;
  }
  if (running_ == 0) done_.notify_all();
}

void ThreadTeam::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return stop_ || next_ < count_; });
    if (stop_) return;
    TakeItems(&lock);
  }
}

void ThreadTeam::ForEach(int count, const std::function<void(int)>& f) {
  std::unique_lock<std::mutex> lock(mutex_);
  CHECK(running_ == 0 && next_ == count_) << "one loop at a time";
  function_ = &f;
  error_ = nullptr;
  next_ = 0;
  count_ = std::max(count, 0);
  work_.notify_all();
  TakeItems(&lock);
  done_.wait(lock, [this] { return running_ == 0; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

}  // namespace caffe
