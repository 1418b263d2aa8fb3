#include "caffe/util/system/termination_notice.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "caffe/error.hpp"

namespace caffe {
namespace {

/// The handler's message. A handler may not allocate: all texts are made beforehand.
struct Notice {
  std::string who;  // "caffe: rank 2 of 4 ends"
  std::atomic<int> iteration{-1};
  /// The latest one is [latest], the other one was before it; null: none. Another thread's handler
  /// may be reading them, so that the texts are never freed: a few bytes a snapshot.
  std::atomic<const char*> snapshots[2] = {nullptr, nullptr};
  std::atomic<int> latest{0};
  struct sigaction before;
};

Notice notice;
std::atomic<bool> exists{false};

std::string Who(int rank, int ranks) { return Join("caffe: rank ", rank, " of ", ranks, " ends"); }

/// A line of limited length, put together without allocation.
class Line {
 public:
  void Add(const char* text) {
    const size_t length = std::min(std::strlen(text), sizeof text_ - size_);
    std::memcpy(text_ + size_, text, length);
    size_ += length;
  }
  void Add(int number) {
    char digits[12];
    char* first = digits + sizeof digits - 1;
    *first = 0;
    do {
      *--first = static_cast<char>('0' + number % 10);
    } while ((number /= 10) > 0);
    Add(first);
  }
  void Write() const {
    if (write(STDERR_FILENO, text_, size_) < 0) return;  // there is no one left to tell
  }

 private:
  char text_[4096];
  size_t size_ = 0;
};

/// The newest snapshot that is there; null without one. Snapshots are written aside and renamed:
/// one that is there is complete.
const char* NewestSnapshot() {
  const int latest = notice.latest;
  for (const int i : {latest, 1 - latest}) {
    const char* const file = notice.snapshots[i];
    if (file && *file && access(file, R_OK) == 0) return file;
  }
  return nullptr;
}

/// One thread tells why the process ends, and ends it; others wait for that.
std::atomic<bool> told{false};
[[noreturn]] void TellOnce(const Line& line) {
  while (told.exchange(true)) pause();
  line.Write();
  _exit(1);
}

[[noreturn]] void Tell(const char* reason) {
  Line line;
  line.Add(notice.who.c_str());
  if (notice.iteration < 0) {
    line.Add(" before it trains: ");
  } else {
    line.Add(" at iteration ");
    line.Add(notice.iteration);
    line.Add(": ");
  }
  line.Add(reason);
  if (const char* snapshot = NewestSnapshot()) {
    line.Add("; the latest snapshot is ");
    line.Add(snapshot);
    line.Add(": resume with -snapshot ");
    line.Add(snapshot);
    line.Add("\n");
  } else {
    line.Add("; there is no snapshot yet\n");
  }
  TellOnce(line);
}

void OnSignal(int) { Tell("another rank has died or failed, or the job was told to end"); }

}  // namespace

TerminationNotice::TerminationNotice(int rank, int ranks, const std::string& snapshot) {
  Require(!exists.exchange(true), "there is a TerminationNotice already");
  notice.who = Who(rank, ranks);
  notice.iteration = -1;
  notice.snapshots[0] = strdup(snapshot.c_str());
  notice.snapshots[1] = nullptr;
  notice.latest = 0;
  struct sigaction action;
  std::memset(&action, 0, sizeof action);
  action.sa_handler = OnSignal;
  sigfillset(&action.sa_mask);
  sigaction(SIGTERM, &action, &notice.before);
}

TerminationNotice::~TerminationNotice() {
  sigaction(SIGTERM, &notice.before, nullptr);
  exists = false;
}

void TerminationNotice::End(int rank, int ranks, const std::string& reason) {
  sigset_t signals;  // their handler would wait for this thread, which it has interrupted
  sigfillset(&signals);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  if (exists) Tell(reason.c_str());
  Line line;
  line.Add(Join(Who(rank, ranks), ": ", reason, "\n").c_str());
  TellOnce(line);
}

void TerminationNotice::SetIteration(int iteration) { notice.iteration = iteration; }

void TerminationNotice::SetSnapshot(const std::string& file) {
  const int other = 1 - notice.latest;
  notice.snapshots[other] = strdup(file.c_str());
  notice.latest = other;
}

}  // namespace caffe
