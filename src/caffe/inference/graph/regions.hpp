#ifndef CAFFE_INFERENCE_GRAPH_REGIONS_HPP_
#define CAFFE_INFERENCE_GRAPH_REGIONS_HPP_

#include <optional>
#include <vector>

#include "caffe/inference/graph.hpp"

namespace caffe::inference {

/// Bytes that an arena may have between and behind its values, as room for scratch memory, at most.
constexpr size_t kMaxScratch = size_t(1) << 30;

/// The memory of a value within the value that owns it: `outer` runs of `run` elements each, the
/// first at `offset`, `stride` elements from one to the next.
struct Region {
  int root = -1;
  size_t offset = 0, outer = 1, stride = 0, run = 0;

  bool contiguous() const { return outer <= 1 || stride == run; }
  size_t end() const { return outer == 0 ? offset : offset + (outer - 1) * stride + run; }
};

/// The value whose memory this one lies in: itself, unless it is a view. Throws Error if views go
/// around in a circle.
int RootOf(const Graph& graph, int value);

/// Follows the views from `value` to its root; `shapes` has the shape of every value. Not set if
/// the elements do not form such runs, or if they would begin elsewhere in these shapes than in the
/// graph's own, which the views were made for.
std::optional<Region> RegionOf(const Graph& graph, int value, const std::vector<Shape>& shapes);
std::optional<Region> RegionOf(const Graph& graph, int value);

/// False for channels that do not fill the last block, which no view has and none is made of.
inline bool HasWholeBlocks(const Value& value) {
  return value.layout == Layout::PLAIN || value.shape[1] % value.block == 0;
}

/// The graph's own shapes, one a value.
std::vector<Shape> ShapesOf(const Graph& graph);
/// Those of the smallest inputs that will be run; without a range the graph's own.
std::vector<Shape> ShapesInSmallestRun(const Graph& graph);

/// True if views make the node a no-op: every value that it would copy is already at its
/// destination.
bool IsFree(const Graph& graph, const Node& node);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_GRAPH_REGIONS_HPP_
