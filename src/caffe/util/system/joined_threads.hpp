#ifndef CAFFE_UTIL_JOINED_THREADS_HPP_
#define CAFFE_UTIL_JOINED_THREADS_HPP_

#include <thread>
#include <utility>
#include <vector>

namespace caffe {

/// Threads that are waited for wherever the scope is left: std::thread ends the program when an
/// exception meets one that runs.
class JoinedThreads {
 public:
  JoinedThreads() = default;
  ~JoinedThreads() { Join(); }
  JoinedThreads(const JoinedThreads&) = delete;
  JoinedThreads& operator=(const JoinedThreads&) = delete;

  /// As std::thread's constructor; throws std::system_error or std::bad_alloc where the system has
  /// no more.
  template <typename... Arguments>
  void Start(Arguments&&... arguments) {
    threads_.emplace_back(std::forward<Arguments>(arguments)...);
  }
  void Join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  int size() const { return static_cast<int>(threads_.size()); }

 private:
  std::vector<std::thread> threads_;
};

}  // namespace caffe

#endif  // CAFFE_UTIL_JOINED_THREADS_HPP_
