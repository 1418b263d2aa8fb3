#include "caffe/core/memory_pool.hpp"

#include <algorithm>
#include <iterator>
#include <memory>

#include "caffe/common.hpp"
#include "caffe/kernels/ceil_div.hpp"

namespace caffe {

MemoryPool::~MemoryPool() {
  DropIdleChunks();
  CHECK(chunks_.empty()) << "memory of a pool is in use after its end";
}

void* MemoryPool::Allocate(size_t size) {
  const size_t rounded = kernels::RoundUp(std::max<size_t>(1, size), kAlignment);
  std::lock_guard<std::mutex> lock(mutex_);
  char* data = PlannedPlace(rounded);
  auto range = data ? RangeAround(data) : SmallestThatFits(rounded);
  if (range == ranges_.end()) {
    DropIdleChunks();
    range = AddChunk(rounded);
  }
  if (!data) data = range->first;
  if (recording_ && seen_.size() == seen_.capacity()) seen_.reserve(2 * seen_.size() + 16);
  Range& taken = Cut(range, data, rounded);  // from here on nothing can fail
  taken.in_use = true;
  ++in_use_;
  if (recording_) {
    taken.request = seen_.size();
    seen_.push_back({rounded, clock_++, kNever, 0});
    recording_ = seen_.size() < kMaxRequests;
  }
  return data;
}

void MemoryPool::Free(void* pointer, size_t) noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto range = ranges_.find(static_cast<char*>(pointer));
  range->second.in_use = false;
  --in_use_;
  if (range->second.request < seen_.size()) seen_[range->second.request].end = clock_++;
  range->second.request = kNever;
  const auto next = std::next(range);
  if (next != ranges_.end()) JoinIfFree(range, next);
  if (range != ranges_.begin()) JoinIfFree(std::prev(range), range);
}

size_t MemoryPool::capacity() const {
  std::lock_guard<std::mutex> lock(mutex_);
  size_t total = 0;
  for (const auto& chunk : chunks_) total += chunk.second.size;
  return total;
}

bool MemoryPool::Request::operator==(const Request& other) const {
  return size == other.size && begin == other.begin && end == other.end;
}

// Where requests changed each time, a plan would only bring memory that has to be reallocated.
void MemoryPool::Gather() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (in_use_ == 0 && !seen_.empty() && seen_ == before_ && !(seen_ == plan_)) {
    std::vector<Request> plan = seen_;
    const size_t size = Place(&plan);
    DropIdleChunks();
    planned_ = AddChunk(size)->first;
    plan_.swap(plan);
  }
  before_.swap(seen_);
  seen_.clear();
  clock_ = 0;
  recording_ = in_use_ == 0;
}

// Tries three orders (largest, longest in use, earliest first) and keeps the smallest result.
size_t MemoryPool::Place(std::vector<Request>* requests) {
  using Less = bool(const Request&, const Request&);
  Less* const orders[] = {
      [](const Request& a, const Request& b) { return a.size > b.size; },
      [](const Request& a, const Request& b) { return a.end - a.begin > b.end - b.begin; },
      [](const Request& a, const Request& b) { return a.begin < b.begin; }};
  size_t least = SIZE_MAX;
  for (Less* order : orders) {
    std::vector<Request> placed = *requests;
    const size_t size = PlaceInOrder(&placed, order);
    if (size >= least) continue;
    least = size;
    requests->swap(placed);
  }
  return least;
}

// Places each request at the lowest offset that is free during its whole use.
template <typename Less>
size_t MemoryPool::PlaceInOrder(std::vector<Request>* requests, Less&& less) {
  std::vector<Request*> order, placed;
  for (Request& request : *requests) order.push_back(&request);
  std::stable_sort(order.begin(), order.end(),
                   [&](const Request* a, const Request* b) { return less(*a, *b); });
  size_t total = 0;
  for (Request* request : order) {
    size_t offset = 0;
    for (const Request* other : placed) {  // in the order of their offsets
      const bool together = request->begin < other->end && other->begin < request->end;
      if (!together || other->offset + other->size <= offset) continue;
      if (offset + request->size <= other->offset) break;
      offset = other->offset + other->size;
    }
    request->offset = offset;
    total = std::max(total, offset + request->size);
    const auto behind = [](const Request* a, const Request* b) { return a->offset < b->offset; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), request, behind), request);
  }
  return total;
}

// Null if the plan has no place for this request, or the place is in use.
char* MemoryPool::PlannedPlace(size_t size) {
  const size_t index = seen_.size();
  if (!recording_ || !planned_ || index >= plan_.size() || plan_[index].size != size) {
    return nullptr;
  }
  char* place = planned_ + plan_[index].offset;
  const auto range = RangeAround(place);
  const bool fits = place + size <= range->first + range->second.size;
  return fits && !range->second.in_use ? place : nullptr;
}

MemoryPool::Ranges::iterator MemoryPool::RangeAround(char* place) {
  return std::prev(ranges_.upper_bound(place));
}

/// Makes [data, data + size) of a free range a range of its own. What is cut off is made first:
/// where there is no memory for it, nothing has changed.
MemoryPool::Range& MemoryPool::Cut(Ranges::iterator range, char* data, size_t size) {
  char* const chunk = range->second.chunk;
  const size_t front = data - range->first, back = range->second.size - front - size;
  Ranges cut_off;
  if (front > 0) cut_off.emplace(data, Range{size, chunk, false, kNever});
  if (back > 0) cut_off.emplace(data + size, Range{back, chunk, false, kNever});
  ranges_.merge(cut_off);
  range->second.size = front > 0 ? front : size;
  return (front > 0 ? std::next(range) : range)->second;
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
  const auto free = [&](void* data) { FreeHost(data, size, owner); };
  std::unique_ptr<void, decltype(free)> memory(AllocateHost(size, &owner), free);
  char* const data = static_cast<char*>(memory.get());
  std::map<char*, Chunk> chunk;
  chunk.emplace(data, Chunk{size, owner});
  const auto range = ranges_.emplace(data, Range{size, data, false, kNever}).first;
  chunks_.merge(chunk);
  memory.release();
  return range;
}

// Frees chunks of which no part is in use.
void MemoryPool::DropIdleChunks() noexcept {
  for (auto chunk = chunks_.begin(); chunk != chunks_.end();) {
    const auto range = ranges_.find(chunk->first);
    if (range->second.in_use || range->second.size < chunk->second.size) {
      ++chunk;
      continue;
    }
    if (chunk->first == planned_) {
      planned_ = nullptr;
      plan_.clear();
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
