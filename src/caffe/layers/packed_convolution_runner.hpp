#ifndef CAFFE_LAYERS_PACKED_CONVOLUTION_RUNNER_HPP_
#define CAFFE_LAYERS_PACKED_CONVOLUTION_RUNNER_HPP_

#include <memory>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/kernels/packed_convolution.hpp"
#include "caffe/pointwise.hpp"

namespace caffe {

/// A FLOAT16 convolution on channels in blocks, with the packed weights that it needs.
template <typename Dtype>
class PackedConvolutionRunner {
 public:
  using Blobs = vector<shared_ptr<Blob<Dtype>>>;

  /// For a bottom as it lies now; false where there is no such kernel.
  bool Prepare(const kernels::ConvolutionShape& shape, const Blob<Dtype>& bottom);

  /// Takes weights and bias from blobs 0 and 1 (if there is one), followed by `pointwise`. Does
  /// nothing if neither they nor `stamp` changed since the last call. Where nothing is folded into
  /// the weights, the packed ones become the blob's only copy.
  void SetWeights(const Blobs& blobs, uint64_t stamp, const Pointwise& pointwise);

  /// After both.
  void Forward(int num, const Blob<Dtype>& bottom, Blob<Dtype>* top) const;

 private:
  std::shared_ptr<const kernels::PackedConvolution> convolution_;
  kernels::ConvolutionShape shape_;
  uint64_t stamp_ = 0;  // of the weights below; 0 if there are none
  std::shared_ptr<SyncedMemory> weights_;
  vector<float> bias_;
  PointwiseActivation activation_;
};

bool SameShape(const kernels::ConvolutionShape& a, const kernels::ConvolutionShape& b);

/// bias = `pointwise`.scale bias + shift; an empty bias is zeros.
void FoldBias(const Pointwise& pointwise, vector<float>* bias);

}  // namespace caffe

#endif  // CAFFE_LAYERS_PACKED_CONVOLUTION_RUNNER_HPP_
