#ifndef CAFFE_FP16_INNER_RANGES_HPP_
#define CAFFE_FP16_INNER_RANGES_HPP_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// The largest magnitude of each intermediate result inside a layer, by what it is.
using InnerRanges = std::map<std::string, double>;

/// Watches the intermediate results that an implementation in half precision would hold inside a
/// layer. Per type, and why:
///
///   Convolution, DepthwiseConvolution, ConvolutionDepthwise, Deconvolution, InnerProduct:
///     "partial sum": the products of a sum, added up in half, may leave the range though their
///     total does not. The order of additions is up to the implementation, so the bound
///     is over all orders: the larger of the sum of the positive and of the negative products.
///   Pooling AVE, Reduction SUM, ASUM, MEAN: "sum" before the division, over all orders likewise;
///   Reduction SUMSQ: "sum of squares".
///   LRN: "sum of squares" over its window, before alpha makes it small.
///   Normalize: "sum of squares" over the channels (over everything, with across_spatial).
///   MVN; BatchNorm, BN with the batch's statistics: "sum" and "sum of squares" that mean and
///     variance are made from.
///   BatchNorm, BN with stored statistics: "x - mean", which is made first, and "stored mean",
///     "stored variance": BVLC's files hold them times a factor of up to 1000, and times nothing
///     they may be beyond the range, too.
///   Scale with a parameter: "product" before the bias is added.
///   Eltwise with more than two bottoms: "partial sum" or "partial product" in the bottoms' order.
///   Softmax, SoftmaxWithLoss: "x - max" and "sum of exp(x - max)", which is at most the number of
///     classes. Softmax without the subtraction would overflow beyond 11; nothing here does that.
///   Power, Exp, Log: "shift + scale x".
///
/// Elementwise functions of one value (ReLU, Sigmoid, ...) hold nothing but their result. Recurrent
/// and custom layers are not watched.
///
/// This library adds up in float inside every layer, FLOAT16 ones too; other implementations
/// (FP16 arithmetic of accelerators) do not.
class InnerWatch {
 public:
  virtual ~InnerWatch() = default;
  /// Before the layer runs (it may overwrite its bottoms): takes the larger of what is in `ranges`
  /// and what these bottoms give.
  virtual void Add(Layer<float>* layer, const std::vector<Blob<float>*>& bottoms,
                   InnerRanges* ranges) = 0;

  /// A null pointer for layers with nothing inside.
  static std::unique_ptr<InnerWatch> Make(const Layer<float>& layer);
};

}  // namespace caffe

#endif  // CAFFE_FP16_INNER_RANGES_HPP_
