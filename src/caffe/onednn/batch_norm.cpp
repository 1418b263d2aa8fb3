#include "primitives.hpp"

namespace caffe::onednn {
namespace {

using Flags = dnnl::normalization_flags;

class BatchNormPrimitive : public BatchNorm {
 public:
  Options options;
  dnnl::batch_normalization_forward::primitive_desc forward_desc;
  dnnl::batch_normalization_forward forward;
  dnnl::batch_normalization_backward::primitive_desc backward_desc;
  dnnl::batch_normalization_backward backward;
  memory::desc per_channel;

  void Forward(const float* x, const float* scale, const float* shift, float* mean, float* variance,
               float* y) override {
    Arguments arguments = {{DNNL_ARG_SRC, Wrap(forward_desc.src_desc(), x)},
                           {DNNL_ARG_MEAN, Wrap(per_channel, mean)},
                           {DNNL_ARG_VARIANCE, Wrap(per_channel, variance)},
                           {DNNL_ARG_DST, Wrap(forward_desc.dst_desc(), y)}};
    if (options.scale) {
      arguments.emplace(DNNL_ARG_SCALE, Wrap(per_channel, scale));
      arguments.emplace(DNNL_ARG_SHIFT, Wrap(per_channel, shift));
    }
    Run(forward, &arguments);
  }

  void Backward(const float* x, const float* scale, const float* mean, const float* variance,
                const float* dy, float* dx, float* d_scale, float* d_shift) override {
    Arguments arguments = {{DNNL_ARG_SRC, Wrap(backward_desc.src_desc(), x)},
                           {DNNL_ARG_MEAN, Wrap(per_channel, mean)},
                           {DNNL_ARG_VARIANCE, Wrap(per_channel, variance)},
                           {DNNL_ARG_DIFF_DST, Wrap(backward_desc.diff_dst_desc(), dy)},
                           {DNNL_ARG_DIFF_SRC, Wrap(backward_desc.diff_src_desc(), dx)}};
    if (options.scale) {
      arguments.emplace(DNNL_ARG_SCALE, Wrap(per_channel, scale));
      if (kBatchNormBackwardTakesShift) {  // which no gradient depends on
        arguments.emplace(DNNL_ARG_SHIFT, Wrap(per_channel, scale));
      }
      arguments.emplace(DNNL_ARG_DIFF_SCALE, Wrap(per_channel, d_scale));
      arguments.emplace(DNNL_ARG_DIFF_SHIFT, Wrap(per_channel, d_shift));
    }
    Run(backward, &arguments);
  }
};

}  // namespace

std::unique_ptr<BatchNorm> BatchNorm::Make(int num, int channels, int spatial,
                                           const Options& options, const Layout& layout) {
  if (num == 0 || channels == 0 || spatial == 0) return nullptr;
  return MakeOrNull([&]() -> std::unique_ptr<BatchNorm> {
    std::unique_ptr<BatchNormPrimitive> norm(new BatchNormPrimitive);
    norm->options = options;
    norm->per_channel = Plain({channels});
    const memory::desc desc = Described({num, channels, spatial}, layout);
    Flags flags = options.global_statistics ? Flags::use_global_stats : Flags::none;
    if (options.scale) flags |= Flags::use_scale | Flags::use_shift;
    norm->forward_desc = DescribeBatchNorm(ForwardKind(options.training), desc, options.eps, flags);
    if (IsPlainLoop(norm->forward_desc)) return nullptr;
    norm->forward = dnnl::batch_normalization_forward(norm->forward_desc);
    if (!options.training) return norm;
    norm->backward_desc = DescribeBatchNormBackward(
        norm->forward_desc,
        options.scale ? dnnl::prop_kind::backward : dnnl::prop_kind::backward_data, desc,
        options.eps, flags);
    if (IsPlainLoop(norm->backward_desc)) return nullptr;
    norm->backward = dnnl::batch_normalization_backward(norm->backward_desc);
    return norm;
  });
}

}  // namespace caffe::onednn
