#include "caffe/memory_pool.hpp"

#include <algorithm>
#include <iterator>

#include "caffe/common.hpp"

namespace caffe {

MemoryPool::~MemoryPool() {
  DropIdleChunks();
  CHECK(chunks_.empty()) << "memory of a pool is in use after its end";
}

void* MemoryPool::Allocate(size_t size) {
  const size_t rounded = std::max<size_t>(1, (size + kAlignment - 1) / kAlignment) * kAlignment;
  std::lock_guard<std::mutex> lock(mutex_);
  auto best = SmallestThatFits(rounded);
  if (best == ranges_.end()) {
    DropIdleChunks();
    best = AddChunk(rounded);
  }
  Range& found = best->second;
  if (found.size > rounded) {
    ranges_[best->first + rounded] = Range{found.size - rounded, found.chunk, false};
    found.size = rounded;
  }
  found.in_use = true;
  in_use_ += found.size;
  most_in_use_ = std::max(most_in_use_, in_use_);
  return best->first;
}

void MemoryPool::Free(void* pointer, size_t) noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto range = ranges_.find(static_cast<char*>(pointer));
  range->second.in_use = false;
  in_use_ -= range->second.size;
  const auto next = std::next(range);
  if (next != ranges_.end()) JoinIfFree(range, next);
  if (range != ranges_.begin()) JoinIfFree(std::prev(range), range);
}

size_t MemoryPool::capacity() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return Held();
}

size_t MemoryPool::Held() const {
  size_t total = 0;
  for (const auto& chunk : chunks_) total += chunk.second.size;
  return total;
}

void MemoryPool::Gather() {
  constexpr int kMostTimes = 3;
  std::lock_guard<std::mutex> lock(mutex_);
  if (in_use_ > 0 || chunks_.size() < 2) return;
  if (most_in_use_ > gathered_for_) gathered_ = 0;
  if (gathered_ == kMostTimes) return;
  gathered_for_ = most_in_use_;
  const size_t size = gathered_ == 0 ? most_in_use_ : Held();
  ++gathered_;
  DropIdleChunks();
  AddChunk(size);
}

MemoryPool::Ranges::iterator MemoryPool::SmallestThatFits(size_t size) {
  auto best = ranges_.end();
  for (auto range = ranges_.begin(); range != ranges_.end(); ++range) {
    const bool fits = !range->second.in_use && range->second.size >= size;
    if (fits && (best == ranges_.end() || range->second.size < best->second.size)) best = range;
  }
  return best;
}

MemoryPool::Ranges::iterator MemoryPool::AddChunk(size_t size) {
  Allocator* owner = nullptr;
  char* data = static_cast<char*>(AllocateHost(size, &owner));
  chunks_[data] = Chunk{size, owner};
  return ranges_.emplace(data, Range{size, data, false}).first;
}

// What fitted nothing makes room for what comes.
void MemoryPool::DropIdleChunks() noexcept {
  for (auto chunk = chunks_.begin(); chunk != chunks_.end();) {
    const auto range = ranges_.find(chunk->first);
    if (range->second.in_use || range->second.size < chunk->second.size) {
      ++chunk;
      continue;
    }
    FreeHost(chunk->first, chunk->second.size, chunk->second.owner);
    ranges_.erase(range);
    chunk = chunks_.erase(chunk);
  }
}

void MemoryPool::JoinIfFree(Ranges::iterator first, Ranges::iterator second) noexcept {
  const bool joined = !first->second.in_use && !second->second.in_use &&
                      first->second.chunk == second->second.chunk;
  if (!joined) return;
  first->second.size += second->second.size;
  ranges_.erase(second);
}

}  // namespace caffe
