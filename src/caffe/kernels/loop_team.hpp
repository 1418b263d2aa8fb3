#ifndef CAFFE_KERNELS_LOOP_TEAM_HPP_
#define CAFFE_KERNELS_LOOP_TEAM_HPP_

#include <cstddef>

namespace caffe::kernels {

/// Threads that share the loops of one other thread, its owner, without ever making it wait for a
/// thread that another process keeps off its core: what has not begun when the owner is done with
/// its own part, the owner computes itself. (An OpenMP team waits at the end of each loop until all
/// its threads have been there.) Between loops they spin for some microseconds, then sleep.
///
/// Each part of a loop is computed by the same thread as that part of the loop before, if that one
/// is in time: what it wrote lies in its core's cache.
class LoopTeam {
 public:
  /// While it lives, loops of the calling thread (ParallelParts) are shared by its team instead of
  /// OpenMP's. The team lives as long as the thread, or until it forks.
  class Scope {
   public:
    explicit Scope(bool uses_team = true);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const bool before_;
  };

  /// True within a Scope of the calling thread.
  static bool IsUsed();
  /// True if the calling thread computes a part of a loop now.
  static bool InPart();
  /// Calls part(context, i) for i = 0 ... parts - 1, which must not throw, on the calling thread's
  /// team and itself; 2 parts or more. A loop of more parts than any before starts a larger team;
  /// where the system has no threads left, or while the calling thread ends, fewer share the loop.
  /// They have the caller's floating-point mode and number of OpenMP's threads.
  static void Share(size_t parts, void (*part)(void* context, size_t i), void* context);
  /// Ends the calling thread's team, unless it computes a part; the next loop starts another one.
  static void End();
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_LOOP_TEAM_HPP_
