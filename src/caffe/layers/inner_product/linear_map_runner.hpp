#ifndef CAFFE_LAYERS_LINEAR_MAP_RUNNER_HPP_
#define CAFFE_LAYERS_LINEAR_MAP_RUNNER_HPP_

#include <vector>

#include "caffe/core/as_stored.hpp"
#include "caffe/layers/convolution/fused_followers.hpp"
#include "caffe/onednn/for_shape.hpp"

namespace caffe {

/// Runs oneDNN's implementation of a layer that multiplies its bottoms by blobs[0] and adds
/// blobs[1] if there is one.
template <typename Dtype>
class LinearMapRunner {
 public:
  using Blobs = vector<shared_ptr<Blob<Dtype>>>;

  /// What `make` made for bottoms of this shape and layout; null where oneDNN has nothing.
  template <typename Make>
  bool Prepare(const vector<int>& shape, const Layout& layout, Make&& make) {
    map_ = for_shape_.Get(shape, layout, make);
    return map_ != nullptr;
  }

  /// After Prepare returned true.
  void Forward(const Blobs& blobs, const vector<Blob<Dtype>*>& bottom,
               const vector<Blob<Dtype>*>& top) {
    const uint64_t stamp = Mix(1, WriteStamp(*blobs[0]));
    if (map_ != stamped_ || stamp != stamp_) {
      map_->SetWeights(blobs[0]->template cpu_data_as<float>());
      // One copy is enough.
      if (const auto unpack = map_->UnpackWeights(); unpack && !blobs[0]->shares_data()) {
        blobs[0]->data_tensor().Replace(ElementType::FLOAT, unpack);
      }
      stamped_ = map_;
      stamp_ = stamp;
    }
    const float* bias = blobs.size() > 1 ? blobs[1]->template cpu_data_as<float>() : nullptr;
    for (size_t i = 0; i < bottom.size(); ++i) {
      const float* x = ReadAs<float>(bottom[i]->data_tensor(), map_->source());
      map_->Forward(x, bias, OverwriteAs<float>(top[i]->data_tensor(), map_->target()));
    }
  }

  /// After a Forward of a training layer.
  void Backward(const Blobs& blobs, bool weights_wanted, bool bias_wanted,
                const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                const vector<Blob<Dtype>*>& bottom) {
    for (size_t i = 0; i < top.size(); ++i) {
      Tensor& dy = top[i]->diff_tensor();
      if (weights_wanted) {
        map_->BackwardWeights(
            ReadAs<float>(bottom[i]->data_tensor(), map_->weights_source()),
            ReadAs<float>(dy, map_->weights_target()),
            blobs[0]->template mutable_cpu_diff_as<float>(),
            bias_wanted ? blobs[1]->template mutable_cpu_diff_as<float>() : nullptr);
      }
      if (propagate_down[i]) {
        map_->BackwardData(ReadAs<float>(dy, map_->data_target()),
                           blobs[0]->template cpu_data_as<float>(),
                           OverwriteAs<float>(bottom[i]->diff_tensor(), map_->data_source()));
      }
    }
  }

 private:
  onednn::ForShape<onednn::LinearMap> for_shape_;
  onednn::LinearMap* map_ = nullptr;
  onednn::LinearMap* stamped_ = nullptr;  // whose weights stamp_ is of
  uint64_t stamp_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_LAYERS_LINEAR_MAP_RUNNER_HPP_
