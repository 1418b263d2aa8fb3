#ifndef CAFFE_QUANTIZED_TRAINING_HPP_
#define CAFFE_QUANTIZED_TRAINING_HPP_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "caffe/inference/quantize/training_positions.hpp"
#include "caffe/layer.hpp"

namespace caffe {

template <typename Dtype>
class BatchNormLayer;
template <typename Dtype>
class FakeQuantizationLayer;
template <typename Dtype>
class IntegerPass;

/// The net with a FakeQuantization layer "<blob>_quantization" behind each of these blobs. It makes
/// the blob under its own name, and the layers before it "<blob>_before_quantization"; what feeds
/// the net keeps its name, and others read "<blob>_quantized". Throws Error where the net has a
/// layer of such a name already.
NetParameter InsertFakeQuantization(const NetParameter& net,
                                    const inference::TrainingPositions& positions);

/// What a net with quantized_training does in addition to running its layers: its layers with
/// weights compute with rounded ones, and the iteration decides what is simulated.
///
/// Weights are rounded as an engine has them: with the layers folded in that it folds. A
/// BatchNorm and a Scale behind a convolution make its weights f w, with f = gamma / sqrt(variance
/// + eps) of each output, where variance is the moving average. With R for rounding, the
/// convolution computes with R(f w) / f, and BatchNorm and Scale go on as they are:
///
///     gamma (conv(x, R(f w) / f) - mean) / sqrt(variance' + eps) + beta
///
/// Once the statistics are frozen, or in the TEST phase, variance' is the moving average, too, and
/// this is conv(x, R(f w)) + beta - f mean: what the engine computes. Before that variance' is the
/// batch's: the sum is conv(x, R(f w)) times the ratio of the two deviations. That is the graph of
/// figure C.8 of arXiv:1712.05877 with the moving averages of its equation 14 in the factors, for
/// one convolution instead of two.
///
/// In the TEST phase, on the CPU, an engine of integers computes what comes out of the rounded part
/// of the net (IntegerPass): scores are those of the net as it will be deployed, to the bit.
///
/// Gradients go straight through: those of the rounded weights are the weights' own. Biases are not
/// rounded: the engine's have 32 bits, in steps of S1 S2, which is far below what 8 bits resolve.
template <typename Dtype>
class QuantizedTraining {
 public:
  using Layers = vector<shared_ptr<Layer<Dtype>>>;

  /// `net` is what InsertFakeQuantization was given, `layers` are those of the net that it made,
  /// set up. They must live as long.
  QuantizedTraining(const NetParameter& net, const inference::TrainingPositions& positions,
                    const Layers& layers);
  ~QuantizedTraining();

  void SetIteration(int iteration);

  /// What layers are run for.
  enum class Pass {
    FORWARD,       ///< all that is fed to the net goes through it
    FROM_BETWEEN,  ///< forward from some later layer on
    SAME           ///< backward, or forward again with what has been rounded last
  };

  /// While it lives, layers have rounded weights in the place of the first of their blobs, whose
  /// diff is the weights' own. Nothing happens in a net without quantized_training, before weights
  /// are rounded, or inside another one's life.
  class Rounded {
   public:
    Rounded(QuantizedTraining* training, Pass pass);
    ~Rounded();
    Rounded(const Rounded&) = delete;
    Rounded& operator=(const Rounded&) = delete;

   private:
    QuantizedTraining* training_ = nullptr;
  };

 private:
  struct WeightLayer;

  void FindMeans(const inference::TrainingPositions& positions, const Layers& layers);
  void FindWeights(const inference::TrainingPositions& positions, const Layers& layers);
  void RoundWeights();
  void WarnOfMissingRanges();
  void Swap();
  void BeginIntegers(Pass pass);

  const QuantizedTrainingParameter param_;
  const bool trains_;
  vector<FakeQuantizationLayer<Dtype>*> ranges_;
  vector<BatchNormLayer<Dtype>*> normalizations_;
  vector<shared_ptr<WeightLayer>> weights_;
  std::unique_ptr<IntegerPass<Dtype>> integers_;  // null: none compute the TEST phase
  bool is_swapped_ = false;
  uint64_t rounded_stamp_ = 0;  // of what was rounded last; 0: nothing was
  int stage_ = -1;              // as it was logged; -1: no iteration has been set
  bool warned_ = false;
  bool frozen_ = false;
};

}  // namespace caffe

#endif  // CAFFE_QUANTIZED_TRAINING_HPP_
