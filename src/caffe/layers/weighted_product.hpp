#ifndef CAFFE_LAYERS_WEIGHTED_PRODUCT_HPP_
#define CAFFE_LAYERS_WEIGHTED_PRODUCT_HPP_

#include <memory>
#include <vector>

#include "caffe/algorithms/convolution.hpp"
#include "caffe/algorithms/inner_product.hpp"
#include "caffe/blob.hpp"
#include "caffe/core/pointwise.hpp"

namespace caffe {

/// The parameters of a layer, in elements of `type`.
template <typename Dtype>
struct WeightBlobs {
  Blob<Dtype>* values;
  Blob<Dtype>* bias;  ///< or null
  size_t outputs;
  ElementType type;
};

/// The bias (zeros where there is none), followed by `pointwise`.
template <typename Dtype>
vector<float> FoldedBias(const WeightBlobs<Dtype>& blobs, const Pointwise& pointwise);

/// The packed weights of a layer: packed again when they have been written.
template <typename Dtype>
class PackedWeights {
 public:
  /// Those of `blobs`, followed by `pointwise`, which changes only when `stamp` does, as
  /// `algorithm` reads them. Where nothing is folded into the weights, nor are they rounded to
  /// another type, the packed ones become the blob's only copy, unless it is shared.
  algorithms::Weights Get(const algorithms::AlgorithmPtr& algorithm,
                          const WeightBlobs<Dtype>& blobs, const Pointwise& pointwise,
                          uint64_t stamp);

 private:
  void Pack(const algorithms::AlgorithmPtr& algorithm, const WeightBlobs<Dtype>& blobs,
            const Pointwise& pointwise);

  algorithms::AlgorithmPtr packed_by_;  // null: nothing is packed
  uint64_t stamp_ = 0;
  std::shared_ptr<SyncedMemory> values_;
  vector<float> bias_;
};

/// What a layer multiplies its bottoms by blobs[0] with, and adds blobs[1]: the algorithm for a
/// ConvolutionProblem or InnerProductProblem, chosen again when that has changed.
template <typename Dtype, typename Problem>
class WeightedProduct {
 public:
  using Blobs = vector<shared_ptr<Blob<Dtype>>>;

  const algorithms::AlgorithmPtr& For(const Problem& problem);
  /// Null before the first For.
  const algorithms::AlgorithmPtr& algorithm() const { return algorithm_; }

  /// The tops, followed by `pointwise` as PackedWeights says. False where the algorithm leaves
  /// `pointwise` to the caller.
  bool Forward(const Problem& problem, const Blobs& blobs, const Pointwise& pointwise,
               uint64_t stamp, const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  /// The gradients of the parameters that are wanted, and of the bottoms.
  void Backward(const Problem& problem, const Blobs& blobs, const vector<bool>& wanted,
                const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                const vector<Blob<Dtype>*>& bottom);

 private:
  Problem problem_;
  algorithms::AlgorithmPtr algorithm_;
  PackedWeights<Dtype> weights_;
};

/// The settings of a layer for the choice of its algorithm.
template <typename Dtype>
algorithms::Settings SettingsOf(const LayerTypes& types, Phase phase, Engine engine);

}  // namespace caffe

#endif  // CAFFE_LAYERS_WEIGHTED_PRODUCT_HPP_
