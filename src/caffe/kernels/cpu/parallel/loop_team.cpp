#include "caffe/kernels/loop_team.hpp"

#include <omp.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "caffe/error.hpp"

namespace caffe::kernels {
namespace {

// Longer than what lies between two loops of a net, shorter than it takes to be worth it where
// another process waits for the core.
constexpr std::chrono::microseconds kSpin(40);
constexpr int kSpinsPerLook = 32;  // at the clock and at the core

#if defined(__x86_64__)
void Pause() { _mm_pause(); }
using FloatMode = unsigned;
FloatMode GetFloatMode() { return _mm_getcsr(); }
void SetFloatMode(FloatMode mode) { _mm_setcsr(mode); }
#else
void Pause() { std::this_thread::yield(); }
using FloatMode = int;
FloatMode GetFloatMode() { return 0; }
void SetFloatMode(FloatMode) {}
#endif

int Core() { return sched_getcpu(); }

/// Spins until done() or kSpin has passed, or gives_up() says so, which is asked less often.
template <typename Done, typename GivesUp>
bool Spin(const Done& done, const GivesUp& gives_up) {
  const auto begin = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < kSpinsPerLook; ++i) {
      if (done()) return true;
      Pause();
    }
  } while (!gives_up() && std::chrono::steady_clock::now() - begin < kSpin);
  return false;
}

/// What an owner and its threads share; it lives as long as any of them.
class Shared {
 public:
  static constexpr int kPartBits = 16;
  static constexpr size_t kMostParts = (size_t{1} << kPartBits) - 1;

  /// For loops of up to so many parts.
  explicit Shared(size_t parts) : claims_(new PartClaim[parts]) {}

  /// Called by the owner.
  void Share(size_t parts, void (*part)(void*, size_t), void* context) {
    part_ = part;
    context_ = context;
    float_mode_ = GetFloatMode();
    openmp_threads_ = omp_get_max_threads();
    begun_.store(0, std::memory_order_relaxed);
    finished_.store(0, std::memory_order_relaxed);
    owners_core_.store(Core(), std::memory_order_relaxed);
    ++number_;
    loop_.store(number_ << kPartBits | parts);
    if (sleeping_.load() > 0) {
      const std::lock_guard<std::mutex> lock(mutex_);
      begins_.notify_all();
    }
    part(context, 0);
    size_t others = parts - 1;
    for (size_t i = parts; --i > 0 && begun_.load() < parts - 1;) {
      if (!Claim(i, number_)) continue;
      part(context, i);
      --others;
    }
    if (others > 0) WaitFor(others);
  }

  /// What a thread does, whose part is `mine`, until the team ends.
  void Work(size_t mine) {
    for (uint64_t loop = Next(0); loop != kEnd; loop = Next(loop)) {
      const size_t parts = loop & kMostParts;
      if (mine >= parts) continue;
      size_t part = mine;
      do {
        if (Claim(part, loop >> kPartBits)) Compute(part);
        part = part + 1 < parts ? part + 1 : 1;
      } while (part != mine && loop_.load() == loop && begun_.load() < parts - 1);
    }
  }

  void End() {
    loop_.store(kEnd);
    const std::lock_guard<std::mutex> lock(mutex_);
    begins_.notify_all();
  }

 private:
  static constexpr uint64_t kEnd = ~uint64_t{0};

  /// The number of the last loop of which some thread took this part.
  struct alignas(64) PartClaim {
    std::atomic<uint64_t> loop{0};
  };

  // All parts of a loop are claimed before it ends, so a thread that is late gets none of them; and
  // it does not end before those that are claimed have been computed, so what a thread that has one
  // reads does not change.
  bool Claim(size_t part, uint64_t number) {
    std::atomic<uint64_t>& loop = claims_[part].loop;
    uint64_t last = loop.load();
    if (last >= number || !loop.compare_exchange_strong(last, number)) return false;
    ++begun_;
    return true;
  }

