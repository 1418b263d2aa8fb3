#include "weighted_primitive.hpp"

namespace caffe::onednn {
namespace {

struct InnerProductFamily {
  using Forward = dnnl::inner_product_forward;
  using BackwardData = dnnl::inner_product_backward_data;
  using BackwardWeights = dnnl::inner_product_backward_weights;
  static constexpr bool kWindows = false;
  static constexpr bool kByProducts = true;
};

WeightedProblem ProblemOf(int rows, int inputs, int outputs, bool transposed, const Layout& source,
                          const WeightedTypes& types) {
  WeightedProblem p;
  p.types = types;
  p.outputs = outputs;
  // Inputs that lie in blocks of channels are (channels, spatial).
  const bool plain = source.kind == Layout::PLAIN;
  const int spatial = plain ? 1 : static_cast<int>(source.spatial), channels = inputs / spatial;
  p.source_dims = plain ? DimsOf({rows, inputs}) : DimsOf({rows, channels, spatial});
  p.target_dims = DimsOf({rows, outputs});
  p.weights_dims = plain ? DimsOf({outputs, inputs}) : DimsOf({outputs, channels, spatial});
  p.chooses_layouts = false;
  p.source_layout = source;
  p.source = Described(p.source_dims, source, types.source);
  p.target = Plain(p.target_dims, types.target);
  p.residual = p.target;
  p.weights = Any(p.weights_dims, types.weights);
  const int step = transposed ? outputs : 1;  // from one input's weight to the next
  Dims strides = {transposed ? 1 : inputs, memory::dim(spatial) * step};
  if (!plain) strides.push_back(step);
  p.plain_weights = memory::desc(p.weights_dims, kFloat, strides);
  return p;
}

}  // namespace

std::unique_ptr<WeightedPrimitive> InnerProduct::Make(int rows, int inputs, int outputs,
                                                      bool transposed, const Layout& source,
                                                      const Options& options, int packed_rows) {
  using Primitive = WeightedPrimitiveOf<InnerProductFamily>;
  if (rows == 0 || inputs == 0) return nullptr;
  return MakeOrNull([&] {
    const auto of_rows = [&](int some, const WeightedTypes& types) {
      return ProblemOf(some, inputs, outputs, transposed, source, types);
    };
    memory::desc packed;
    if (packed_rows > 0 && packed_rows != rows) {
      packed = Primitive::DescribeForward(of_rows(packed_rows, ForwardTypes(options)), options)
                   .weights_desc();
    }
    return Primitive::Make(options, [&](const WeightedTypes& types, int) {
      WeightedProblem p = of_rows(rows, types);
      if (packed.get_size() > 0) p.weights = packed;
      return p;
    });
  });
}

}  // namespace caffe::onednn
