#include "caffe/util/progress.hpp"

#include <unistd.h>

#include <cstdio>

#include "caffe/error.hpp"

namespace caffe {

std::string FormatDuration(double seconds) {
  const int64_t s = static_cast<int64_t>(seconds + 0.5);
  if (s < 60) return Join(s, " s");
  if (s < 3600) return Join(s / 60, " min ", s % 60, " s");
  return Join(s / 3600, " h ", s % 3600 / 60, " min");
}

Progress::Progress(std::string what, int64_t total, int64_t done)
    : what_(std::move(what)),
      total_(total),
      first_(done),
      active_(isatty(STDERR_FILENO) && total > 0),
      start_(Clock::now()),
      last_(start_) {}

void Progress::Update(int64_t done) {
  if (!active_) return;
  const Clock::time_point now = Clock::now();
  if (now - last_ < std::chrono::milliseconds(300)) return;
  last_ = now;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  std::string left;
  if (done > first_) {
    left = ", " + FormatDuration(elapsed * (total_ - done) / (done - first_)) + " left";
  }
  std::fprintf(stderr, "\r\033[K%4d%%  %s %lld of %lld%s", static_cast<int>(100 * done / total_),
               what_.c_str(), static_cast<long long>(done), static_cast<long long>(total_),
               left.c_str());
  drawn_ = true;
}

void Progress::Clear() {
  if (!drawn_) return;
  std::fprintf(stderr, "\r\033[K");
  drawn_ = false;
}

}  // namespace caffe
