#ifndef CAFFE_KERNELS_CPU_TILE_PAIRS_HPP_
#define CAFFE_KERNELS_CPU_TILE_PAIRS_HPP_

#include <vector>

#include "amx_tiles.hpp"
#include "caffe/element_type.hpp"
#include "caffe/kernels/cpu/elementwise/stored.hpp"

namespace caffe::kernels {

/// Of how many bfloat16 parts numbers are the sum.
inline int TileParts(Storage storage) {
  return storage == STORED_FLOAT ? 3 : storage == STORED_HALF ? 2 : 1;
}

/// Which products of parts are summed, the smallest first: those of which at most two parts come
/// behind the first ones. That is all of them for two float16; of floats what is left out is at
/// most 2^-22 of the whole. Where `math` is FLOAT16 that of both second parts of two float16, at
/// most 2^-16 of the whole, is left out.
inline std::vector<TilePair> TilePairsOf(Storage x, Storage weights, ElementType math) {
  const bool halves = x == STORED_HALF && weights == STORED_HALF;
  const int last = halves && math == ElementType::FLOAT16 ? 1 : 2;
  std::vector<TilePair> pairs;
  for (int sum = last; sum >= 0; --sum) {
    for (int i = 0; i <= sum; ++i) {
      if (i < TileParts(x) && sum - i < TileParts(weights)) pairs.push_back({i, sum - i});
    }
  }
  return pairs;
}

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_TILE_PAIRS_HPP_
