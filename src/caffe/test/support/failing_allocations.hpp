#ifndef CAFFE_TEST_FAILING_ALLOCATIONS_HPP_
#define CAFFE_TEST_FAILING_ALLOCATIONS_HPP_

#include <cstdint>
#include <functional>

namespace caffe {

/// While it lives, allocations of all threads are counted, and one of them is refused: by operator
/// new, which throws std::bad_alloc, or by the Allocator, which throws an Error. Allocations that a
/// library makes for itself are never refused: of those not all survive it.
///
/// One at a time. It needs the program's own operator new, which failing_allocations.cpp has.
class FailingAllocations {
 public:
  /// Refuses the nth allocation from now on; 0 refuses none.
  explicit FailingAllocations(int64_t nth);
  ~FailingAllocations();
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;

  /// Allocations so far.
  int64_t count() const;
};

/// Calls work() again and again, each time with the next of its allocations refused, until it makes
/// no more. Expects of each call that it ends by itself, with std::bad_alloc, or with an Error that
/// speaks of memory. Calls check() after each. Expects that no memory is lost: where more blocks
/// are in use then than before work(), the same refusal is repeated, and they must not become more
/// each time.
///
/// Refused are the first `all` allocations, and from there on only every `stride`-th, from one that
/// TestSeed() chooses. Call both some times before, to fill what the process keeps.
void RefuseEachAllocation(const std::function<void()>& work, const std::function<void()>& check,
                          int64_t all, int64_t stride);

}  // namespace caffe

#endif  // CAFFE_TEST_FAILING_ALLOCATIONS_HPP_
