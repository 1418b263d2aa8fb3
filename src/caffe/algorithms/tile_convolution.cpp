#include <memory>
#include <utility>
#include <vector>

#include "caffe/context.hpp"
#include "caffe/kernels/data_gradient.hpp"
#include "caffe/kernels/packed_convolution.hpp"
#include "caffe/kernels/pixel_channels.hpp"
#include "caffe/kernels/weights_gradient.hpp"
#include "convolution.hpp"

namespace caffe::algorithms {
namespace {

using kernels::Destination;
using kernels::Numbers;

class TileConvolutionAlgorithm : public Algorithm, public Gradients {
 public:
  TileConvolutionAlgorithm(const ConvolutionProblem& problem,
                           std::shared_ptr<const kernels::PackedConvolution> kernel)
      : shape_(problem.shape),
        num_(problem.num),
        kernel_(std::move(kernel)),
        data_(kernels::DataGradient::Make(shape_)),
        weights_(kernels::WeightsGradient::Make(shape_, problem.plain_source)),
        plain_(Plain(problem)) {
    if (!plain_input()) source_ = Last(shape_.channels, shape_.input_spatial());
    target_ = Last(shape_.outputs, shape_.output_spatial());
  }

  Layout source() const override { return source_; }
  Layout target() const override { return target_; }

  ElementType PackedType(ElementType type) const override { return type; }
  size_t packed_size() const override { return kernel_->packed_size(); }
  void Pack(const Numbers& weights, const float* scale, const Destination& packed) const override {
    const bool as_they_are = !scale && weights.type == packed.type && !shape_.is_depthwise();
    if (as_they_are && SizeOf(packed.type) == sizeof(uint16_t)) {
      return PackAsTheyAre(static_cast<const uint16_t*>(weights.data),
                           static_cast<uint16_t*>(packed.y));
    }
    Dispatch(weights.type, [&](auto from) {
      if constexpr (sizeof(from) <= 4) {
        using W = decltype(from);
        kernel_->PackWeights(static_cast<const W*>(weights.data), scale, static_cast<W*>(packed.y));
      }
    });
  }
  void Unpack(const Numbers& packed, const Destination& weights) const override {
    Dispatch(packed.type, [&](auto tag) {
      if constexpr (sizeof(tag) <= 4) {
        using W = decltype(tag);
        kernel_->UnpackWeights(static_cast<const W*>(packed.data), static_cast<W*>(weights.y));
      }
    });
  }
  // Images of all sizes have the same packed weights.
  bool PacksAs(const Algorithm& other) const override {
    const auto* tiles = dynamic_cast<const TileConvolutionAlgorithm*>(&other);
    return tiles && tiles->plain_input() == plain_input();
  }

  size_t scratch_bytes() const override { return kernel_->scratch_size(num_) * sizeof(float); }
  void Run(const Numbers& x, const Weights& weights, const kernels::PostOps& post, void* scratch,
           const Destination& y) const override {
    kernels::PostOps with_bias = post;
    with_bias.bias = static_cast<const float*>(weights.bias.data);
    Destination pixels = y;
    if (!plain_input()) pixels.strides.x_pixel = shape_.channels;
    pixels.strides.y_pixel = shape_.outputs;
    kernel_->Forward(num_, x, weights.values, with_bias, static_cast<float*>(scratch), pixels);
  }

  const Gradients* gradients() const override { return weights_ ? this : nullptr; }
  Layouts data_layouts() const override { return data_ ? Layouts{source_, target_} : Layouts(); }
  Layouts weights_layouts() const override { return {source_, target_}; }

  void Data(const Numbers& dy, const Numbers& weights, const Destination& dx) const override {
    if (!data_) return plain_->gradients()->Data(dy, weights, dx);
    Workspace::Buffer<char> scratch(Context::Current().workspace(),
                                    data_->scratch_bytes(num_, dx.type));
    data_->Run(num_, dy, weights, scratch.get(), dx);
  }
  void Parameters(const Numbers& x, const Numbers& dy, void* d_weights,
                  void* d_bias) const override {
    if (d_weights) {
      Workspace::Buffer<char> scratch(Context::Current().workspace(),
                                      weights_->scratch_bytes(num_, x.type, dy.type));
      weights_->Add(num_, x, dy, scratch.get(), static_cast<float*>(d_weights));
    }
    if (!d_bias) return;
    std::vector<double> sums(shape_.outputs);
    Dispatch(dy.type, [&](auto tag) {
      using D = decltype(tag);
      kernels::PixelSums<D, D>(num_ * shape_.output_spatial(), shape_.outputs,
                               static_cast<const D*>(dy.data), nullptr, sums.data(), nullptr);
    });
    for (int o = 0; o < shape_.outputs; ++o) {
      static_cast<float*>(d_bias)[o] += static_cast<float>(sums[o]);
    }
  }

 private:
  bool plain_input() const { return kernel_->plain_input(); }
  /// Of one pixel that is Caffe's order, which needs no copy.
  Layout Last(int channels, size_t spatial) const {
    return spatial == 1 ? Layout() : Layout::ChannelsLast(num_, channels, spatial);
  }
  void PackAsTheyAre(const uint16_t* weights, uint16_t* packed) const {
    const ptrdiff_t taps = shape_.kernel_size(), of_output = shape_.column_rows();
    kernel_->PackStrided(
        weights,
        {shape_.outputs / shape_.group * of_output, of_output, taps, shape_.kernel.back(), 1},
        packed);
  }

  const kernels::ConvolutionShape shape_;
  const int num_;
  const std::shared_ptr<const kernels::PackedConvolution> kernel_;
  const std::shared_ptr<const kernels::DataGradient> data_;        // null: as plain_ has it
  const std::shared_ptr<const kernels::WeightsGradient> weights_;  // null: it has no gradients
  const AlgorithmPtr plain_;
  Layout source_, target_;
};

}  // namespace

AlgorithmPtr TileConvolution(const ConvolutionProblem& problem) {
  if (problem.num == 0 || problem.transposed) return nullptr;
  // Depthwise convolutions use no tiles, but lie between such that do.
  const bool takes_depthwise = problem.settings.phase == TEST && problem.shape.is_depthwise() &&
                               problem.shape.channels % 16 == 0;
  if (!takes_depthwise && !kernels::WeightsGradient::Make(problem.shape, problem.plain_source)) {
    return nullptr;
  }
  const auto kernel = kernels::PackedConvolution::MakeChannelsLast(
      problem.shape, problem.plain_source, problem.settings.types.forward_math,
      kernels::TileShape::TWO_BY_TWO);
  return kernel ? std::make_shared<TileConvolutionAlgorithm>(problem, kernel) : nullptr;
}

}  // namespace caffe::algorithms
