#ifndef CAFFE_IM2COL_LAYER_HPP_
#define CAFFE_IM2COL_LAYER_HPP_

#include <memory>
#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

namespace kernels {
struct ConvolutionShape;
}

/// What a convolution multiplies its weights with: for each channel and kernel position the input
/// value that meets it there, 0 in the padding. Reads kernel_size, stride, pad, dilation and axis
/// of convolution_param. Bottom (outer axes, C, spatial axes); top (outer axes, C * kernel
/// positions, output positions).
template <typename Dtype>
class Im2colLayer : public Layer<Dtype> {
 public:
  explicit Im2colLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Im2col"; }
  int ExactNumBottomBlobs() const override { return 1; }
  int ExactNumTopBlobs() const override { return 1; }

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
  size_t num_ = 0;
  std::shared_ptr<const kernels::ConvolutionShape> shape_;
};

}  // namespace caffe

#endif  // CAFFE_IM2COL_LAYER_HPP_
