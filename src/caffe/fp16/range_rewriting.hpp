#ifndef CAFFE_FP16_RANGE_REWRITING_HPP_
#define CAFFE_FP16_RANGE_REWRITING_HPP_

#include <memory>
#include <string>
#include <vector>

#include "caffe/fp16/range_inspector.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

class FactorAssignment;

struct RangeRewritingOptions {
  /// How many times larger than seen values may become before FP16 overflows.
  double headroom = 4;
  /// The largest share (0 to 1) of a blob's values that may become subnormal in FP16 so that
  /// weights need not.
  double max_subnormal = 0.05;
};

/// Values that are divided by one power of two.
struct ScaledRegion {
  int exponent = 0;                ///< p = 2^exponent
  std::string from, to;            ///< layers; `to` is empty where values reach the net's output
  std::vector<std::string> blobs;  ///< names in the rewritten net are the same
  double largest = 0;              ///< before the division
  /// The largest shares, over the blobs, of values that FP16 holds as subnormals or loses: were
  /// nothing divided, and as it is.
  double subnormal_before = 0, subnormal_after = 0;
};

/// Parameters that absorb a factor.
struct FoldedFactor {
  std::string layer, parameter;
  int exponent = 0;  ///< multiplied by 2^exponent
  double subnormal_before = 0, subnormal_after = 0;
};

/// A net that computes what another one does without leaving FP16's range.
///
/// Through each part of the net where values become too large for FP16 a power of two p is carried:
/// what enters is divided by p, biases inside are, what leaves is multiplied by p. Both go into
/// the weights of neighbouring layers (factor_rules.hpp), which costs nothing at run time; only
/// where there is no such neighbour (the net's inputs and outputs, layers like Softmax) a Power
/// layer is put in. Layers that do not commute with a factor and at which values are too large stay
/// FLOAT (`forward_type: FLOAT`). All factors are powers of two, so that in FLOAT the results are
/// the same.
///
/// p is the least that leaves the headroom, for each set of blobs that have to have the same one
/// (branches of an Eltwise or Concat, both sides of a ReLU): a stack whose activations grow from
/// block to block gets a p that grows with them, and weights change by small factors only.
class RangeRewriting {
 public:
  /// `net` is what the inspector's net was made of, upgraded; layers that its TEST phase leaves out
  /// are not in the result. The inspector has seen at least one batch. Throws Error if it saw
  /// values that are not finite.
  RangeRewriting(const RangeInspector& inspector, const NetParameter& net,
                 const RangeRewritingOptions& options = RangeRewritingOptions());
  ~RangeRewriting();

  /// With default_forward_type and default_backward_type FLOAT16; without weights, and without
  /// state, include and exclude: it has the layers of the inspected net in every state.
  const NetParameter& net() const { return net_; }
  /// The weights, as layers with blobs. They come from the inspector's net, which must still be.
  NetParameter Weights() const;
  /// Writes them to a caffemodel, blob by blob, as floats (every Caffe reads them).
  void WriteModel(const std::string& file) const;

  const std::vector<ScaledRegion>& regions() const { return regions_; }
  const std::vector<FoldedFactor>& folded() const { return folded_; }
  /// Names of layers that stay FLOAT, whose products are added up in FLOAT
  /// (`forward_math: FLOAT`), that were put in, and of BatchNorm layers whose stored statistics
  /// were divided by their factor.
  const std::vector<std::string>& float_layers() const { return float_layers_; }
  const std::vector<std::string>& float_math_layers() const { return float_math_layers_; }
  const std::vector<std::string>& inserted_layers() const { return inserted_layers_; }
  const std::vector<std::string>& normalized_layers() const { return normalized_layers_; }

 private:
  struct LayerWeights;
  class Emitter;
  std::vector<float> Values(const LayerWeights& layer, size_t blob) const;
  void ReportRegions(const RangeInspector& inspector, const FactorAssignment& factors);
  void ReportFolded(const RangeInspector& inspector);

  NetParameter net_;
  std::vector<LayerWeights> weights_;
  std::vector<ScaledRegion> regions_;
  std::vector<FoldedFactor> folded_;
  std::vector<std::string> float_layers_, float_math_layers_, inserted_layers_;
  std::vector<std::string> normalized_layers_;
};

/// Removes every field that states a type or a math type: the same net in its own type.
void ClearTypes(NetParameter* net);

}  // namespace caffe

#endif  // CAFFE_FP16_RANGE_REWRITING_HPP_
