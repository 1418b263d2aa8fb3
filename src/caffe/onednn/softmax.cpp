#include "primitives.hpp"

namespace caffe::onednn {
namespace {

class SoftmaxPrimitive : public Softmax {
 public:
  SoftmaxForward::primitive_desc forward_desc;
  SoftmaxForward forward;
  SoftmaxBackward::primitive_desc backward_desc;
  SoftmaxBackward backward;

  void Forward(const float* x, float* y) override {
    Run(forward, {{DNNL_ARG_SRC, Wrap(forward_desc.src_desc(), x)},
                  {DNNL_ARG_DST, Wrap(forward_desc.dst_desc(), y)}});
  }

  void Backward(const float* y, const float* dy, float* dx) override {
    Run(backward, {{DNNL_ARG_DST, Wrap(backward_desc.dst_desc(), y)},
                   {DNNL_ARG_DIFF_DST, Wrap(backward_desc.diff_dst_desc(), dy)},
                   {DNNL_ARG_DIFF_SRC, Wrap(backward_desc.diff_src_desc(), dx)}});
  }
};

}  // namespace

std::unique_ptr<Softmax> Softmax::Make(int outer, int channels, int inner, bool training,
                                       const Layout& layout) {
  if (outer == 0 || channels == 0 || inner == 0) return nullptr;
  return MakeOrNull([&]() -> std::unique_ptr<Softmax> {
    std::unique_ptr<SoftmaxPrimitive> softmax(new SoftmaxPrimitive);
    const memory::desc desc = Described({outer, channels, inner}, layout);
    const auto algorithm = dnnl::algorithm::softmax_accurate;
    softmax->forward_desc =
        Describe<SoftmaxForward>({}, ForwardKind(training), algorithm, desc, desc, 1);
    if (IsPlainLoop(softmax->forward_desc)) return nullptr;
    softmax->forward = SoftmaxForward(softmax->forward_desc);
    if (!training) return softmax;
    softmax->backward_desc = DescribeBackward<SoftmaxBackward>({}, softmax->forward_desc, algorithm,
                                                               desc, desc, desc, 1);
    if (IsPlainLoop(softmax->backward_desc)) return nullptr;
    softmax->backward = SoftmaxBackward(softmax->backward_desc);
    return softmax;
  });
}

}  // namespace caffe::onednn
