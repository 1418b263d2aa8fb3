#ifndef CAFFE_FP16_RANGE_INSPECTOR_HPP_
#define CAFFE_FP16_RANGE_INSPECTOR_HPP_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "caffe/fp16/inner_ranges.hpp"
#include "caffe/fp16/magnitudes.hpp"
#include "caffe/fp16/value_graph.hpp"
#include "caffe/net.hpp"

namespace caffe {

/// A top or a parameter of a layer and the magnitudes in it.
struct BlobRange {
  std::string name;  ///< the blob's; of parameters "weights", "bias", "mean", ...
  Magnitudes magnitudes;
};

struct LayerRange {
  std::string name, type;
  std::vector<std::string> bottoms;  ///< blobs
  std::vector<BlobRange> tops;
  std::vector<BlobRange> parameters;
  InnerRanges inside;  ///< see inner_ranges.hpp

  /// The largest of `inside`; 0 if nothing is watched.
  double LargestInside() const;
};

/// A top of a layer; both belong to the inspector.
struct TopRange {
  const LayerRange& layer;
  const BlobRange& top;
};

/// A connected part of a net in which values leave FP16's range: it begins where the bottoms still
/// fit and ends where the tops fit again.
struct OverflowRegion {
  std::string from, to;            ///< layers; `to` is empty where values reach the net's output
  std::vector<std::string> blobs;  ///< that do not fit, in the order of the layers
  double largest = 0;
};

/// Sees which numbers a float net computes, layer by layer, and says which of them FP16 cannot
/// hold.
///
///     Net<float> net(...);
///     RangeInspector inspector(&net);
///     for (...) { fill net.input_blobs(); inspector.Forward(); }
///     PrintRanges(inspector, std::cout);
///
/// The net must be a float one in the TEST phase, without set_share_activations.
class RangeInspector {
 public:
  /// Throws Error if parameters hold NaN or infinities: the layers, and how many there are.
  explicit RangeInspector(Net<float>* net);

  /// Runs the net on what its input blobs (or data layers) hold and adds what it computed.
  void Forward();

  /// In the order of the net, without the Split layers it inserted: parallel to graph().layers.
  const std::vector<LayerRange>& layers() const { return layers_; }
  const ValueGraph& graph() const { return graph_; }
  const Magnitudes& magnitudes(int value) const;
  Net<float>& net() const { return *net_; }
  int batches() const { return batches_; }

  /// The first top in which the net itself computed NaN or infinities.
  std::optional<TopRange> FirstNotFinite() const;
  /// Throws Error if there is one.
  void RequireFinite() const;

  /// Where tops exceed 65504.
  std::vector<OverflowRegion> Regions() const;
  /// Layers whose bottoms and tops fit though something inside does not: indices into layers().
  std::vector<int> OverflowsInside() const;

 private:
  void CheckParameters() const;

  Net<float>* net_;
  ValueGraph graph_;
  std::vector<LayerRange> layers_;
  std::vector<std::unique_ptr<InnerWatch>> watches_;  // null: nothing to watch
  int batches_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_FP16_RANGE_INSPECTOR_HPP_
