#include <vector>

#include "caffe/context.hpp"
#include "caffe/core/dispatch_float.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/kernels/packed_convolution.hpp"
#include "convolution.hpp"

namespace caffe::algorithms {
namespace {

class Winograd : public Algorithm {
 public:
  Winograd(const kernels::ConvolutionShape& shape, int num, int tile, size_t max_scratch)
      : convolution_(shape),
        shape_(kernels::WinogradShapeOf(shape, num, kernels::BlockChannels(), tile)),
        winograd_(shape_, max_scratch) {}

  Layout source() const override {
    return Layout::ChannelsBlocked(shape_.block, shape_.num, convolution_.channels,
                                   convolution_.input_spatial());
  }
  Layout target() const override {
    return Layout::ChannelsBlocked(shape_.block, shape_.num, convolution_.outputs,
                                   convolution_.output_spatial());
  }

  size_t packed_size() const override { return kernels::WinogradPackedSize(shape_); }
  void Pack(const kernels::Numbers& weights, const float* scale,
            const kernels::Destination& packed) const override {
    DispatchFloats(weights.type, packed.type, [&](auto from, auto to) {
      const auto* plain = static_cast<const decltype(from)*>(weights.data);
      auto* const target = static_cast<decltype(to)*>(packed.y);
      if (!scale) return kernels::WinogradPackWeights(shape_, plain, target);
      const size_t row = convolution_.column_rows();
      std::vector<float> scaled(convolution_.weight_count());
      for (size_t i = 0; i < scaled.size(); ++i) {
        scaled[i] = static_cast<float>(plain[i]) * scale[i / row];
      }
      kernels::WinogradPackWeights(shape_, scaled.data(), target);
    });
  }
  void Unpack(const kernels::Numbers& packed, const kernels::Destination& weights) const override {
    DispatchFloat(packed.type, [&](auto tag) {
      using W = decltype(tag);
      kernels::WinogradUnpackWeights(shape_, static_cast<const W*>(packed.data),
                                     static_cast<W*>(weights.y));
    });
  }
  // Images and tiles of all sizes have the same packed weights.
  bool PacksAs(const Algorithm& other) const override {
    return dynamic_cast<const Winograd*>(&other) != nullptr;
  }

  size_t scratch_bytes() const override { return winograd_.scratch_bytes(); }
  void Run(const kernels::Numbers& x, const Weights& weights, const kernels::PostOps& post,
           void* scratch, const kernels::Destination& y) const override {
    kernels::PostOps with_bias = post;
    with_bias.bias = static_cast<const float*>(weights.bias.data);
    if (!winograd_.Run(x, weights.values, with_bias, y, scratch)) {
      RunDirect(x, weights, post, y);
    }
  }

 private:
  /// Infinities and NaNs belong to single outputs.
  void RunDirect(const kernels::Numbers& x, const Weights& weights, const kernels::PostOps& post,
                 const kernels::Destination& y) const {
    const AlgorithmPtr direct =
        PackedConvolution(convolution_, shape_.num, /*plain_source=*/false, ElementType::FLOAT);
    const ElementType type = weights.values.type;
    std::vector<char> plain(convolution_.weight_count() * SizeOf(type));
    std::vector<char> packed(direct->packed_size() * SizeOf(type));
    Unpack(weights.values, {plain.data(), type});
    direct->Pack({plain.data(), type}, nullptr, {packed.data(), type});
    Workspace::Buffer<char> scratch(Context::Current().workspace(), direct->scratch_bytes());
    direct->Run(x, {{packed.data(), type}, weights.bias}, post, scratch.get(), y);
  }

  const kernels::ConvolutionShape convolution_;
  const kernels::WinogradShape shape_;
  const kernels::WinogradConvolution winograd_;
};

}  // namespace

AlgorithmPtr WinogradConvolution(const kernels::ConvolutionShape& shape, int num, int tile,
                                 size_t max_scratch) {
  if (!kernels::HasWinograd(shape)) return nullptr;
  return std::make_shared<Winograd>(shape, num, tile, max_scratch);
}

AlgorithmPtr WinogradIfItPays(const kernels::ConvolutionShape& shape, int num, int tile,
                              double direct_speed) {
  if (!kernels::HasWinograd(shape)) return nullptr;
  const bool pays = kernels::WinogradPays(
      kernels::WinogradShapeOf(shape, num, kernels::BlockChannels(), tile), direct_speed);
  return pays ? WinogradConvolution(shape, num, tile) : nullptr;
}

}  // namespace caffe::algorithms
