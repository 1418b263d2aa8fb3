#include "primitives.hpp"

namespace caffe::onednn {
namespace {

class SumPrimitive : public Elementwise {
 public:
  dnnl::sum primitive;
  memory::desc desc;

  void Forward(const std::vector<const float*>& x, float* y) override {
    Arguments arguments = {{DNNL_ARG_DST, Wrap(desc, y)}};
    for (size_t i = 0; i < x.size(); ++i) {
      arguments.emplace(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), Wrap(desc, x[i]));
    }
    Run(primitive, &arguments);
  }
};

/// Of two inputs, then of the result and the third, and so on.
class BinaryPrimitive : public Elementwise {
 public:
  dnnl::binary primitive;
  memory::desc desc;

  void Forward(const std::vector<const float*>& x, float* y) override {
    const float* first = x[0];
    for (size_t i = 1; i < x.size(); ++i) {
      Run(primitive, {{DNNL_ARG_SRC_0, Wrap(desc, first)},
                      {DNNL_ARG_SRC_1, Wrap(desc, x[i])},
                      {DNNL_ARG_DST, Wrap(desc, y)}});
      first = y;
    }
  }
};

}  // namespace

std::unique_ptr<Elementwise> Elementwise::Make(Operation operation,
                                               const std::vector<float>& coefficients, size_t count,
                                               const Layout& layout) {
  if (count == 0) return nullptr;
  return MakeOrNull([&]() -> std::unique_ptr<Elementwise> {
    const memory::desc desc = DescribedFlat(count, layout);
    if (operation == SUM) {
      std::unique_ptr<SumPrimitive> sum(new SumPrimitive);
      sum->desc = desc;
      const auto primitive_desc =
          DescribeSum(desc, coefficients, std::vector<memory::desc>(coefficients.size(), desc));
      if (IsPlainLoop(primitive_desc)) return nullptr;
      sum->primitive = dnnl::sum(primitive_desc);
      return sum;
    }
    std::unique_ptr<BinaryPrimitive> binary(new BinaryPrimitive);
    binary->desc = desc;
    const auto primitive_desc = Describe<dnnl::binary>(
        {}, operation == PRODUCT ? dnnl::algorithm::binary_mul : dnnl::algorithm::binary_max, desc,
        desc, desc);
    if (IsPlainLoop(primitive_desc)) return nullptr;
    binary->primitive = dnnl::binary(primitive_desc);
    return binary;
  });
}

}  // namespace caffe::onednn
