#ifndef CAFFE_KERNELS_CPU_WORK_ITEMS_HPP_
#define CAFFE_KERNELS_CPU_WORK_ITEMS_HPP_

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <utility>

#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/cpu/simd/tile_runs.hpp"
#include "caffe/kernels/parallel.hpp"

// Shared by all convolutions in tiles, whatever their types: how the work is split into items, and
// how these are spread over threads.
namespace caffe::kernels {

/// Cuts of the pixels (bands, or strips of Winograd tiles), each for each group, in slices of the
/// group's outputs.
struct WorkItems {
  struct Item {
    size_t cut, group, slice;
  };

  size_t cuts = 1, groups = 1, slices = 1;

  size_t count() const { return cuts * groups * slices; }
  Item At(size_t index) const {
    return {index / slices / groups, index / slices % groups, index % slices};
  }
  /// Increases the slices, up to `most`, until the items divide equally among the threads or each
  /// thread has several.
  void Slice(size_t most) {
    const size_t threads = Threads();
    while (slices < most && count() < 4 * threads && count() % threads != 0) ++slices;
  }
  /// The first of n parts of the outputs that belongs to a slice.
  size_t Begin(size_t slice, size_t n) const { return n * slice / slices; }
};

/// Blocks of channels in parts that tiles sum together, of nearly equal size.
class BlockParts {
 public:
  /// `even`: of an even number of blocks, if there are several parts, an even number, which two
  /// threads share.
  BlockParts(size_t blocks, size_t most, bool even = false)
      : blocks_(blocks), count_(CeilDiv(blocks, most)) {
    if (even && blocks % 2 == 0 && count_ > 1) count_ = RoundUp(count_, 2);
  }
  static BlockParts Into(size_t count, size_t blocks) {
    BlockParts parts(blocks, 1);
    parts.count_ = count;
    return parts;
  }
  size_t blocks() const { return blocks_; }
  size_t count() const { return count_; }
  size_t Begin(size_t part) const { return blocks_ * part / count_; }
  size_t Count(size_t part) const { return Begin(part + 1) - Begin(part); }
  size_t largest() const { return CeilDiv(blocks_, count_); }

 private:
  size_t blocks_, count_;
};

/// From the scratch memory of one thread to that of the next.
inline size_t ScratchPitch(const WorkItems& items, size_t bytes) {
  return items.count() > 1 ? bytes + kBetweenThreads : bytes;
}
/// Bytes of scratch memory that SpreadItems takes.
inline size_t ScratchOfItems(const WorkItems& items, size_t bytes) {
  return std::min(Threads(), items.count()) * ScratchPitch(items, bytes);
}

/// Calls f(begin, end, memory) for parts of the items, each on its own thread with `bytes` bytes of
/// scratch, a multiple of 64; a thread has at least `least_products`, so there may be fewer parts
/// than threads.
template <typename Function>
void SpreadItems(const WorkItems& items, size_t products, size_t least_products, void* scratch,
                 size_t bytes, Function&& f) {
  const size_t count = items.count();
  const size_t of_item = std::max<size_t>(1, products / std::max<size_t>(1, count));
  ParallelParts(count, std::max<size_t>(1, least_products / of_item),
                [&](size_t part, size_t begin, size_t end) {
                  f(begin, end, static_cast<char*>(scratch) + part * ScratchPitch(items, bytes));
                });
}

/// Plans for each number of images and of threads, made once each.
template <typename Plan>
class Plans {
 public:
  /// The plan for `num`, by make(num) if there is none yet. It lives as long as this.
  template <typename Make>
  const Plan& For(int num, const Make& make) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::pair<int, size_t> key(num, Threads());
    const auto found = plans_.find(key);
    return found != plans_.end() ? found->second : plans_.emplace(key, make(num)).first->second;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::map<std::pair<int, size_t>, Plan> plans_;
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_WORK_ITEMS_HPP_
