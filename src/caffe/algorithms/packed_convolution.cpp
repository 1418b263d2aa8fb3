#include "caffe/kernels/packed_convolution.hpp"

#include "caffe/core/dispatch_float.hpp"
#include "convolution.hpp"

namespace caffe::algorithms {
namespace {

using Kernel = std::shared_ptr<const kernels::PackedConvolution>;

class PackedConvolutionAlgorithm : public Algorithm {
 public:
  PackedConvolutionAlgorithm(const kernels::ConvolutionShape& shape, int num, Kernel kernel)
      : num_(num), kernel_(std::move(kernel)) {
    const int block = kernel_->block();
    if (!kernel_->plain_input()) {
      source_ = Layout::ChannelsBlocked(block, num, shape.channels, shape.input_spatial());
    }
    target_ = Layout::ChannelsBlocked(block, num, shape.outputs, shape.output_spatial());
  }

  Layout source() const override { return source_; }
  Layout target() const override { return target_; }
  // A net's input, say: it needs no copy in FLOAT16.
  ElementType SourceType(ElementType type, ElementType newest) const override {
    return kernel_->plain_input() && newest == ElementType::FLOAT ? newest : type;
  }

  size_t packed_size() const override { return kernel_->packed_size(); }
  void Pack(const kernels::Numbers& weights, const float* scale,
            const kernels::Destination& packed) const override {
    DispatchFloats(weights.type, packed.type, [&](auto from, auto to) {
      kernel_->PackWeights(static_cast<const decltype(from)*>(weights.data), scale,
                           static_cast<decltype(to)*>(packed.y));
    });
  }
  void Unpack(const kernels::Numbers& packed, const kernels::Destination& weights) const override {
    DispatchFloat(packed.type, [&](auto tag) {
      using W = decltype(tag);
      kernel_->UnpackWeights(static_cast<const W*>(packed.data), static_cast<W*>(weights.y));
    });
  }
  // Images of all sizes have the same packed weights.
  bool PacksAs(const Algorithm& other) const override {
    const auto* packed = dynamic_cast<const PackedConvolutionAlgorithm*>(&other);
    return packed && packed->kernel_->plain_input() == kernel_->plain_input();
  }

  size_t scratch_bytes() const override { return kernel_->scratch_size(num_) * sizeof(float); }
  void Run(const kernels::Numbers& x, const Weights& weights, const kernels::PostOps& post,
           void* scratch, const kernels::Destination& y) const override {
    kernels::PostOps with_bias = post;
    with_bias.bias = static_cast<const float*>(weights.bias.data);
    kernel_->Forward(num_, x, weights.values, with_bias, static_cast<float*>(scratch), y);
  }

 private:
  const int num_;
  const Kernel kernel_;
  Layout source_, target_;
};

}  // namespace

AlgorithmPtr PackedConvolution(const kernels::ConvolutionShape& shape, int num, bool plain_source,
                               ElementType math) {
  const Kernel kernel = kernels::PackedConvolution::Make(shape, plain_source, math);
  return kernel ? std::make_shared<PackedConvolutionAlgorithm>(shape, num, kernel) : nullptr;
}

AlgorithmPtr ChannelsLastConvolution(const kernels::ConvolutionShape& shape, int num,
                                     bool plain_source, ElementType math,
                                     kernels::TileShape tile_shape) {
  const Kernel kernel =
      kernels::PackedConvolution::MakeChannelsLast(shape, plain_source, math, tile_shape);
  return kernel ? std::make_shared<PackedConvolutionAlgorithm>(shape, num, kernel) : nullptr;
}

}  // namespace caffe::algorithms
