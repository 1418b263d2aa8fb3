#ifndef CAFFE_CONV_LAYER_HPP_
#define CAFFE_CONV_LAYER_HPP_

#include <vector>

#include "caffe/layers/base_conv_layer.hpp"

namespace caffe {

/// y[n, o, p] = bias[o] + sum over c, k of w[o, c, k] x[n, c, stride p - pad + dilation k], in
/// `group` independent parts of channels and outputs; any number of spatial axes.
///
/// Bottom (N, C, spatial...), top (N, num_output, (in + 2 pad - dilation (kernel - 1) - 1) / stride
/// + 1, ...). Parameters: weights (num_output, C / group, kernel...), bias (num_output).
///
/// Engines: FLOAT16 in the TEST phase runs by default on kernels that read and write FP16 values
/// (packed_convolution.hpp), FLOAT in up to three spatial axes on ONEDNN. In the TEST phase both
/// also compute batch normalization, scales and activations that follow in place. ONEDNN widens
/// FLOAT16. The library's other kernels compute the rest; REFERENCE is the definition in plain
/// loops.
template <typename Dtype>
class ConvolutionLayer : public BaseConvolutionLayer<Dtype> {
 public:
  explicit ConvolutionLayer(const LayerParameter& param) : BaseConvolutionLayer<Dtype>(param) {}
  const char* type() const override { return "Convolution"; }
  int FuseFollowers(const vector<Layer<Dtype>*>& followers) override;
  bool JoinLayers(const vector<Layer<Dtype>*>& next) override;
  bool ForwardJoined(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Forward_fused(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#ifndef CPU_ONLY
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;
#endif
  bool reverse_dimensions() override { return false; }
  void compute_output_shape() override;
};

/// Extents of the spatial axes of a convolution's top for those of its bottom; throws Error if the
/// kernel does not fit.
vector<int> ConvolutionOutputExtents(const ConvolutionGeometry& geometry, const vector<int>& input);

}  // namespace caffe

#endif  // CAFFE_CONV_LAYER_HPP_
