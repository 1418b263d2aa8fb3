// Maxima and means over windows, channels last, in every type.
#include "caffe/kernels/pooling.hpp"
#include "caffe/layers/pooling_layer.hpp"

#include "caffe/cuda/stream.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/backends/pooling_node.hpp"
#include "cuda_target.hpp"

namespace caffe::inference::cuda {
namespace {

class PoolingStep : public Step {
 public:
  explicit PoolingStep(const Node& node) : param_(node.layer.pooling_param()) {}

  bool takes_strides() const override { return true; }
  void Bind(const Binding& binding) override {
    x_ = binding.inputs[0];
    y_ = binding.outputs[0];
    Require(x_.layout == kLast && y_.layout == kLast && x_.type == y_.type,
            "its blobs are in a layout that the kernel does not take");
    shape_ = PooledShape(param_, x_.shape);
    shape_.planes = x_.shape[0];
  }

  void Run(void*) override {
    const bool means = param_.pool() == PoolingParameter_PoolMethod_AVE;
    (means ? caffe::cuda::PoolMeans : caffe::cuda::PoolMaxima)(
        caffe::cuda::CurrentStream(), shape_, ChannelCount(x_), PixelsOf(x_), PixelsOf(y_));
  }

 private:
  const PoolingParameter& param_;
  kernels::PoolingShape shape_;
  Operand x_, y_;
};

class PoolingImpl : public PoolingImplBase {
 public:
  PoolingImpl() : PoolingImplBase({kLast}) {}

 private:
  std::unique_ptr<Step> MakeStep(const Node& node, Layout::Kind) const override {
    return std::make_unique<PoolingStep>(node);
  }
};

}  // namespace

const Implementation& Pooling() {
  static const PoolingImpl implementation;
  return implementation;
}

}  // namespace caffe::inference::cuda
