#ifndef CAFFE_BASE_CONVOLUTION_LAYER_HPP_
#define CAFFE_BASE_CONVOLUTION_LAYER_HPP_

#include <memory>
#include <vector>

#include "caffe/engine.hpp"
#include "caffe/layer.hpp"

// Programs take it from here, as from Caffe's header.
#include "caffe/util/im2col.hpp"

namespace caffe {

namespace cuda {
struct ConvolutionOptions;
}

/// kernel_size, stride, pad and dilation of `param` as one value per spatial axis; checked.
struct ConvolutionGeometry {
  vector<int> kernel, stride, pad, dilation;
};

/// What Convolution and Deconvolution have in common: reading convolution_param, the parameters
/// (weights, and a bias unless bias_term is false), and products for one image at a time.
///
/// Bottoms: (outer axes, channels, spatial axes). The outer axes, before `axis`, are images that
/// share nothing; there may be any number of spatial axes. Without any no kernel_size is needed,
/// the weights have 2 axes, and the layer is an inner product over the channels.
template <typename Dtype>
class BaseConvolutionLayer : public Layer<Dtype> {
 public:
  explicit BaseConvolutionLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;

  int MinBottomBlobs() const override { return 1; }
  int MinTopBlobs() const override { return 1; }
  bool EqualNumBottomTopBlobs() const override { return true; }
  const char* forward_engine() const override;

 protected:
  // Products for one image in Dtype, under the names that subclasses written for Caffe call. The
  // weight and bias gradients are added to what is there.
  void forward_cpu_gemm(const Dtype* input, const Dtype* weights, Dtype* output,
                        bool skip_im2col = false);
  void forward_cpu_bias(Dtype* output, const Dtype* bias);
  void backward_cpu_gemm(const Dtype* output, const Dtype* weights, Dtype* input);
  void weight_cpu_gemm(const Dtype* input, const Dtype* output, Dtype* weights);
  void backward_cpu_bias(Dtype* bias, const Dtype* input);
#ifndef CPU_ONLY
  void forward_gpu_gemm(const Dtype* input, const Dtype* weights, Dtype* output,
                        bool skip_im2col = false);
  void forward_gpu_bias(Dtype* output, const Dtype* bias);
  void backward_gpu_gemm(const Dtype* output, const Dtype* weights, Dtype* input);
  void weight_gpu_gemm(const Dtype* input, const Dtype* output, Dtype* weights);
  void backward_gpu_bias(Dtype* bias, const Dtype* input);
#endif

  /// The extent of the input of a product along spatial axis `i` (from 1; 0 is the channels).
  int input_shape(int i) const { return (*bottom_shape_)[channel_axis_ + i]; }
  /// True if the layer's input is the output of the product: Deconvolution.
  virtual bool reverse_dimensions() = 0;
  /// Sets output_shape_: the extents of the top's spatial axes.
  virtual void compute_output_shape() = 0;

  struct Products;
  template <typename>
  friend class JoinedConvolutions;
  /// The tops; `fused`: and what the fused followers compute.
  void ForwardAll(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top, bool fused);
  void BackwardAll(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                   const vector<Blob<Dtype>*>& bottom);
#ifndef CPU_ONLY
  /// Adds the gradient of the bias on the device, of a gradient of type D in `layout` at the top.
  template <typename D>
  void BiasGradientGpu(const Blob<Dtype>& top, const Layout& layout);
  /// The tops on the device, in type T of data.
  template <typename T>
  void ForwardAllGpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  /// All gradients of one top and its bottom on the device, in types T of data and D of gradients.
  template <typename T, typename D>
  void BackwardOneGpu(const Blob<Dtype>& top, bool propagate_down, Blob<Dtype>* bottom);
  /// How the layer's parameters want products to be computed there. Throws Error naming the field
  /// that is wrong.
  const cuda::ConvolutionOptions& gpu_options();
  /// The same with the order in which products of elements of `type` are computed.
  cuda::ConvolutionOptions GpuOptionsFor(ElementType type);
  /// The weights on the device in that order.
  template <typename T>
  const T* GpuWeights(bool channels_last);
#endif

  Blob<int> kernel_shape_, stride_, pad_, dilation_;  // one value per spatial axis
  Blob<int> conv_input_shape_;                        // channels, spatial extents of the product
  vector<int> col_buffer_shape_;
  vector<int> output_shape_;
  const vector<int>* bottom_shape_ = nullptr;

  int num_spatial_axes_ = 0;
  int bottom_dim_ = 0;  // elements of one image
  int top_dim_ = 0;
  int channel_axis_ = 0;
  int num_ = 0;  // images
  int channels_ = 0;
  int group_ = 1;
  int out_spatial_dim_ = 0;
  int weight_offset_ = 0;
  int num_output_ = 0;
  bool bias_term_ = true;
  bool is_1x1_ = false;
  bool force_nd_im2col_ = false;

  const ConvolutionGeometry& geometry() const { return geometry_; }
  /// Extents of the bottom's spatial axes.
  vector<int> input_extents() const {
    return vector<int>(bottom_shape_->begin() + channel_axis_ + 1, bottom_shape_->end());
  }

  const Engine engine_ = ReadEngine(this->layer_param_);
  std::shared_ptr<Products> products_;  // made by LayerSetUp

 private:
  ConvolutionGeometry geometry_;
#ifndef CPU_ONLY
  std::shared_ptr<cuda::ConvolutionOptions> gpu_options_;  // null until they are asked for
#endif
};

/// Throws Error naming the field that is wrong.
ConvolutionGeometry ReadConvolutionGeometry(const ConvolutionParameter& param, int spatial_axes);

/// Extents of the spatial axes of the top for those of the bottom; throws Error if there are none.
using ConvolutionExtents = vector<int>(const ConvolutionGeometry& geometry,
                                       const vector<int>& input);
/// The shapes of all tops, for the operation table.
std::vector<Shape> ConvolutionTopShapes(const ConvolutionParameter& param,
                                        const std::vector<Shape>& bottoms,
                                        ConvolutionExtents* extents);

}  // namespace caffe

#endif  // CAFFE_BASE_CONVOLUTION_LAYER_HPP_
