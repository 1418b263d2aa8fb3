#ifndef CAFFE_LAYERS_CONVOLUTION_PRODUCTS_HPP_
#define CAFFE_LAYERS_CONVOLUTION_PRODUCTS_HPP_

#include "caffe/layers/base_conv_layer.hpp"
#include "caffe/layers/weighted_product.hpp"
#include "fused_followers.hpp"

namespace caffe {

/// What the layers Convolution and Deconvolution compute with.
template <typename Dtype>
struct BaseConvolutionLayer<Dtype>::Products {
  using Product = WeightedProduct<Dtype, algorithms::ConvolutionProblem>;

  /// The product's sizes, seen from the side of Convolution; one spatial axis at least.
  kernels::ConvolutionShape shape;
  /// One with, one without the work of the fused followers; the one that computed last.
  Product alone, fused;
  const Product* latest = nullptr;
  FusedFollowers<Dtype> followers;

  /// What `layer` computes for bottoms that lie as this one does, with `behind` behind it.
  algorithms::ConvolutionProblem ProblemOf(BaseConvolutionLayer& layer, const Blob<Dtype>& bottom,
                                           const Pointwise& behind) const;
};

}  // namespace caffe

#endif  // CAFFE_LAYERS_CONVOLUTION_PRODUCTS_HPP_
