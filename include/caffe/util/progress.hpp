#ifndef CAFFE_UTIL_PROGRESS_HPP_
#define CAFFE_UTIL_PROGRESS_HPP_

#include <chrono>
#include <cstdint>
#include <string>

namespace caffe {

/// One line on a terminal that says how far long work has come and how long it will take:
/// "  43%  iteration 430 of 1000, 12 s left". Says nothing when stderr is no terminal, so logs stay
/// as scripts know them.
class Progress {
 public:
  /// `what` is the word in front of the count ("iteration"); `done` of `total` are done already.
  Progress(std::string what, int64_t total, int64_t done = 0);
  ~Progress() { Clear(); }

  /// Draws the line anew, a few times a second at most.
  void Update(int64_t done);
  /// Takes the line away, so that something else can be printed.
  void Clear();

 private:
  using Clock = std::chrono::steady_clock;

  const std::string what_;
  const int64_t total_, first_;
  const bool active_;
  bool drawn_ = false;
  Clock::time_point start_, last_;
};

/// "12 s", "3 min 20 s", "2 h 5 min".
std::string FormatDuration(double seconds);

}  // namespace caffe

#endif  // CAFFE_UTIL_PROGRESS_HPP_
