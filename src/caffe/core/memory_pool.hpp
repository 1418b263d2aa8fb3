#ifndef CAFFE_MEMORY_POOL_HPP_
#define CAFFE_MEMORY_POOL_HPP_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

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
  /// Begins a round of requests, a net's forward pass: when two rounds have made the same ones, and
  /// nothing is in use, later rounds get one chunk in which each request has its place, found for
  /// all of them together. Memory is as much as is needed at once, or little more.
  void Gather();

 private:
  static constexpr size_t kNever = SIZE_MAX;
  static constexpr size_t kMaxRequests = 1 << 14;  // of a round: more are not planned

  // Chunks from the heap are cut into ranges; free neighbours in a chunk are one range.
  struct Range {
    size_t size;
    char* chunk;
    bool in_use;
    size_t request;  // its index in seen_, or kNever
  };
  struct Chunk {
    size_t size;
    Allocator* owner;
  };
  using Ranges = std::map<char*, Range>;
  /// In use from one moment of a round to another; a place in the planned chunk.
  struct Request {
    size_t size, begin, end, offset;
    bool operator==(const Request& other) const;
  };

  Ranges::iterator SmallestThatFits(size_t size);
  Ranges::iterator AddChunk(size_t size);
  char* PlannedPlace(size_t size);
  Ranges::iterator RangeAround(char* place);
  Range& Cut(Ranges::iterator range, char* data, size_t size);
  void DropIdleChunks() noexcept;
  void JoinIfFree(Ranges::iterator first, Ranges::iterator second) noexcept;
  /// Sets the offsets; returns how much memory that takes.
  static size_t Place(std::vector<Request>* requests);
  template <typename Less>
  static size_t PlaceInOrder(std::vector<Request>* requests, Less&& less);

  mutable std::mutex mutex_;
  Ranges ranges_;
  std::map<char*, Chunk> chunks_;
  size_t in_use_ = 0;                          // ranges
  std::vector<Request> seen_, before_, plan_;  // of this round, the last one, and the plan's
  char* planned_ = nullptr;                    // the chunk of the plan
  size_t clock_ = 0;
  bool recording_ = false;
};

}  // namespace caffe

#endif  // CAFFE_MEMORY_POOL_HPP_
