#ifndef CAFFE_LAYERS_CONVOLUTION_PRODUCTS_HPP_
#define CAFFE_LAYERS_CONVOLUTION_PRODUCTS_HPP_

#include "caffe/layers/base_conv_layer.hpp"
#include "caffe/layers/weighted_product.hpp"
#include "fused_followers.hpp"
#include "joined_convolutions.hpp"

namespace caffe {

/// What the layers Convolution and Deconvolution compute with.
template <typename Dtype>
struct BaseConvolutionLayer<Dtype>::Products {
  using Product = WeightedProduct<Dtype, algorithms::ConvolutionProblem>;

  /// Its shape is kept by the layer: the product's sizes, seen from the side of Convolution; one
  /// spatial axis at least. ProblemOf fills in the rest.
  algorithms::ConvolutionProblem problem;
  /// One with, one without the work of the fused followers; the one that computed last.
  Product alone, fused;
  const Product* latest = nullptr;
  FusedFollowers<Dtype> followers;
  /// This layer and those that are computed with it.
  JoinedConvolutions<Dtype> joined;
  /// True if the last pass computed it with others.
  bool ran_joined = false;

  /// What `layer` computes for bottoms that lie as this one does, with `behind` behind it.
  const algorithms::ConvolutionProblem& ProblemOf(BaseConvolutionLayer& layer,
                                                  const Blob<Dtype>& bottom,
                                                  const Pointwise& behind);
};

}  // namespace caffe

#endif  // CAFFE_LAYERS_CONVOLUTION_PRODUCTS_HPP_
