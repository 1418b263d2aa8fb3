#ifndef CAFFE_UTIL_PROGRESS_HPP_
#define CAFFE_UTIL_PROGRESS_HPP_

#include <chrono>
#include <cstdint>
#include <string>

namespace caffe {

/// Where progress is shown.
enum class ProgressOutput {
  ANYWHERE,  ///< on a terminal one line that rewrites itself, elsewhere a line every few seconds
  TERMINAL_ONLY,  ///< nothing elsewhere: the log of what runs is read by scripts
};

/// Says on stderr how far long work has come and how long it will take: "layer 12 of 53, about 20 s
/// left".
class Progress {
 public:
  /// `what` is the word in front of the count ("iteration"); `done` of `total` are done already.
  /// Nothing is shown where `total` is 0.
  Progress(std::string what, int64_t total, int64_t done = 0,
           ProgressOutput output = ProgressOutput::ANYWHERE);
  ~Progress() { Clear(); }

  /// Shows the line again, a few times a second at most.
  void Update(int64_t done);
  /// Takes the line away, so that something else can be printed.
  void Clear();

 private:
  using Clock = std::chrono::steady_clock;

  const std::string what_;
  const int64_t total_, first_;
  const bool terminal_, active_;
  bool drawn_ = false;
  Clock::time_point start_, last_;
};

/// "layer 12 of 53", with ", about 20 s left" behind it if some of `seconds` of work, since `first`
/// were done, are behind us.
std::string ProgressText(const std::string& what, int64_t done, int64_t total, int64_t first,
                         double seconds);

/// "12 s", "3 min 20 s", "2 h 5 min".
std::string FormatDuration(double seconds);

}  // namespace caffe

#endif  // CAFFE_UTIL_PROGRESS_HPP_
