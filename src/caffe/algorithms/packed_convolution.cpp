#include "packed_convolution.hpp"

#include <typeinfo>

#include "caffe/core/dispatch_float.hpp"
#include "convolution.hpp"

namespace caffe::algorithms {

using kernels::Destination;
using kernels::Numbers;

// A net's input, say: it needs no copy in FLOAT16.
ElementType PackedConvolutionAlgorithm::SourceType(ElementType type, ElementType newest) const {
  return kernel_->plain_input() && newest == ElementType::FLOAT ? newest : type;
}

void PackedConvolutionAlgorithm::Pack(const Numbers& weights, const float* scale,
                                      const Destination& packed) const {
  DispatchFloats(weights.type, packed.type, [&](auto from, auto to) {
    kernel_->PackWeights(static_cast<const decltype(from)*>(weights.data), scale,
                         static_cast<decltype(to)*>(packed.y));
  });
}

void PackedConvolutionAlgorithm::Unpack(const Numbers& packed, const Destination& weights) const {
  DispatchFloat(packed.type, [&](auto tag) {
    using W = decltype(tag);
    kernel_->UnpackWeights(static_cast<const W*>(packed.data), static_cast<W*>(weights.y));
  });
}

// Images of all sizes have the same packed weights.
bool PackedConvolutionAlgorithm::PacksAs(const Algorithm& other) const {
  const auto* packed = dynamic_cast<const PackedConvolutionAlgorithm*>(&other);
  return packed && typeid(other) == typeid(*this) &&
         packed->kernel_->plain_input() == kernel_->plain_input();
}

void PackedConvolutionAlgorithm::Run(const Numbers& x, const Weights& weights,
                                     const kernels::PostOps& post, void* scratch,
                                     const Destination& y) const {
  kernels::PostOps with_bias = post;
  with_bias.bias = static_cast<const float*>(weights.bias.data);
  kernel_->Forward(num_, x, weights.values, with_bias, static_cast<float*>(scratch), y);
}

namespace {

using Kernel = PackedConvolutionAlgorithm::Kernel;

/// In blocks of the kernel's, but for a plain input.
AlgorithmPtr InBlocks(const kernels::ConvolutionShape& shape, int num, const Kernel& kernel) {
  if (!kernel) return nullptr;
  const auto blocks = [&](int channels, size_t spatial) {
    return Layout::ChannelsBlocked(kernel->block(), num, channels, spatial);
  };
  const Layout source =
      kernel->plain_input() ? Layout() : blocks(shape.channels, shape.input_spatial());
  return std::make_shared<PackedConvolutionAlgorithm>(
      num, kernel, source, blocks(shape.outputs, shape.output_spatial()));
}

}  // namespace

AlgorithmPtr PackedConvolution(const kernels::ConvolutionShape& shape, int num, bool plain_source,
                               ElementType math) {
  return InBlocks(shape, num, kernels::PackedConvolution::Make(shape, plain_source, math));
}

AlgorithmPtr PairConvolution(const kernels::ConvolutionShape& shape, int num, bool plain_source) {
  return InBlocks(shape, num, kernels::PackedConvolution::MakeInPairs(shape, plain_source));
}

AlgorithmPtr ChannelsLastConvolution(const kernels::ConvolutionShape& shape, int num,
                                     bool plain_source, ElementType math,
                                     kernels::TileShape tile_shape) {
  return InBlocks(
      shape, num,
      kernels::PackedConvolution::MakeChannelsLast(shape, plain_source, math, tile_shape));
}

}  // namespace caffe::algorithms
