#ifndef CAFFE_MEMORY_POOL_HPP_
#define CAFFE_MEMORY_POOL_HPP_

#include <cstddef>
#include <map>
#include <mutex>

#include "caffe/allocator.hpp"

namespace caffe {

/// Host memory that values take turns with: what one frees the next gets, without a way to the
/// system and with pages that are there already. Outlives what it gave out; its memory goes back to
/// Allocator::Get() with it.
class MemoryPool : public Allocator {
 public:
  MemoryPool() = default;
  ~MemoryPool() override;
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  void* Allocate(size_t size) override;
  void Free(void* pointer, size_t size) noexcept override;
  bool counts_itself() const override { return true; }

  /// Bytes held, in use or not.
  size_t capacity() const;
  /// For a time when nothing is in use and the same requests are about to come again: memory that
  /// came in several chunks is exchanged for one of as much as was in use at once, in which more
  /// fits; where that did not do the last time, of as much as was held.
  void Gather();

 private:
  // Chunks from the heap are cut into ranges; free neighbours in a chunk are one range.
  struct Range {
    size_t size;
    char* chunk;
    bool in_use;
  };
  struct Chunk {
    size_t size;
    Allocator* owner;
  };
  using Ranges = std::map<char*, Range>;

  size_t Held() const;
  Ranges::iterator SmallestThatFits(size_t size);
  Ranges::iterator AddChunk(size_t size);
  void DropIdleChunks() noexcept;
  void JoinIfFree(Ranges::iterator first, Ranges::iterator second) noexcept;

  mutable std::mutex mutex_;
  Ranges ranges_;
  std::map<char*, Chunk> chunks_;
  size_t in_use_ = 0, most_in_use_ = 0;
  size_t gathered_for_ = 0;  // most_in_use_ when Gather() last began anew
  int gathered_ = 0;         // times since then
};

}  // namespace caffe

#endif  // CAFFE_MEMORY_POOL_HPP_
