#ifndef CAFFE_INFERENCE_ACTIVATION_STATISTICS_HPP_
#define CAFFE_INFERENCE_ACTIVATION_STATISTICS_HPP_

#include <string>
#include <vector>

#include "caffe/fp16/value_graph.hpp"
#include "caffe/inference/histogram.hpp"
#include "caffe/net.hpp"

namespace caffe {

/// A blob that may be quantized and what was seen in it.
struct BlobStatistics {
  std::string blob;   ///< ValueGraph::Value::name: as engines call it
  std::string layer;  ///< the one that writes it last
  Histogram histogram;
  // Of each channel (axis 1); none for blobs without one.
  std::vector<float> channels;  ///< the largest magnitude
  std::vector<double> sums;     ///< of all values
  int64_t values = 0;           ///< how many of a channel were seen
};

/// Runs a float net and counts the values of its blobs.
///
/// Counted are the blobs that a layer with an INT8 form (by the operation table) reads or writes.
/// All others stay float: labels, indices, boxes, losses, probabilities that leave the net. Of a
/// blob that layers change in place only the final values are counted: the others are inside a
/// fused layer. Of inputs, those before and after the layers that prepare them.
class ActivationStatistics {
 public:
  /// The net must be in the TEST phase, without set_share_activations; it must outlive this.
  explicit ActivationStatistics(Net<float>* net);

  /// Runs the net on what its inputs (or data layers) hold and counts what it computes. Layers
  /// before `first` have run already.
  void Forward(int first = 0);

  /// In the order in which the net computes them.
  const std::vector<BlobStatistics>& blobs() const { return blobs_; }
  /// Null if there is no such blob.
  const BlobStatistics* Find(const std::string& blob) const;
  Net<float>& net() const { return *net_; }
  int64_t batches() const { return batches_; }

 private:
  Net<float>* net_;
  struct Place {
    int layer, top;  // of the net
  };
  std::vector<BlobStatistics> blobs_;
  std::vector<Place> places_;  // of each of them
  int64_t batches_ = 0;
};

/// The values of the graph that a calibration table has to have: indices into graph.values.
/// ActivationStatistics counts these, and those that functions with integer forms (Sigmoid, Swish)
/// read together with other layers.
std::vector<int> QuantizableValues(const Net<float>& net, const ValueGraph& graph);

}  // namespace caffe

#endif  // CAFFE_INFERENCE_ACTIVATION_STATISTICS_HPP_
