#ifndef CAFFE_INFERENCE_TASK_QUEUE_HPP_
#define CAFFE_INFERENCE_TASK_QUEUE_HPP_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace caffe::inference {

/// A thread that runs tasks one after another, in the order in which they came. The destructor
/// waits until all are done.
class TaskQueue {
 public:
  TaskQueue() : thread_([this] { Work(); }) {}
  ~TaskQueue() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ends_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  /// A task must not throw.
  void Add(std::function<void()> task) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
  }

 private:
  void Work() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return ends_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      task = nullptr;  // destroying it may use the queue
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool ends_ = false;
  std::thread thread_;  // the last member: it starts with the others made
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_TASK_QUEUE_HPP_
