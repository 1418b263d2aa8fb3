#ifndef CAFFE_LAYERS_PACKED_INNER_PRODUCT_RUNNER_HPP_
#define CAFFE_LAYERS_PACKED_INNER_PRODUCT_RUNNER_HPP_

#include <memory>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/core/pointwise.hpp"
#include "caffe/kernels/inner_product.hpp"

namespace caffe {

/// A FLOAT16 inner product in the TEST phase, with the packed weights that it needs.
template <typename Dtype>
class PackedInnerProductRunner {
 public:
  using Blobs = vector<shared_ptr<Blob<Dtype>>>;

  /// Weights are (outputs, inputs). False where what fills up blocks would make the packed weights
  /// larger by more than a fiftieth.
  bool Prepare(int inputs, int outputs);

  /// top = activation(bottom blobs[0]^T + blobs[1]), if there is one, with `rows` rows. The packed
  /// weights become the blob's only copy, unless it is shared. After Prepare.
  void Forward(const Blobs& blobs, int rows, const kernels::Activation& activation,
               const Blob<Dtype>& bottom, Blob<Dtype>* top);

 private:
  void SetWeights(const Blobs& blobs);

  int inputs_ = 0, outputs_ = 0;
  std::shared_ptr<const kernels::InnerProduct> product_;
  uint64_t stamp_ = 0;  // of the weights below; 0 if there are none
  std::shared_ptr<SyncedMemory> weights_;
  vector<float> bias_;
};

}  // namespace caffe

#endif  // CAFFE_LAYERS_PACKED_INNER_PRODUCT_RUNNER_HPP_
