#ifndef CAFFE_KERNELS_CPU_TILE_PAIRS_HPP_
#define CAFFE_KERNELS_CPU_TILE_PAIRS_HPP_

#include <algorithm>

#include "amx_tiles.hpp"
#include "caffe/element_type.hpp"
#include "caffe/kernels/cpu/elementwise/stored.hpp"

namespace caffe::kernels {

/// How many bfloat16 parts numbers are split into.
inline int TileParts(Storage storage) {
  return storage == STORED_FLOAT ? 3 : storage == STORED_HALF ? 2 : 1;
}

class TilePairs {
 public:
  void Add(const TilePair& pair) { pairs_[size_++] = pair; }
  const TilePair* data() const { return pairs_; }
  const TilePair* begin() const { return pairs_; }
  const TilePair* end() const { return pairs_ + size_; }
  int size() const { return size_; }
  /// Parts of the weights that take part.
  int weight_parts() const {
    int parts = 0;
    for (const TilePair& pair : *this) parts = std::max(parts, pair.weights + 1);
    return parts;
  }

 private:
  TilePair pairs_[6];  // of three parts each, those with index sum at most 2
  int size_ = 0;
};

/// Which products of parts are summed, the smallest first: those whose part indices add up to at
/// most 2. That is all of them for two float16; for floats the omitted ones are at most 2^-22 of
/// the whole. If `math` is FLOAT16, the product of both second parts of two float16, at most 2^-16
/// of the whole, is omitted.
inline TilePairs TilePairsOf(Storage x, Storage weights, ElementType math) {
  const bool halves = x == STORED_HALF && weights == STORED_HALF;
  const int last = halves && math == ElementType::FLOAT16 ? 1 : 2;
  TilePairs pairs;
  for (int sum = last; sum >= 0; --sum) {
    for (int i = 0; i <= sum; ++i) {
      if (i < TileParts(x) && sum - i < TileParts(weights)) pairs.Add({i, sum - i});
    }
  }
  return pairs;
}

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_TILE_PAIRS_HPP_
