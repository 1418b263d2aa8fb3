// Threads that share one thread's loops without making it wait for those that are late.
#include <gtest/gtest.h>

#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "caffe/kernels/parallel.hpp"

namespace caffe::kernels {
namespace {

using std::chrono::milliseconds;

/// How often each of n items is computed by a loop of as many parts as there are threads.
std::vector<int> TimesComputed(size_t n) {
  std::vector<int> times(n, 0);
  ParallelFor(n, 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) ++times[i];
  });
  return times;
}

TEST(LoopTeam, ComputesEachPartOnce) {
  const LoopTeam::Scope scope;
  for (const int threads : {2, 3, 8, 4, 1}) {
    const TeamSize size(threads);
    for (int i = 0; i < 300; ++i) {
      const size_t n = 1 + i % 40;
      ASSERT_EQ(TimesComputed(n), std::vector<int>(n, 1)) << threads << " threads, loop " << i;
    }
  }
}

TEST(LoopTeam, IsUsedWithinAScope) {
  EXPECT_FALSE(LoopTeam::IsUsed());
  {
    const LoopTeam::Scope scope;
    EXPECT_TRUE(LoopTeam::IsUsed());
    {
      const LoopTeam::Scope openmp(/*uses_team=*/false);
      EXPECT_FALSE(LoopTeam::IsUsed());
    }
    EXPECT_TRUE(LoopTeam::IsUsed());
  }
  EXPECT_FALSE(LoopTeam::IsUsed());
}

TEST(LoopTeam, CutsLoopsAsOpenMpDoes) {
  const TeamSize size(3);
  const auto cuts = [](bool uses_team) {
    const LoopTeam::Scope scope(uses_team);
    std::vector<std::pair<size_t, size_t>> parts(3);
    ParallelParts(100, 10, [&](size_t part, size_t begin, size_t end) {
      parts[part] = {begin, end};
    });
    return parts;
  };
  EXPECT_EQ(cuts(true), cuts(false));
}

TEST(LoopTeam, DoesNotWaitForThreadsThatHaveNotBegun) {
  const TeamSize size(2);
  const LoopTeam::Scope scope;
  // A thread that has begun a part is waited for; meanwhile it cannot begin another one.
  for (int i = 0; i < 20; ++i) {
    std::atomic<int> finished{0};
    const std::thread::id owner = std::this_thread::get_id();
    ParallelFor(2, 1, [&](size_t, size_t) {
      if (std::this_thread::get_id() != owner) std::this_thread::sleep_for(milliseconds(2));
      ++finished;
    });
    EXPECT_EQ(finished, 2);
  }
}

TEST(LoopTeam, WaitsForPartsThatTakeLong) {
  const TeamSize size(4);
  const LoopTeam::Scope scope;
  std::vector<int> done(4, 0);
  ParallelParts(4, 1, [&](size_t part, size_t, size_t) {
    std::this_thread::sleep_for(milliseconds(part * 3));
    done[part] = 1;
  });
  EXPECT_EQ(done, std::vector<int>(4, 1));
}

