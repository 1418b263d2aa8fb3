#include "caffe/util/text/progress.hpp"

#include <unistd.h>

#include <cstdio>

#include "caffe/error.hpp"

namespace caffe {
namespace {

constexpr std::chrono::milliseconds kBetweenDrawings(300);
constexpr std::chrono::seconds kBetweenLines(5);

}  // namespace

std::string FormatDuration(double seconds) {
  const int64_t s = static_cast<int64_t>(seconds + 0.5);
  if (s < 60) return Join(s, " s");
  if (s < 3600) return Join(s / 60, " min ", s % 60, " s");
  return Join(s / 3600, " h ", s % 3600 / 60, " min");
}

std::string ProgressText(const std::string& what, int64_t done, int64_t total, int64_t first,
                         double seconds) {
  std::string text = Join(what, " ", done, " of ", total);
  if (done <= first || done > total) return text;
  const double left = seconds * static_cast<double>(total - done) / (done - first);
  return text + ", about " + FormatDuration(left) + " left";
}

Progress::Progress(std::string what, int64_t total, int64_t done, ProgressOutput output)
    : what_(std::move(what)),
      total_(total),
      first_(done),
      terminal_(isatty(STDERR_FILENO) != 0),
      active_(total > 0 && (terminal_ || output == ProgressOutput::ANYWHERE)),
      start_(Clock::now()),
      last_(start_) {}

void Progress::Update(int64_t done) {
  if (!active_) return;
  const Clock::time_point now = Clock::now();
  if (terminal_ ? now - last_ < kBetweenDrawings : now - last_ < kBetweenLines) return;
  last_ = now;
  const std::string text = ProgressText(what_, done, total_, first_,
                                        std::chrono::duration<double>(now - start_).count());
  // The cursor goes back to the front: a line that is logged meanwhile writes over this one.
  std::fprintf(stderr, terminal_ ? "\r%s\033[K\r" : "%s\n", text.c_str());
  drawn_ = terminal_;
}

void Progress::Clear() {
  if (!drawn_) return;
  std::fprintf(stderr, "\r\033[K");
  drawn_ = false;
}

}  // namespace caffe
