// Maxima and means over windows with integers alone.
#include "caffe/kernels/integer_pooling.hpp"

#include "caffe/error.hpp"
#include "caffe/inference/backends/element_types.hpp"
#include "caffe/layers/pooling_layer.hpp"
#include "integer_steps.hpp"

namespace caffe::inference::cpu {
namespace {

class IntegerPoolingStep : public Step {
 public:
  explicit IntegerPoolingStep(const Node& node) : node_(node), param_(node.layer.pooling_param()) {}

  void Bind(const Binding& binding) override {
    x_ = binding.inputs[0];
    y_ = binding.outputs[0];
    Require(IsInteger(x_) && x_.type == y_.type && x_.layout == y_.layout &&
                x_.zero_point == y_.zero_point && x_.shape.size() == 4,
            "its blobs are in a layout that the kernel does not take");
    shape_ = PooledShape(param_, x_.shape);
    const Lanes lanes = LanesOf(x_);
    shape_.planes = static_cast<int>(lanes.planes);
    lanes_ = lanes.lanes;
    const kernels::IntegerResult result = ResultOf(node_, y_);
    range_ = {result.least, result.most};
  }

  void Run(void*) override {
    DispatchInteger(x_.type, [&](auto tag) {
      using T = decltype(tag);
      if (param_.pool() == PoolingParameter_PoolMethod_AVE) {
        kernels::AveragePoolIntegers(shape_, lanes_, x_.zero_point, range_, x_.as<const T>(),
                                     y_.as<T>());
      } else {
        kernels::MaxPoolIntegers(shape_, lanes_, range_, x_.as<const T>(), y_.as<T>());
      }
    });
  }

 private:
  const Node& node_;
  const PoolingParameter& param_;
  kernels::PoolingShape shape_;
  int lanes_ = 1;
  kernels::ByteRange range_;
  Operand x_, y_;
};

}  // namespace

std::unique_ptr<Step> MakeIntegerPooling(const Node& node) {
  return std::make_unique<IntegerPoolingStep>(node);
}

}  // namespace caffe::inference::cpu
