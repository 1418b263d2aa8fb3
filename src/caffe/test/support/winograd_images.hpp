#ifndef CAFFE_TEST_SUPPORT_WINOGRAD_IMAGES_HPP_
#define CAFFE_TEST_SUPPORT_WINOGRAD_IMAGES_HPP_

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/winograd.hpp"
#include "caffe/test/support/blocked_convolutions.hpp"
#include "caffe/test/support/every_instruction_set.hpp"
#include "caffe/test/support/seeded_numbers.hpp"

// Random shapes and images of the tests of Winograd's algorithm.
namespace caffe::kernels {

/// Memory for vectors, filled with NaN, which exposes reads of what was not written.
class Memory {
 public:
  explicit Memory(size_t bytes)
      : data_(std::aligned_alloc(64, bytes / 64 * 64 + 64), &std::free), bytes_(bytes) {
    std::memset(data_.get(), 0xff, bytes / 64 * 64 + 64);
  }
  void* get() const { return data_.get(); }
  /// What lies behind the end is as it was.
  bool intact() const {
    const unsigned char* data = static_cast<const unsigned char*>(data_.get());
    for (size_t i = bytes_; i < bytes_ / 64 * 64 + 64; ++i) {
      if (data[i] != 0xff) return false;
    }
    return true;
  }

 private:
  std::unique_ptr<void, void (*)(void*)> data_;
  const size_t bytes_;
};

/// Where element (n, c, position) lies in blocks.
inline size_t BlockedIndex(int channels, int block, size_t spatial, size_t n, size_t c,
                           size_t position) {
  return ((n * CeilDiv(channels, block) + c / block) * spatial + position) * block + c % block;
}

/// Values as T stores them, in the order (num, channels, spatial).
struct Images {
  int num, channels;
  size_t spatial;
  std::vector<float> values;

  float at(size_t n, size_t c, size_t position) const {
    return values[(n * channels + c) * spatial + position];
  }

  /// In blocks, zeros behind the last channel.
  template <typename T>
  std::vector<T> InBlocks(int block) const {
    std::vector<T> blocks(num * RoundUp(channels, block) * spatial, T(0.f));
    for (int n = 0; n < num; ++n) {
      for (int c = 0; c < channels; ++c) {
        for (size_t i = 0; i < spatial; ++i) {
          blocks[BlockedIndex(channels, block, spatial, n, c, i)] = static_cast<T>(at(n, c, i));
        }
      }
    }
    return blocks;
  }
};

template <typename T>
Images RandomImages(int num, int channels, size_t spatial, float scale, std::mt19937* random) {
  std::normal_distribution<float> distribution;
  Images images{num, channels, spatial, std::vector<float>(num * channels * spatial)};
  for (float& value : images.values) {
    value = static_cast<float>(static_cast<T>(scale * distribution(*random)));
  }
  return images;
}

/// The input of image n and channel c, zero outside of the image.
inline double InputAt(const WinogradShape& s, const Images& x, int n, int c, int y, int column) {
  const bool inside = y >= 0 && y < s.height && column >= 0 && column < s.width;
  return inside ? double(x.at(n, c, size_t(y) * s.width + column)) : 0.;
}

/// The largest |input| of each tile, (image, channel, tile).
inline std::vector<double> LargestInputs(const WinogradShape& s, const Images& x) {
  const int side = s.tile + s.kernel - 1;
  const int tiles_y = (s.output_height() + s.tile - 1) / s.tile;
  const int tiles_x = (s.output_width() + s.tile - 1) / s.tile;
  std::vector<double> largest(size_t(s.num) * s.channels * tiles_y * tiles_x);
  for (size_t t = 0; t < largest.size(); ++t) {
    const int top = int(t / tiles_x % tiles_y) * s.tile - s.pad_h;
    const int left = int(t % tiles_x) * s.tile - s.pad_w;
    const int plane = int(t / tiles_x / tiles_y);
    for (int i = 0; i < side * side; ++i) {
      const double value =
          InputAt(s, x, plane / s.channels, plane % s.channels, top + i / side, left + i % side);
      largest[t] = std::max(largest[t], std::fabs(value));
    }
  }
  return largest;
}

inline std::string Describe(const WinogradShape& s) {
  const auto text = [](int value) { return std::to_string(value); };
  return text(s.num) + " x " + text(s.channels) + " x " + text(s.height) + " x " + text(s.width) +
         " to " + text(s.outputs) + ", " + text(s.groups) + " groups, kernel " + text(s.kernel) +
         ", pad " + text(s.pad_h) + " x " + text(s.pad_w) + ", blocks of " + text(s.block) +
         ", tiles of " + text(s.tile);
}

/// m and r of what there is.
constexpr std::pair<int, int> kAlgorithms[] = {{4, 3}, {2, 3}, {4, 5}, {2, 5}};

inline WinogradShape RandomShape(std::mt19937* random) {
  WinogradShape s;
  s.num = DrawInt(1, 3, random);
  s.channels = DrawInt(1, 40, random);
  s.outputs = DrawInt(1, 40, random);
  std::tie(s.tile, s.kernel) = kAlgorithms[DrawInt(0, 3, random)];
  s.pad_h = DrawInt(0, s.kernel - 1, random);
  s.pad_w = DrawInt(0, s.kernel - 1, random);
  s.height = DrawInt(std::max(1, s.kernel - 2 * s.pad_h), 15, random);
  s.width = DrawInt(std::max(1, s.kernel - 2 * s.pad_w), 15, random);
  s.block = DrawInt(0, 1, random) ? 8 : 16;
  s.groups = DrawInt(0, 2, random) ? 1 : DrawInt(2, 3, random);
  if (s.groups > 1) {
    s.channels = s.groups * s.block * DrawInt(1, 2, random);
    s.outputs = s.groups * s.block * DrawInt(1, 2, random);
  }
  return s;
}

}  // namespace caffe::kernels

#endif  // CAFFE_TEST_SUPPORT_WINOGRAD_IMAGES_HPP_
