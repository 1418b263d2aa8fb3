// Maxima and means over windows with integers alone.
#include "caffe/kernels/integer_pooling.hpp"

#include <optional>

#include "caffe/error.hpp"
#include "caffe/inference/backends/element_types.hpp"
#include "caffe/layers/pooling_layer.hpp"
#include "cpu_target.hpp"
#include "integer_steps.hpp"

namespace caffe::inference::cpu {
namespace {

class IntegerPoolingStep : public Step {
 public:
  IntegerPoolingStep(const Node& node, Layout::Kind layout)
      : node_(node), param_(node.layer.pooling_param()), layout_(layout) {}
  bool takes_strides() const override { return layout_ == kChannelsLast; }

  void Bind(const Binding& binding) override {
    x_ = binding.inputs[0];
    y_ = binding.outputs[0];
    Require(IsInteger(x_) && x_.type == y_.type && x_.layout == layout_ && y_.layout == layout_ &&
                x_.zero_point == y_.zero_point && x_.shape.size() == 4,
            "its blobs are in a layout that the kernel does not take");
    shape_ = PooledShape(param_, x_.shape);
    shape_.planes = static_cast<int>(LanesOf(x_).planes);
    if (layout_ == kChannelsLast) pixels_ = PixelsOf(x_, y_);
    const kernels::IntegerResult result = ResultOf(node_, y_);
    range_ = {result.least, result.most};
  }

  void Run(void*) override {
    DispatchInteger(x_.type, [&](auto tag) {
      using T = decltype(tag);
      const T* x = x_.as<const T>();
      T* y = y_.as<T>();
      const bool means = param_.pool() == PoolingParameter_PoolMethod_AVE;
      const int32_t zero = x_.zero_point;
      if (layout_ == kChannelsLast) {
        means ? kernels::AveragePoolIntegers(shape_, *pixels_, zero, range_, x, y)
              : kernels::MaxPoolIntegers(shape_, *pixels_, range_, x, y);
      } else {
        means ? kernels::AveragePoolIntegers(shape_, x_.block, zero, range_, x, y)
              : kernels::MaxPoolIntegers(shape_, x_.block, range_, x, y);
      }
    });
  }

 private:
  const Node& node_;
  const PoolingParameter& param_;
  const Layout::Kind layout_;
  kernels::PoolingShape shape_;
  std::optional<kernels::ChannelsLast> pixels_;
  kernels::ByteRange range_;
  Operand x_, y_;
};

}  // namespace

std::unique_ptr<Step> MakeIntegerPooling(const Graph& graph, const Node& node) {
  return std::make_unique<IntegerPoolingStep>(node, graph.values[node.outputs[0]].layout);
}

}  // namespace caffe::inference::cpu
