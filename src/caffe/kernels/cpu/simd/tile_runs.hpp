#ifndef CAFFE_KERNELS_CPU_TILE_RUNS_HPP_
#define CAFFE_KERNELS_CPU_TILE_RUNS_HPP_

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/parallel.hpp"

// Shared by kernels that run register tiles over bands of outputs.
namespace caffe::kernels {

inline size_t Threads() { return static_cast<size_t>(std::max(1, omp_get_max_threads())); }

/// Bytes between the scratch memories of two threads: a core must not prefetch what another core is
/// writing.
constexpr size_t kBetweenThreads = 64 << 10;

/// Hands out scratch memory in pieces aligned to cache lines; without memory it only counts.
class Pieces {
 public:
  explicit Pieces(void* memory = nullptr) : memory_(static_cast<char*>(memory)) {}
  template <typename T>
  T* Take(size_t count) {
    char* piece = memory_ ? memory_ + bytes_ : nullptr;
    bytes_ += RoundUp(count * sizeof(T), 64);
    return reinterpret_cast<T*>(piece);
  }
  size_t bytes() const { return bytes_; }

 private:
  char* memory_;
  size_t bytes_ = 0;
};

/// Bytes of the pieces that T(arguments..., Pieces*) takes.
template <typename T, typename... Arguments>
size_t BytesOfPieces(const Arguments&... arguments) {
  Pieces pieces;
  T(arguments..., &pieces);
  return pieces.bytes();
}

/// `count` values (zeros if null), padded with zeros in `memory`, which has room for `padded` of
/// them; or the values themselves if they need no padding.
inline const float* Padded(const float* values, size_t count, size_t padded, float* memory) {
  if (values && count == padded) return values;
  std::fill_n(memory, padded, 0.f);
  if (values) std::copy_n(values, count, memory);
  return memory;
}

/// Zeros the padding of the blocks of `pixels` pixels, which begin `pitch` elements of `size` bytes
/// apart: the lanes from `used` on.
inline void ClearLanes(void* blocks, size_t pixels, size_t block, size_t used, size_t size,
                       size_t pitch) {
  char* first = static_cast<char*>(blocks) + used * size;
  for (size_t i = 0; i < pixels; ++i) {
    std::memset(first + i * pitch * size, 0, (block - used) * size);
  }
}
/// ClearLanes for consecutive blocks.
inline void ClearLanes(void* blocks, size_t pixels, size_t block, size_t used, size_t size) {
  ClearLanes(blocks, pixels, block, used, size, block);
}

/// Calls f(to, from) for each weight of a kernel of `taps` positions per channel: from (channel,
/// tap) to (block of channels, tap, channel).
template <typename Function>
void ForEachDepthwiseWeight(size_t channels, size_t taps, size_t block, Function&& f) {
  for (size_t c = 0; c < channels; ++c) {
    for (size_t tap = 0; tap < taps; ++tap) {
      f((c / block * taps + tap) * block + c % block, c * taps + tap);
    }
  }
}

/// Runs nearly equal tiles of at most `most` of the pixels from `first` on; functions[p - 1] is for
/// p pixels.
template <typename Function, typename Work>
void RunTiles(Function* const* functions, int most, int pixels, const Work& work, int first = 0) {
  const int tiles = static_cast<int>(CeilDiv(pixels, most));
  const int smaller = pixels / tiles, larger_tiles = pixels % tiles;
  if (larger_tiles > 0) functions[smaller](work, first, larger_tiles);
  functions[smaller - 1](work, first + larger_tiles * (smaller + 1), tiles - larger_tiles);
}

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_TILE_RUNS_HPP_
