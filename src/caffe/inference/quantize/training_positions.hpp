#ifndef CAFFE_INFERENCE_QUANTIZE_TRAINING_POSITIONS_HPP_
#define CAFFE_INFERENCE_QUANTIZE_TRAINING_POSITIONS_HPP_

#include <string>
#include <vector>

#include "caffe/proto/caffe.pb.h"

namespace caffe::inference {

/// Where an engine that computes with integers rounds, in terms of the net that it is built from.
struct TrainingPositions {
  /// A blob of integers between operations.
  struct RoundedBlob {
    std::string name;  ///< as graphs call it: "conv1", or "conv1_before_tanh1" where tanh1 works on
                       ///< it in place
    std::string layer;  ///< whose top it is: the last of those that become one operation
    int top = 0;
    std::string group;       ///< the same for all blobs that have one range: elements are moved or
                             ///< pooled from one to another
    bool is_stated = false;  ///< the range is known: that of a Softmax, Sigmoid or TanH in 8 bits
    float minimum = 0, maximum = 0;  ///< then
  };
  /// A layer whose weights are integers.
  struct RoundedWeights {
    std::string layer;
    /// The BatchNorm, Scale, Bias and Power layers that go into its weights.
    std::vector<std::string> folded;
    /// The same for all layers that become one operation, whose weights are one tensor.
    std::string group;
  };
  std::vector<RoundedBlob> blobs;
  std::vector<RoundedWeights> weights;
};

/// True if the layer's tops are what a net is fed with, which an engine's user gives.
bool FeedsNet(const LayerParameter& layer);

/// Found by the optimizer's passes, run on the net in its TEST phase. `net` is what its state
/// includes (Net::FilterNet), of either phase, without Split layers. Nothing depends on weights.
/// Layers that read data are set up to see the shapes of what they read; the calling thread's
/// random generator stays as it was. Throws Error where a layer cannot be set up.
TrainingPositions PositionsOf(const NetParameter& net);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_QUANTIZE_TRAINING_POSITIONS_HPP_
