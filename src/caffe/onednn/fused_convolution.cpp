#include "linear_map.hpp"

namespace caffe::onednn {
namespace {

using Primitive = dnnl::convolution_forward;

/// (num, channels, spatial axes) with `stride` elements from one image to the next, if it is not 0.
/// Throws dnnl::error where that is no whole number of channels (blocks).
memory::desc WithStride(const Dims& dims, bool blocked, int channel_block, size_t stride) {
  const int block = blocked ? channel_block : 1;
  size_t spatial = 1;
  for (size_t i = 2; i < dims.size(); ++i) spatial *= dims[i];
  Layout layout;
  if (blocked) layout = Layout::ChannelsBlocked(block, dims[0], dims[1], spatial);
  memory::desc desc = Described(dims, layout);
  const size_t image = layout.extent(dims[0] * dims[1] * spatial) / dims[0];
  if (stride == 0 || stride == image || dims[0] == 1) return desc;
  // A part of the images of a larger array: as many channels more as fill up the stride.
  if (stride % (spatial * block) != 0) throw dnnl::error(dnnl_unimplemented, "uneven strides");
  const size_t channels = stride / spatial;
  Dims whole = dims;
  whole[1] = channels;
  if (blocked) layout.channels = channels;
  Dims offsets(dims.size(), 0);
  return Described(whole, layout).submemory_desc(dims, offsets);
}

class OneDnnFusedConvolution : public FusedConvolution {
 public:
  OneDnnFusedConvolution(const kernels::ConvolutionShape& shape, int num, const Options& options)
      : problem_(WindowProblem(shape, num, false)), options_(options) {
    const bool is_packed = options.packed_num > 0;
    const LinearProblem first = WindowProblem(is_packed ? options.packed_shape : shape,
                                              std::max(1, options.packed_num), false);
    options_.source_stride = options_.target_stride = options_.residual_stride = 0;
    const memory::desc weights = Describe(first, Any(first.weights_dims)).weights_desc();
    options_ = options;
    desc_ = Describe(problem_, weights);
    if (IsPlainLoop(desc_, true)) throw dnnl::error(dnnl_unimplemented, "plain loops");
    forward_ = Primitive(desc_);
  }

  size_t packed_size() const override { return desc_.weights_desc().get_size() / sizeof(float); }
  void PackWeights(const float* weights, float* packed) const override {
    Run(Reorder(problem_.plain_weights, desc_.weights_desc()),
        Wrap(problem_.plain_weights, weights), Wrap(desc_.weights_desc(), packed));
  }
  void Forward(const float* x, const float* packed, const float* bias, const float* residual,
               const float* slopes, float* y) override {
    Arguments arguments = {{DNNL_ARG_SRC, Wrap(desc_.src_desc(), x)},
                           {DNNL_ARG_WEIGHTS, Wrap(desc_.weights_desc(), packed)},
                           {DNNL_ARG_DST, Wrap(desc_.dst_desc(), y)}};
    if (options_.bias) arguments.emplace(DNNL_ARG_BIAS, Wrap(desc_.bias_desc(), bias));
    if (options_.residual) {
      arguments.emplace(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1,
                        Wrap(residual_desc_, residual));
    }
    if (slopes) {
      arguments.emplace(DNNL_ARG_ATTR_MULTIPLE_POST_OP(options_.residual) | DNNL_ARG_WEIGHTS,
                        Wrap(Plain({problem_.outputs}), slopes));
    }
    Run(forward_, arguments);
  }

 private:
  Primitive::primitive_desc Describe(const LinearProblem& p, const memory::desc& weights) {
    const memory::desc source =
        WithStride(p.source_dims, options_.blocked_source, options_.block, options_.source_stride);
    const memory::desc target =
        WithStride(p.target_dims, options_.blocked_target, options_.block, options_.target_stride);
    residual_desc_ = WithStride(p.target_dims, options_.blocked_target, options_.block,
                                options_.residual_stride);
    const memory::desc bias = options_.bias ? Plain({p.outputs}) : memory::desc();
    dnnl::post_ops operations;
    if (options_.residual) operations.append_binary(dnnl::algorithm::binary_add, residual_desc_);
    AppendActivation(options_.activation, &operations);
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(operations);
    return onednn::Describe<Primitive>(attributes, dnnl::prop_kind::forward_inference,
                                       dnnl::algorithm::convolution_direct, source, weights, bias,
                                       target, p.strides, p.dilation, p.pad, p.pad);
  }

  const LinearProblem problem_;
  Options options_;
  memory::desc residual_desc_;
  Primitive::primitive_desc desc_;
  Primitive forward_;
};

}  // namespace

std::unique_ptr<FusedConvolution> FusedConvolution::Make(const kernels::ConvolutionShape& shape,
                                                         int num, const Options& options) {
  if (!HasWindows(shape, num)) return nullptr;
  return MakeOrNull([&]() -> std::unique_ptr<FusedConvolution> {
    return std::make_unique<OneDnnFusedConvolution>(shape, num, options);
  });
}

}  // namespace caffe::onednn
