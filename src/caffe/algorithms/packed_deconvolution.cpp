#include "caffe/kernels/packed_deconvolution.hpp"

#include <algorithm>
#include <vector>

#include "caffe/core/dispatch_float.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/depthwise_deconvolution.hpp"
#include "caffe/kernels/instruction_set.hpp"
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

/// Of each channel by itself, along two axes. Weights lie in FLOAT, whatever they are.
class DepthwiseDeconvolutionAlgorithm : public Algorithm {
 public:
  DepthwiseDeconvolutionAlgorithm(const kernels::ConvolutionShape& shape, int num)
      : shape_(ShapeOf(shape, num)),
        padded_(kernels::RoundUp(shape.channels, kernels::BlockChannels())),
        source_(InBlocks(shape_, shape.output_spatial())),
        target_(InBlocks(shape_, shape.input_spatial())),
        to_floats_(shape_, false),
        to_16_bits_(shape_, true) {}

  Layout source() const override { return source_; }
  Layout target() const override { return target_; }

  ElementType KeptType(ElementType) const override { return ElementType::FLOAT; }
  size_t packed_size() const override {
    return kernels::DepthwiseDeconvolution::packed_size(shape_);
  }
  void Pack(const Numbers& weights, const float* scale, const Destination& packed) const override {
    std::vector<float> scaled(shape_.channels * Taps());
    DispatchFloat(weights.type, [&](auto tag) {
      const auto* from = static_cast<const decltype(tag)*>(weights.data);
      for (size_t i = 0; i < scaled.size(); ++i) {
        scaled[i] = static_cast<float>(from[i]) * (scale ? scale[i / Taps()] : 1);
      }
    });
    kernels::DepthwiseDeconvolution::PackWeights(shape_, scaled.data(),
                                                 static_cast<float*>(packed.y));
  }
  void Unpack(const Numbers& packed, const Destination& weights) const override {
    const size_t block = kernels::BlockChannels(), taps = Taps();
    for (size_t i = 0; i < shape_.channels * taps; ++i) {
      const size_t channel = i / taps;
      const size_t at = (channel / block * taps + i % taps) * block + channel % block;
      static_cast<float*>(weights.y)[i] = static_cast<const float*>(packed.data)[at];
    }
  }
  bool PacksAs(const Algorithm& other) const override {
    return dynamic_cast<const DepthwiseDeconvolutionAlgorithm*>(&other) != nullptr;
  }

  size_t scratch_bytes() const override {
    return BiasBytes() + std::max(to_floats_.scratch_bytes(), to_16_bits_.scratch_bytes());
  }
  void Run(const Numbers& x, const Weights& weights, const kernels::PostOps& post, void* scratch,
           const Destination& y) const override {
    float* const bias = static_cast<float*>(scratch);
    std::fill_n(bias, padded_, 0.f);
    if (weights.bias.data) {
      std::copy_n(static_cast<const float*>(weights.bias.data), shape_.channels, bias);
    }
    kernels::PostOps with_bias = post;
    with_bias.bias = bias;
    const auto& kernel = y.type == ElementType::FLOAT ? to_floats_ : to_16_bits_;
    DispatchFloats(x.type, y.type, [&](auto from, auto to) {
      kernel.Run(1, static_cast<const decltype(from)*>(x.data),
                 static_cast<const float*>(weights.values.data), with_bias,
                 static_cast<decltype(to)*>(y.y), static_cast<char*>(scratch) + BiasBytes());
    });
  }

 private:
  static kernels::DepthwiseDeconvolutionShape ShapeOf(const kernels::ConvolutionShape& s, int num) {
    return {num,
            s.channels,
            s.output[0],
            s.output[1],
            s.input[0],
            s.input[1],
            {s.kernel[0], s.kernel[1]},
            {s.stride[0], s.stride[1]},
            {s.pad[0], s.pad[1]},
            {s.dilation[0], s.dilation[1]}};
  }
  static Layout InBlocks(const kernels::DepthwiseDeconvolutionShape& s, size_t spatial) {
    return Layout::ChannelsBlocked(kernels::BlockChannels(), s.num, s.channels, spatial);
  }
  size_t Taps() const { return size_t(shape_.kernel[0]) * shape_.kernel[1]; }
  size_t BiasBytes() const { return kernels::RoundUp(padded_ * sizeof(float), 64); }

  const kernels::DepthwiseDeconvolutionShape shape_;
  const size_t padded_;  // channels of whole blocks
  const Layout source_, target_;
  const kernels::DepthwiseDeconvolution to_floats_, to_16_bits_;
};

}  // namespace

AlgorithmPtr PackedDeconvolution(const kernels::ConvolutionShape& shape, int num,
                                 ElementType math) {
  if (shape.is_depthwise() && shape.axes() == 2 && shape.output_spatial() > 0) {
    return std::make_shared<DepthwiseDeconvolutionAlgorithm>(shape, num);
  }
  auto kernel = kernels::PackedDeconvolution::Make(shape, math);
  if (!kernel) return nullptr;
  return std::make_shared<PackedDeconvolutionAlgorithm>(shape, num, std::move(kernel));
}

}  // namespace caffe::algorithms
