#ifndef CAFFE_NET_INDEX_LIMITS_HPP_
#define CAFFE_NET_INDEX_LIMITS_HPP_

#include <cstddef>
#include <vector>

#include "caffe/net.hpp"

namespace caffe {

/// A layer of a net or node of a graph, and the values that it reads and makes, by number.
struct IndexReader {
  const LayerParameter* layer = nullptr;
  std::vector<int> bottoms, tops;
  bool passes_on = false;  ///< its tops are its only bottom
};

/// For each value, of which the shapes are given, below what its numbers have to lie, whole and
/// from 0 on: Embed and BatchReindex take them as indices. 0: any numbers will do.
std::vector<int> IndexLimits(const std::vector<IndexReader>& readers,
                             const std::vector<Shape>& shapes);
/// The same for each blob of a net.
std::vector<int> IndexLimits(const Net<float>& net);

/// Makes numbers from 0 to 1 indices below `limit`.
void MakeIndices(int limit, size_t count, float* numbers);

}  // namespace caffe

#endif  // CAFFE_NET_INDEX_LIMITS_HPP_