TEST(LoopTeam, WakesThreadsThatSleep) {
  const TeamSize size(2);
  const LoopTeam::Scope scope;
  TimesComputed(2);
  std::this_thread::sleep_for(milliseconds(20));  // longer than they spin
  std::set<std::thread::id> threads;
  std::mutex mutex;
  // The owner's part takes so long that the other thread begins its own.
  ParallelFor(2, 1, [&](size_t begin, size_t) {
    if (begin == 0) std::this_thread::sleep_for(milliseconds(200));
    const std::lock_guard<std::mutex> lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(threads.size(), 2u);
}

TEST(LoopTeam, RethrowsExceptions) {
  const TeamSize size(3);
  const LoopTeam::Scope scope;
  for (const size_t bad : {0, 1, 2}) {
    EXPECT_THROW(ParallelParts(3, 1,
                               [&](size_t part, size_t, size_t) {
                                 if (part == bad) throw std::runtime_error("part");
                               }),
                 std::runtime_error);
    EXPECT_FALSE(LoopTeam::InPart());
    EXPECT_EQ(TimesComputed(9), std::vector<int>(9, 1)) << "the next loop";
  }
}

TEST(LoopTeam, SharesNoLoopsWithinParts) {
  const TeamSize size(3);
  const LoopTeam::Scope scope;
  std::vector<size_t> inner(3);
  ParallelParts(3, 1, [&](size_t part, size_t, size_t) { inner[part] = ParallelParts(100, 1); });
  EXPECT_EQ(inner, std::vector<size_t>(3, 1));
}

TEST(LoopTeam, HasTheCallersNumberOfThreadsAndFloatingPointMode) {
  const float denormal = 1e-40f;
  for (const int threads : {4, 2}) {
    const TeamSize size(threads);
    const LoopTeam::Scope scope;
    for (const bool flushes : {true, false}) {
      std::vector<int> counts(threads);
      std::vector<float> halves(threads);
      const auto loop = [&] {
        ParallelParts(threads, 1, [&](size_t part, size_t, size_t) {
          counts[part] = omp_get_max_threads();
          volatile float value = denormal;
          halves[part] = value * 0.5f;
          std::this_thread::sleep_for(milliseconds(2));
        });
      };
      if (flushes) {
        const FlushDenormals flush;
        loop();
      } else {
        loop();
      }
      EXPECT_EQ(counts, std::vector<int>(threads, threads));
      for (const float half : halves) EXPECT_EQ(half == 0, flushes);
    }
  }
}

TEST(LoopTeam, IsEachThreadsOwn) {
  std::vector<std::thread> owners;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 6; ++t) {
    owners.emplace_back([&wrong, t] {
      const TeamSize size(2 + t % 3);
      const LoopTeam::Scope scope;
      for (int i = 0; i < 500; ++i) {
        const size_t n = 2 + (i * 7 + t) % 30;
        if (TimesComputed(n) != std::vector<int>(n, 1)) ++wrong;
      }
    });
  }
  for (std::thread& owner : owners) owner.join();
  EXPECT_EQ(wrong, 0);
}

TEST(LoopTeam, StartsAgainAfterItsEnd) {
  const TeamSize size(3);
  const LoopTeam::Scope scope;
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(TimesComputed(10), std::vector<int>(10, 1));
    LoopTeam::End();
  }
}

TEST(LoopTeam, StartsAgainInAForkedChild) {
  const TeamSize size(3);
  const LoopTeam::Scope scope;
  TimesComputed(10);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(TimesComputed(10) == std::vector<int>(10, 1) ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(TimesComputed(10), std::vector<int>(10, 1));
}

/// Computes a loop when the thread's objects are destroyed, of which it is made the first.
struct LoopAtThreadEnd {
  ~LoopAtThreadEnd() {
    const LoopTeam::Scope scope;
    if (times) *times = TimesComputed(10);
  }
  std::vector<int>* times = nullptr;
};

TEST(LoopTeam, IsNotNeededWhileTheThreadEnds) {
  std::vector<int> times;
  std::thread([&times] {
    static thread_local LoopAtThreadEnd last;
    last.times = &times;
    const TeamSize size(3);
    const LoopTeam::Scope scope;
    TimesComputed(10);
    omp_set_num_threads(3);
  }).join();
  EXPECT_EQ(times, std::vector<int>(10, 1));
}

TEST(LoopTeam, IsNotNeededWhileTheProgramEnds) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    omp_set_num_threads(3);
    static const auto check = [] {
      const LoopTeam::Scope scope;
      _exit(TimesComputed(10) == std::vector<int>(10, 1) ? 0 : 1);
    };
    std::atexit([] { check(); });
    const LoopTeam::Scope scope;
    TimesComputed(10);
    std::exit(2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(LoopTeam, StaysWhereAPartEndsIt) {
  const TeamSize size(3);
  const LoopTeam::Scope scope;
  for (int i = 0; i < 20; ++i) {
    ParallelFor(3, 1, [](size_t, size_t) { LoopTeam::End(); });
    EXPECT_EQ(TimesComputed(10), std::vector<int>(10, 1));
  }
}

TEST(LoopTeam, HasNoMoreThreadsThanALoopHasParts) {
  const TeamSize size(100000);
  const LoopTeam::Scope scope;
  EXPECT_EQ(TimesComputed(3), std::vector<int>(3, 1));
}

}  // namespace
}  // namespace caffe::kernels
