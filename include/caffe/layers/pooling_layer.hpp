#ifndef CAFFE_POOLING_LAYER_HPP_
#define CAFFE_POOLING_LAYER_HPP_

#include <memory>
#include <vector>

#include "caffe/engine.hpp"
#include "caffe/layer.hpp"

namespace caffe {

namespace kernels {
struct PoolingShape;
}

namespace onednn {
class Pooling;
template <typename>
class ForShape;
}  // namespace onednn

/// One value for each window: the largest (MAX), the mean (AVE; padding counts), or one drawn with
/// a probability proportional to itself (STOCHASTIC, for values that are not negative; in the TEST
/// phase the expected value of that: Zeiler and Fergus 2013).
///
/// Bottom (N, C, H, W); top (N, C, ceil((H + 2 pad - kernel) / stride) + 1, ...), or floor with
/// round_mode FLOOR (torch_pooling, ceil_mode: false); with padding, a last window that would begin
/// behind the image is left out. With MAX, a second top gets the positions h * W + w of the maxima,
/// in Dtype.
template <typename Dtype>
class PoolingLayer : public Layer<Dtype> {
 public:
  explicit PoolingLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Pooling"; }
  int ExactNumBottomBlobs() const override { return 1; }
  int MinTopBlobs() const override { return 1; }
  int MaxTopBlobs() const override { return method() == PoolingParameter_PoolMethod_MAX ? 2 : 1; }
  const char* forward_engine() const override {
    return EngineName(active_, is_reference(std::max(1, this->layer_param_.top_size())));
  }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif

 private:
  PoolingParameter_PoolMethod method() const { return this->layer_param_.pooling_param().pool(); }
  template <typename T>
  void PoolMaxima(const T* x, T* y, Blob<Dtype>* positions);
  template <typename T>
  void PoolAtRandom(const T* x, T* y);
  template <typename Function>
  void WithMask(size_t count, Function&& f);
  template <typename T>
  bool ForwardPixels(const Blob<Dtype>& bottom, const vector<Blob<Dtype>*>& top);
  template <typename D>
  void BackwardPixels(const Blob<Dtype>& top, Blob<Dtype>* bottom);
  size_t PixelChannels() const;
  kernels::PoolingShape PixelShape() const;
  void BackwardReference(const Blob<Dtype>& top, Blob<Dtype>* bottom);
  void FindMask(const Blob<Dtype>& bottom);
  void ForgetMask();

  std::shared_ptr<const kernels::PoolingShape> shape_;
  vector<int> bottom_shape_;  // that shape_ is for
  // Which element of each window was taken, for the backward pass (kernels/pooling.hpp); one of the
  // two is used. Empty in TEST.
  vector<uint8_t> byte_mask_;
  vector<int> mask_;
  bool has_mask_ = false;
#ifndef CPU_ONLY
  template <typename Function>
  void WithGpuMask(Function&& f);
  template <typename T>
  void PoolMaximaGpu(const T* x, T* y, Blob<Dtype>* positions);
  template <typename T>
  void PoolAtRandomGpu(const T* x, T* y);
  void FindGpuMask(const Blob<Dtype>& bottom);
  /// shape_ with images for planes where gpu_channels() channels lie side by side.
  kernels::PoolingShape GpuShape() const;
  int gpu_channels() const {
    return gpu_layout_.kind == Layout::PLAIN ? 1 : static_cast<int>(gpu_layout_.channels);
  }
  /// The mask of the latest forward pass on the device, as one of the two above; may be null.
  std::shared_ptr<SyncedMemory> gpu_mask_;
  Layout gpu_layout_;  // of the bottom in that pass; the mask lies as the top does
#endif
  // Of the bottom in the latest forward pass, where channels lie side by side at each pixel; else
  // PLAIN.
  Layout pixels_;
  Layout pooled_layout_;  // of the top in the same pass, there or by oneDNN
  /// Null where the library's own kernels compute.
  onednn::Pooling* OneDnn(const Blob<Dtype>& bottom, size_t tops);
  bool is_reference(size_t tops) const {
    return engine_ == Engine::REFERENCE && tops == 1 &&
           method() != PoolingParameter_PoolMethod_STOCHASTIC;
  }

  const Engine engine_ = ReadEngine(this->layer_param_);
  std::shared_ptr<onednn::ForShape<onednn::Pooling>> onednn_;
  onednn::Pooling* active_ = nullptr;  // what the latest forward pass ran; null: our own kernels
};

/// The sizes of pooling a bottom of shape (N, C, H, W). Throws Error naming the field that is
/// wrong.
kernels::PoolingShape PooledShape(const PoolingParameter& param, const Shape& bottom);

}  // namespace caffe

#endif  // CAFFE_POOLING_LAYER_HPP_
