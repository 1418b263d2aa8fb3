#include "primitives.hpp"

namespace caffe::onednn {
namespace {

class LrnPrimitive : public Lrn {
 public:
  dnnl::lrn_forward::primitive_desc forward_desc;
  dnnl::lrn_forward forward;
  dnnl::lrn_backward::primitive_desc backward_desc;
  dnnl::lrn_backward backward;
  memory workspace;

  void Forward(const float* x, float* y) override {
    Arguments arguments = {{DNNL_ARG_SRC, Wrap(forward_desc.src_desc(), x)},
                           {DNNL_ARG_DST, Wrap(forward_desc.dst_desc(), y)}};
    if (workspace.get(true)) arguments.emplace(DNNL_ARG_WORKSPACE, workspace);
    Run(forward, &arguments);
  }

  void Backward(const float* x, const float* dy, float* dx) override {
    Run(backward, {{DNNL_ARG_SRC, Wrap(backward_desc.src_desc(), x)},
                   {DNNL_ARG_DIFF_DST, Wrap(backward_desc.diff_dst_desc(), dy)},
                   {DNNL_ARG_WORKSPACE, workspace},
                   {DNNL_ARG_DIFF_SRC, Wrap(backward_desc.diff_src_desc(), dx)}});
  }
};

}  // namespace

std::unique_ptr<Lrn> Lrn::Make(int num, int channels, int height, int width, int size, float alpha,
                               float beta, float k, bool training, const Layout& layout) {
  // In Caffe's order oneDNN 2 and 3 slide the window's sum along the channels: next to 1e4 the sum
  // of small squares is lost, and may turn negative (a NaN).
  if (layout.kind == Layout::PLAIN) return nullptr;
  return MakeOrNull([&]() -> std::unique_ptr<Lrn> {
    std::unique_ptr<LrnPrimitive> lrn(new LrnPrimitive);
    const memory::desc desc = Described({num, channels, height, width}, layout);
    const auto algorithm = dnnl::algorithm::lrn_across_channels;
    lrn->forward_desc = DescribeLrn(ForwardKind(training), algorithm, desc, size, alpha, beta, k);
    if (IsPlainLoop(lrn->forward_desc)) return nullptr;
    lrn->forward = dnnl::lrn_forward(lrn->forward_desc);
    if (!training) return lrn;
    lrn->backward_desc =
        DescribeLrnBackward(lrn->forward_desc, algorithm, desc, size, alpha, beta, k);
    if (IsPlainLoop(lrn->backward_desc)) return nullptr;
    lrn->backward = dnnl::lrn_backward(lrn->backward_desc);
    lrn->workspace = memory(lrn->forward_desc.workspace_desc(), CpuEngine());
    return lrn;
  });
}

}  // namespace caffe::onednn
