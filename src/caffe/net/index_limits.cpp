#include "caffe/net/index_limits.hpp"

#include <algorithm>
#include <cmath>

#include "caffe/operation.hpp"

namespace caffe {

std::vector<int> IndexLimits(const std::vector<IndexReader>& readers,
                             const std::vector<Shape>& shapes) {
  std::vector<int> limits(shapes.size(), 0);
  const auto lower = [&](int value, int limit) {
    if (limit > 0) limits[value] = limits[value] > 0 ? std::min(limits[value], limit) : limit;
  };
  // Backwards: what comes after a layer that passes its bottom on is known then.
  for (auto reader = readers.rbegin(); reader != readers.rend(); ++reader) {
    const std::vector<int>& bottoms = reader->bottoms;
    if (reader->layer->type() == "Embed" && !bottoms.empty()) {
      lower(bottoms[0], static_cast<int>(reader->layer->embed_param().input_dim()));
    } else if (reader->layer->type() == "BatchReindex" && bottoms.size() > 1) {
      const Shape& items = shapes[bottoms[0]];
      if (!items.empty()) lower(bottoms[1], items[0]);
    } else if (reader->passes_on) {
      for (const int top : reader->tops) lower(bottoms[0], limits[top]);
    }
  }
  return limits;
}

std::vector<int> IndexLimits(const Net<float>& net) {
  std::vector<IndexReader> readers;
  for (size_t i = 0; i < net.layers().size(); ++i) {
    const LayerParameter& layer = net.layers()[i]->layer_param();
    const int index = static_cast<int>(i);
    readers.push_back({&layer, net.bottom_ids(index), net.top_ids(index), SharesBottom(layer)});
  }
  std::vector<Shape> shapes;
  for (const auto& blob : net.blobs()) shapes.push_back(blob->shape());
  return IndexLimits(readers, shapes);
}

void MakeIndices(int limit, size_t count, float* numbers) {
  const float last = static_cast<float>(limit - 1);
  for (size_t i = 0; i < count; ++i) {
    numbers[i] = std::min(last, std::floor(numbers[i] * static_cast<float>(limit)));
  }
}

}  // namespace caffe
