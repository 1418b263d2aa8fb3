#include <algorithm>

#include "primitives.hpp"

namespace caffe::onednn {
namespace {

class PoolingPrimitive : public Pooling {
 public:
  PoolingForward::primitive_desc forward_desc;
  PoolingForward forward;
  PoolingBackward::primitive_desc backward_desc;
  PoolingBackward backward;
  memory workspace;  // where the maxima were

  void Forward(const float* x, float* y) override {
    Arguments arguments = {{DNNL_ARG_SRC, Wrap(forward_desc.src_desc(), x)},
                           {DNNL_ARG_DST, Wrap(forward_desc.dst_desc(), y)}};
    if (workspace.get(true)) arguments.emplace(DNNL_ARG_WORKSPACE, workspace);
    Run(forward, &arguments);
  }

  void Backward(const float* dy, float* dx) override {
    Arguments arguments = {{DNNL_ARG_DIFF_DST, Wrap(backward_desc.diff_dst_desc(), dy)},
                           {DNNL_ARG_DIFF_SRC, Wrap(backward_desc.diff_src_desc(), dx)}};
    if (workspace.get(true)) arguments.emplace(DNNL_ARG_WORKSPACE, workspace);
    Run(backward, &arguments);
  }
};

/// How far the last window reaches beyond the image; may be negative.
int Beyond(int extent, int pooled, int kernel, int stride, int pad) {
  return (pooled - 1) * stride + kernel - pad - extent;
}

}  // namespace

std::unique_ptr<Pooling> Pooling::Make(const kernels::PoolingShape& s, int num, int channels,
                                       bool mean, bool training, const Layout& source) {
  if (num == 0 || channels == 0) return nullptr;
  const int bottom = Beyond(s.height, s.pooled_height, s.kernel_h, s.stride_h, s.pad_h);
  const int right = Beyond(s.width, s.pooled_width, s.kernel_w, s.stride_w, s.pad_w);
  if (mean && (bottom > s.pad_h || right > s.pad_w)) return nullptr;
  if (bottom >= s.kernel_h || right >= s.kernel_w) return nullptr;  // a window without elements
  return MakeOrNull([&]() -> std::unique_ptr<Pooling> {
    std::unique_ptr<PoolingPrimitive> pooling(new PoolingPrimitive);
    Layout target = source;
    target.spatial = s.output_plane();
    const memory::desc x = Described({num, channels, s.height, s.width}, source);
    const memory::desc y = Described({num, channels, s.pooled_height, s.pooled_width}, target);
    const auto algorithm =
        mean ? dnnl::algorithm::pooling_avg_include_padding : dnnl::algorithm::pooling_max;
    const Dims strides = {s.stride_h, s.stride_w}, kernel = {s.kernel_h, s.kernel_w};
    const Dims dilation = {0, 0}, before = {s.pad_h, s.pad_w};
    const Dims after = {std::max(0, bottom), std::max(0, right)};
    pooling->forward_desc = Describe<PoolingForward>({}, ForwardKind(training), algorithm, x, y,
                                                     strides, kernel, dilation, before, after);
    if (IsPlainLoop(pooling->forward_desc)) return nullptr;
    pooling->forward = PoolingForward(pooling->forward_desc);
    if (!training) return pooling;
    pooling->backward_desc = DescribeBackward<PoolingBackward>(
        {}, pooling->forward_desc, algorithm, x, y, strides, kernel, dilation, before, after);
    if (IsPlainLoop(pooling->backward_desc)) return nullptr;
    pooling->backward = PoolingBackward(pooling->backward_desc);
    if (!mean) pooling->workspace = memory(pooling->forward_desc.workspace_desc(), CpuEngine());
    return pooling;
  });
}

}  // namespace caffe::onednn
