#ifndef CAFFE_ALLOCATOR_HPP_
#define CAFFE_ALLOCATOR_HPP_

#include <cstddef>

namespace caffe {

/// Where host memory comes from. Implementations are thread-safe and outlive what they gave out.
class Allocator {
 public:
  static constexpr size_t kAlignment = 64;  ///< bytes; a cache line and the widest vector

  virtual ~Allocator() = default;

  /// `size` bytes aligned to kAlignment, contents unspecified. Throws Error naming the size when
  /// there is no memory.
  virtual void* Allocate(size_t size) = 0;
  virtual void Free(void* pointer, size_t size) noexcept = 0;
  /// True for an allocator that hands on memory which AllocateHost has counted already.
  virtual bool counts_itself() const { return false; }

  /// The process's allocator: the heap, unless Set put another in its place.
  static Allocator& Get();
  /// Makes `allocator` serve all later allocations; nullptr returns to the heap. Not owned.
  static void Set(Allocator* allocator);

  /// Bytes given out and not yet freed through AllocateHost / FreeHost.
  static size_t bytes_in_use();
  /// Largest value of bytes_in_use() since the process started or ResetPeak().
  static size_t peak_bytes();
  static void ResetPeak();
};

/// Counted allocation from `*owner`, or, where that is null, from Allocator::Get(), which `*owner`
/// then is. Every tensor's host memory comes from here.
void* AllocateHost(size_t size, Allocator** owner);
void FreeHost(void* pointer, size_t size, Allocator* owner) noexcept;

}  // namespace caffe

#endif  // CAFFE_ALLOCATOR_HPP_
