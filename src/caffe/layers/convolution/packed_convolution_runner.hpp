#ifndef CAFFE_LAYERS_PACKED_CONVOLUTION_RUNNER_HPP_
#define CAFFE_LAYERS_PACKED_CONVOLUTION_RUNNER_HPP_

#include <functional>
#include <memory>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/core/pointwise.hpp"
#include "caffe/kernels/packed_convolution.hpp"
#include "caffe/kernels/winograd.hpp"

namespace caffe {

/// A FLOAT16 convolution on channels in blocks, with the packed weights that it needs.
template <typename Dtype>
class PackedConvolutionRunner {
 public:
  using Blobs = vector<shared_ptr<Blob<Dtype>>>;

  /// For a bottom of `num` images as it lies now; false where there is no such kernel. With
  /// `rounds` sums need not be more exact than halves: Winograd's algorithm may be taken.
  bool Prepare(const kernels::ConvolutionShape& shape, int num, bool rounds,
               const Blob<Dtype>& bottom);

  /// Takes weights and bias from blobs 0 and 1 (if there is one), followed by `pointwise`. Does
  /// nothing if neither they nor `stamp` changed since the last call. Where nothing is folded into
  /// the weights, the packed ones become the blob's only copy.
  void SetWeights(const Blobs& blobs, uint64_t stamp, const Pointwise& pointwise);

  /// After both.
  void Forward(const Blob<Dtype>& bottom, Blob<Dtype>* top) const;

 private:
  /// Fills packed_size() halves; with `scale` of each output if it is not null.
  void Pack(const float16* weights, const float* scale, float16* packed) const;
  size_t packed_size() const;
  kernels::PostOps Post() const;
  bool ForwardWinograd(const float16* x, float16* y) const;
  template <typename X>
  void ForwardDirect(const X* x, const float16* weights, float16* y) const;
  /// What restores the weights from packed ones.
  std::function<void(const float16*, float16*)> Unpacker() const;

  std::shared_ptr<const kernels::PackedConvolution> convolution_;
  kernels::ConvolutionShape shape_;
  int num_ = 0;
  bool by_winograd_ = false;
  kernels::WinogradShape winograd_;
  uint64_t stamp_ = 0;  // of the weights below; 0 if there are none
  std::shared_ptr<SyncedMemory> weights_;
  vector<float> bias_;
  kernels::Activation activation_;
};

bool SameShape(const kernels::ConvolutionShape& a, const kernels::ConvolutionShape& b);

/// bias = `pointwise`.scale bias + shift; an empty bias is zeros.
void FoldBias(const Pointwise& pointwise, vector<float>* bias);

}  // namespace caffe

#endif  // CAFFE_LAYERS_PACKED_CONVOLUTION_RUNNER_HPP_
