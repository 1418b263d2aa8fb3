#ifndef CAFFE_KERNELS_CPU_DEPTHWISE_CONVOLUTION_HPP_
#define CAFFE_KERNELS_CPU_DEPTHWISE_CONVOLUTION_HPP_

#include "caffe/kernels/convolution.hpp"

namespace caffe::kernels {

/// True for convolutions that the three functions below compute: each group has one channel and few
/// outputs, and there are at most two spatial axes.
bool IsDepthwise(const ConvolutionShape& shape);

// As the functions of convolution.hpp; shapes with IsDepthwise only.
template <typename W, typename X>
void DepthwiseForward(const ConvolutionShape& shape, int num, const X* x, const W* weights,
                      const W* bias, X* y);
template <typename W, typename X>
void DepthwiseBackwardData(const ConvolutionShape& shape, int num, const X* dy, const W* weights,
                           const W* bias, X* dx);
template <typename X, typename D>
void DepthwiseBackwardWeights(const ConvolutionShape& shape, int num, const X* x, const D* dy,
                              AccumulatorType<D>* d_weights);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CPU_DEPTHWISE_CONVOLUTION_HPP_
