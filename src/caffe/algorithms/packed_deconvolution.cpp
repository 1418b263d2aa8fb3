#include "caffe/kernels/packed_deconvolution.hpp"

#include "caffe/core/dispatch_float.hpp"
#include "convolution.hpp"

namespace caffe::algorithms {
namespace {

using kernels::Destination;
using kernels::Numbers;

class PackedDeconvolutionAlgorithm : public Algorithm {
 public:
  using Kernel = std::shared_ptr<const kernels::PackedDeconvolution>;
  PackedDeconvolutionAlgorithm(const kernels::ConvolutionShape& shape, int num, Kernel kernel)
      : num_(num), kernel_(std::move(kernel)) {
    const int block = kernel_->block();
    source_ = Layout::ChannelsBlocked(block, num, shape.outputs, shape.output_spatial());
    target_ = Layout::ChannelsBlocked(block, num, shape.channels, shape.input_spatial());
  }

  Layout source() const override { return source_; }
  Layout target() const override { return target_; }

  size_t packed_size() const override { return kernel_->packed_size(); }
  void Pack(const Numbers& weights, const float* scale, const Destination& packed) const override {
    DispatchFloats(weights.type, packed.type, [&](auto from, auto to) {
      kernel_->PackWeights(static_cast<const decltype(from)*>(weights.data), scale,
                           static_cast<decltype(to)*>(packed.y));
    });
  }
  void Unpack(const Numbers& packed, const Destination& weights) const override {
    DispatchFloat(packed.type, [&](auto tag) {
      using W = decltype(tag);
      kernel_->UnpackWeights(static_cast<const W*>(packed.data), static_cast<W*>(weights.y));
    });
  }
  // Images of all sizes have the same packed weights.
  bool PacksAs(const Algorithm& other) const override {
    return dynamic_cast<const PackedDeconvolutionAlgorithm*>(&other) != nullptr;
  }

  size_t scratch_bytes() const override { return kernel_->scratch_bytes(num_, ElementType::FLOAT); }
  void Run(const Numbers& x, const Weights& weights, const kernels::PostOps& post, void* scratch,
           const Destination& y) const override {
    kernels::PostOps with_bias = post;
    with_bias.bias = static_cast<const float*>(weights.bias.data);
    kernel_->Forward(num_, x, weights.values, with_bias, scratch, y);
  }

 private:
  const int num_;
  const Kernel kernel_;
  Layout source_, target_;
};

}  // namespace

AlgorithmPtr PackedDeconvolution(const kernels::ConvolutionShape& shape, int num,
                                 ElementType math) {
  auto kernel = kernels::PackedDeconvolution::Make(shape, math);
  if (!kernel) return nullptr;
  return std::make_shared<PackedDeconvolutionAlgorithm>(shape, num, std::move(kernel));
}

}  // namespace caffe::algorithms
