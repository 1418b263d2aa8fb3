// LRN and Softmax across channels, with channels last, in every type of floating-point numbers.
#include <memory>

#include "caffe/error.hpp"
#include "caffe/inference/backends/across_channels_node.hpp"
#include "caffe/inference/backends/element_types.hpp"
#include "caffe/kernels/lrn.hpp"
#include "caffe/kernels/softmax.hpp"
#include "channels_last.hpp"
#include "cpu_target.hpp"

namespace caffe::inference::cpu {
namespace {

class AcrossChannelsStep : public Step {
 public:
  bool takes_strides() const override { return true; }
  void Bind(const Binding& binding) override {
    x_ = binding.inputs[0];
    y_ = binding.outputs[0];
    pixels_ = PixelsOf(x_, y_);
    Require(x_.type == y_.type && x_.shape == y_.shape && y_.shape.size() == 4,
            "its blobs differ in type or shape");
  }
  void Run(void*) override {
    if (CountOf(y_.shape) > 0) Compute();
  }

 protected:
  virtual void Compute() = 0;

  Operand x_, y_;
  kernels::ChannelsLast pixels_ = {};
};

class LrnAcrossStep : public AcrossChannelsStep {
 public:
  explicit LrnAcrossStep(const LRNParameter& param) : param_(param) {}

 private:
  void Compute() override {
    const Shape& shape = y_.shape;
    const kernels::LrnShape lrn = {
        shape[0], shape[1],       shape[2],      shape[3],  static_cast<int>(param_.local_size()),
        false,    param_.alpha(), param_.beta(), param_.k()};
    DispatchFloat(y_.type, [&](auto tag) {
      using T = decltype(tag);
      kernels::ChannelsLastLrnForward(lrn, pixels_, x_.as<const T>(), y_.as<T>());
    });
  }

  const LRNParameter& param_;
};

class SoftmaxAcrossStep : public AcrossChannelsStep {
  void Compute() override {
    DispatchFloat(y_.type, [&](auto tag) {
      using T = decltype(tag);
      kernels::ChannelsLastSoftmax(y_.images, y_.shape[1], pixels_, x_.as<const T>(), y_.as<T>());
    });
  }
};

class AcrossChannelsImpl : public AcrossChannelsImplBase {
  std::unique_ptr<Step> MakeLrn(const LRNParameter& param) const override {
    return std::make_unique<LrnAcrossStep>(param);
  }
  std::unique_ptr<Step> MakeSoftmax() const override {
    return std::make_unique<SoftmaxAcrossStep>();
  }
};

}  // namespace

const Implementation& AcrossChannels() {
  static const AcrossChannelsImpl implementation;
  return implementation;
}

}  // namespace caffe::inference::cpu
