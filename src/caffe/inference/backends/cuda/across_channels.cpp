// LRN and Softmax across channels in the channels-last layout, which need no reorders around them.
#include "caffe/kernels/cuda/across_channels.hpp"

#include "caffe/cuda/stream.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/backends/across_channels_node.hpp"
#include "cuda_target.hpp"

namespace caffe::inference::cuda {
namespace {

class AcrossChannelsStep : public Step {
 public:
  bool takes_strides() const override { return true; }
  void Bind(const Binding& binding) override {
    x_ = binding.inputs[0];
    y_ = binding.outputs[0];
    Require(x_.layout == kLast && y_.layout == kLast && x_.shape == y_.shape,
            "its blobs are in a layout that the kernel does not take");
  }

 protected:
  int pixels() const { return PixelCount(y_); }
  int channels() const { return y_.shape[1]; }
  bool empty() const { return CountOf(y_.shape) == 0; }

  Operand x_, y_;
};

class LrnStep : public AcrossChannelsStep {
 public:
  explicit LrnStep(const LRNParameter& param) {
    lrn_.size = static_cast<int>(param.local_size());
    lrn_.alpha = param.alpha();
    lrn_.beta = param.beta();
    lrn_.k = param.k();
  }
  void Run(void*) override {
    if (empty()) return;
    caffe::cuda::LrnOfPixels(caffe::cuda::CurrentStream(), lrn_, pixels(), channels(),
                             ChannelCount(y_), PixelsOf(x_), PixelsOf(y_));
  }

 private:
  kernels::LrnShape lrn_;
};

class SoftmaxStep : public AcrossChannelsStep {
 public:
  size_t scratch_bytes() const override { return caffe::cuda::SoftmaxScratchBytes(pixels()); }
  void Run(void* scratch) override {
    if (empty()) return;
    caffe::cuda::SoftmaxOfPixels(caffe::cuda::CurrentStream(), pixels(), channels(),
                                 ChannelCount(y_), PixelsOf(x_), scratch, PixelsOf(y_));
  }
};

class AcrossChannelsImpl : public AcrossChannelsImplBase {
  std::unique_ptr<Step> MakeLrn(const LRNParameter& param) const override {
    return std::make_unique<LrnStep>(param);
  }
  std::unique_ptr<Step> MakeSoftmax() const override { return std::make_unique<SoftmaxStep>(); }
};

}  // namespace

const Implementation& AcrossChannels() {
  static const AcrossChannelsImpl implementation;
  return implementation;
}

}  // namespace caffe::inference::cuda
