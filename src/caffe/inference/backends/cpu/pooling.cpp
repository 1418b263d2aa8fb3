// Maxima and means over windows of channels in blocks, in every type.
#include "caffe/kernels/pooling.hpp"
#include "caffe/layers/pooling_layer.hpp"

#include "caffe/inference/backends/element_types.hpp"
#include "caffe/inference/backends/pooling_node.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "convolution_step.hpp"

namespace caffe::inference::cpu {
namespace {

class PoolingStep : public Step {
 public:
  explicit PoolingStep(const Node& node) : param_(node.layer.pooling_param()) {}

  void Bind(const Binding& binding) override {
    x_ = binding.inputs[0];
    y_ = binding.outputs[0];
    Require(x_.blocked() && y_.blocked() && x_.type == y_.type,
            "its blobs are in a layout that the kernel does not take");
    shape_ = PooledShape(param_, x_.shape);
    shape_.planes = x_.shape[0] * kernels::CeilDiv(x_.shape[1], x_.block);
  }

  void Run(void*) override {
    if (SizeOf(x_.type) == 1) {
      DispatchInteger(x_.type, [&](auto tag) { RunIntegers<decltype(tag)>(); });
    } else {
      DispatchFloat(x_.type, [&](auto tag) { RunIn<decltype(tag)>(); });
    }
  }

 private:
  template <typename T>
  void RunIn() {
    const T* x = x_.as<const T>();
    T* y = y_.as<T>();
    if (param_.pool() == PoolingParameter_PoolMethod_AVE) {
      kernels::BlockedAveragePoolingForward(shape_, x_.block, x, y);
    } else if constexpr (std::is_same<T, float>::value) {
      kernels::BlockedMaxPoolingForward<int>(shape_, x_.block, x, y, nullptr);
    } else {
      kernels::BlockedMaxPoolingForward(shape_, x_.block, x, y);
    }
  }

  template <typename T>
  void RunIntegers() {
    const T* x = x_.as<const T>();
    if (param_.pool() == PoolingParameter_PoolMethod_AVE) {
      kernels::BlockedAveragePoolingForward(shape_, x_.block, x_.scale / y_.scale, x, y_.as<T>());
    } else {
      kernels::BlockedMaxPoolingForward(shape_, x_.block, x, y_.as<T>());
    }
  }

  const PoolingParameter& param_;
  kernels::PoolingShape shape_;
  Operand x_, y_;
};

class PoolingImpl : public PoolingImplBase {
 public:
  PoolingImpl() : PoolingImplBase({kBlocked}) {}

 private:
  std::unique_ptr<Step> MakeStep(const Node& node) const override {
    return std::make_unique<PoolingStep>(node);
  }
};

}  // namespace

const Implementation& Pooling() {
  static const PoolingImpl implementation;
  return implementation;
}

}  // namespace caffe::inference::cpu