  void Compute(size_t part) {
    SetFloatMode(float_mode_);
    if (omp_get_max_threads() != openmp_threads_) omp_set_num_threads(openmp_threads_);
    part_(context_, part);
    ++finished_;
    if (!owner_sleeps_.load()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_.notify_one();
  }

  /// Waits for a loop other than this one.
  uint64_t Next(uint64_t seen) {
    const auto is_there = [&] { return loop_.load() != seen; };
    const auto is_in_the_way = [&] {  // of the owner, who was on this core
      return owners_core_.load(std::memory_order_relaxed) == Core();
    };
    if (!Spin(is_there, is_in_the_way)) {
      std::unique_lock<std::mutex> lock(mutex_);
      ++sleeping_;
      begins_.wait(lock, is_there);
      --sleeping_;
    }
    return loop_.load();
  }

  /// Waits until the threads have computed so many parts.
  void WaitFor(size_t parts) {
    const auto are_finished = [&] { return finished_.load() == parts; };
    if (Spin(are_finished, [] { return false; })) return;
    std::unique_lock<std::mutex> lock(mutex_);
    owner_sleeps_ = true;
    ends_.wait(lock, are_finished);
    owner_sleeps_ = false;
  }

  // Of the present loop.
  void (*part_)(void*, size_t) = nullptr;
  void* context_ = nullptr;
  FloatMode float_mode_{};
  int openmp_threads_ = 1;
  uint64_t number_ = 0;

  const std::unique_ptr<PartClaim[]> claims_;
  alignas(64) std::atomic<uint64_t> loop_{0};  // its number and its parts; or kEnd
  std::atomic<int> owners_core_{-1};
  std::atomic<int> sleeping_{0};              // threads that wait for the next loop
  alignas(64) std::atomic<size_t> begun_{0};  // parts, but for the owner's first one
  std::atomic<size_t> finished_{0};           // by threads
  std::atomic<bool> owner_sleeps_{false};
  std::mutex mutex_;
  std::condition_variable begins_, ends_;
};

thread_local bool is_used = false;
thread_local bool in_part = false;

/// The threads are not joined: a forked child has none of them.
class Team {
 public:
  explicit Team(size_t parts) : parts_(parts), shared_(std::make_shared<Shared>(parts)) {
    for (size_t part = 1; part < parts; ++part) {
      try {
        std::thread([shared = shared_, part] {
          in_part = true;
          shared->Work(part);
        }).detach();
      } catch (const std::exception&) {  // there are none left: the owner computes its parts
        break;
      }
    }
  }
  ~Team() { shared_->End(); }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  size_t parts() const { return parts_; }
  Shared& shared() { return *shared_; }

 private:
  const size_t parts_;
  const std::shared_ptr<Shared> shared_;
};

// Still there when others of the thread, statics and what atexit calls are destroyed, which may run
// an engine.
thread_local Team* team = nullptr;
thread_local bool thread_ends = false;

void EndTeam() {
  delete team;
  team = nullptr;
}

struct TeamEnd {
  ~TeamEnd() {
    EndTeam();
    thread_ends = true;
  }
};

Team& TeamOf(size_t parts) {
  static thread_local TeamEnd at_end;
  if (team && team->parts() < parts) EndTeam();
  if (!team) team = new Team(parts);
  return *team;
}

}  // namespace

LoopTeam::Scope::Scope(bool uses_team) : before_(is_used) { is_used = uses_team; }
LoopTeam::Scope::~Scope() { is_used = before_; }

bool LoopTeam::IsUsed() { return is_used; }
bool LoopTeam::InPart() { return in_part; }

void LoopTeam::Share(size_t parts, void (*part)(void*, size_t), void* context) {
  Require(parts <= Shared::kMostParts, "a loop has ", parts, " parts, and at most ",
          Shared::kMostParts, " are possible");
  Team* const shares = thread_ends ? nullptr : &TeamOf(parts);
  in_part = true;
  if (shares) {
    shares->shared().Share(parts, part, context);
  } else {
    for (size_t i = 0; i < parts; ++i) part(context, i);
  }
  in_part = false;
}

void LoopTeam::End() {
  if (!in_part) EndTeam();
}

}  // namespace caffe::kernels
