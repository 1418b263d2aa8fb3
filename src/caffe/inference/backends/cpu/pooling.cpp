// Maxima and means over windows, of channels in blocks or last, in every type.
#include "caffe/kernels/pooling.hpp"
#include "caffe/layers/pooling_layer.hpp"

#include <optional>

#include "caffe/inference/backends/element_types.hpp"
#include "caffe/inference/backends/pooling_node.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "channels_last.hpp"
#include "cpu_target.hpp"

namespace caffe::inference::cpu {
namespace {

class PoolingStep : public Step {
 public:
  PoolingStep(const Node& node, Layout::Kind layout)
      : param_(node.layer.pooling_param()), layout_(layout) {}
  bool takes_strides() const override { return layout_ == kChannelsLast; }

  void Bind(const Binding& binding) override {
    x_ = binding.inputs[0];
    y_ = binding.outputs[0];
    Require(!x_.plain() && x_.layout == layout_ && y_.layout == layout_ && x_.type == y_.type,
            "its blobs are in a layout that the kernel does not take");
    shape_ = PooledShape(param_, x_.shape);
    if (layout_ == kChannelsLast) {
      pixels_ = PixelsOf(x_, y_);
      shape_.planes = x_.shape[0];
    } else {
      shape_.planes = x_.shape[0] * kernels::CeilDiv(x_.shape[1], x_.block);
    }
  }

  void Run(void*) override {
    if (SizeOf(x_.type) == 1) {
      DispatchInteger(x_.type, [&](auto tag) { RunIntegers<decltype(tag)>(); });
    } else {
      DispatchFloat(x_.type, [&](auto tag) { RunIn<decltype(tag)>(); });
    }
  }

 private:
  bool takes_means() const { return param_.pool() == PoolingParameter_PoolMethod_AVE; }

  template <typename T>
  void RunIn() {
    const T* x = x_.as<const T>();
    T* y = y_.as<T>();
    if (layout_ == kChannelsLast) {
      takes_means() ? kernels::ChannelsLastAveragePoolingForward(shape_, *pixels_, x, y)
                    : kernels::ChannelsLastMaxPoolingForward(shape_, *pixels_, x, y);
    } else if (takes_means()) {
      kernels::BlockedAveragePoolingForward(shape_, x_.block, x, y);
    } else {
      kernels::BlockedMaxPoolingForward(shape_, x_.block, x, y);
    }
  }

  template <typename T>
  void RunIntegers() {
    const T* x = x_.as<const T>();
    T* y = y_.as<T>();
    const float factor = x_.scale / y_.scale;
    if (layout_ == kChannelsLast) {
      takes_means() ? kernels::ChannelsLastAveragePoolingForward(shape_, *pixels_, factor, x, y)
                    : kernels::ChannelsLastMaxPoolingForward(shape_, *pixels_, x, y);
    } else if (takes_means()) {
      kernels::BlockedAveragePoolingForward(shape_, x_.block, factor, x, y);
    } else {
      kernels::BlockedMaxPoolingForward(shape_, x_.block, x, y);
    }
  }

  const PoolingParameter& param_;
  const Layout::Kind layout_;
  kernels::PoolingShape shape_;
  std::optional<kernels::ChannelsLast> pixels_;
  Operand x_, y_;
};

class PoolingImpl : public PoolingImplBase {
 public:
  PoolingImpl() : PoolingImplBase({kBlocked, kChannelsLast}) {}

 private:
  std::unique_ptr<Step> MakeStep(const Node& node, Layout::Kind layout) const override {
    return std::make_unique<PoolingStep>(node, layout);
  }
};

}  // namespace

const Implementation& Pooling() {
  static const PoolingImpl implementation;
  return implementation;
}

}  // namespace caffe::inference::cpu
