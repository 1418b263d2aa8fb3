#ifndef CAFFE_DECONV_LAYER_HPP_
#define CAFFE_DECONV_LAYER_HPP_

#include <vector>

#include "caffe/layers/base_conv_layer.hpp"

namespace caffe {

/// The transpose of Convolution: each input value is multiplied by the kernel and added to the
/// output where Convolution would have read it; then the bias is added. Forward is the gradient of
/// a convolution and backward a convolution; `num_output`, `pad` and `stride` are seen from the
/// convolution that goes from the top to the bottom (Zeiler et al. 2010, Shelhamer, Long and
/// Darrell 2017).
///
/// Bottom (N, C, spatial...), top (N, num_output, stride (in - 1) + dilation (kernel - 1) + 1 - 2
/// pad, ...). Parameters: weights (C, num_output / group, kernel...), bias (num_output).
template <typename Dtype>
class DeconvolutionLayer : public BaseConvolutionLayer<Dtype> {
 public:
  explicit DeconvolutionLayer(const LayerParameter& param) : BaseConvolutionLayer<Dtype>(param) {}
  const char* type() const override { return "Deconvolution"; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif
  bool reverse_dimensions() override { return true; }
  void compute_output_shape() override;
};

}  // namespace caffe

#endif  // CAFFE_DECONV_LAYER_HPP_
