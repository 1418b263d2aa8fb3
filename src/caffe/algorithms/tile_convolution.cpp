#include <memory>
#include <utility>
#include <vector>

#include "caffe/context.hpp"
#include "caffe/core/as_stored.hpp"
#include "caffe/kernels/packed_deconvolution.hpp"
#include "caffe/kernels/pixel_channels.hpp"
#include "caffe/kernels/weights_gradient.hpp"
#include "convolution.hpp"
#include "packed_convolution.hpp"

namespace caffe::algorithms {
namespace {

using kernels::Destination;
using kernels::Numbers;
using WeightsGradientPtr = std::shared_ptr<const kernels::WeightsGradient>;

Layout LastOf(int num, int channels, size_t spatial) {
  return ChannelsLast({num, channels, static_cast<int>(spatial)});
}

/// The gradient of the bottom, a deconvolution; null where its channels do not fill tiles.
std::shared_ptr<const kernels::PackedDeconvolution> DataGradientOf(
    const kernels::ConvolutionShape& shape) {
  constexpr int kTileOutputs = 16;
  const bool fits = shape.channels / shape.group % kTileOutputs == 0 &&
                    shape.outputs / shape.group % kTileOutputs == 0;
  if (!fits) return nullptr;
  return kernels::PackedDeconvolution::MakeChannelsLast(shape, ElementType::FLOAT16,
                                                        kernels::TileShape::TWO_BY_TWO);
}

class TileConvolutionAlgorithm : public PackedConvolutionAlgorithm, public Gradients {
 public:
  TileConvolutionAlgorithm(const ConvolutionProblem& problem, const Kernel& kernel,
                           WeightsGradientPtr weights)
      : PackedConvolutionAlgorithm(
            problem.num, kernel,
            problem.plain_source
                ? Layout()
                : LastOf(problem.num, problem.shape.channels, problem.shape.input_spatial()),
            LastOf(problem.num, problem.shape.outputs, problem.shape.output_spatial())),
        shape_(problem.shape),
        data_(DataGradientOf(shape_)),
        weights_(std::move(weights)),
        plain_(Plain(problem)) {}

  // In training the gradient of the weights reads x, too.
  ElementType SourceType(ElementType type, ElementType) const override { return type; }
  ElementType PackedType(ElementType type) const override { return type; }
  void Pack(const Numbers& weights, const float* scale, const Destination& packed) const override {
    const bool as_they_are = !scale && weights.type == packed.type && !shape_.is_depthwise();
    if (!as_they_are || SizeOf(packed.type) != sizeof(uint16_t)) {
      return PackedConvolutionAlgorithm::Pack(weights, scale, packed);
    }
    const ptrdiff_t taps = shape_.kernel_size(), of_output = shape_.column_rows();
    kernel().PackStrided(
        static_cast<const uint16_t*>(weights.data),
        {shape_.outputs / shape_.group * of_output, of_output, taps, shape_.kernel.back(), 1},
        static_cast<uint16_t*>(packed.y));
  }

  void Run(const Numbers& x, const Weights& weights, const kernels::PostOps& post, void* scratch,
           const Destination& y) const override {
    Destination pixels = y;
    if (!kernel().plain_input()) pixels.strides.x_pixel = shape_.channels;
    pixels.strides.y_pixel = shape_.outputs;
    PackedConvolutionAlgorithm::Run(x, weights, post, scratch, pixels);
  }

  const Gradients* gradients() const override { return weights_ ? this : nullptr; }
  Layouts data_layouts() const override { return data_ ? weights_layouts() : Layouts(); }
  Layouts weights_layouts() const override { return {source(), target()}; }

  void Data(const Numbers& dy, const Numbers& weights, const Destination& dx) const override {
    if (!data_) return plain_->gradients()->Data(dy, weights, dx);
    Workspace& workspace = Context::Current().workspace();
    Workspace::Buffer<uint16_t> packed(workspace, data_->packed_size());
    Workspace::Buffer<char> scratch(workspace, data_->scratch_bytes(num(), dx.type));
    data_->PackStrided(static_cast<const uint16_t*>(weights.data), packed.get());
    kernels::ImageStrides pixels;
    pixels.x_pixel = shape_.outputs;
    pixels.y_pixel = shape_.channels;
    data_->Forward(num(), dy, {packed.get(), weights.type}, kernels::PostOps(), scratch.get(),
                   {dx.y, dx.type, pixels});
  }
  void Parameters(const Numbers& x, const Numbers& dy, void* d_weights,
                  void* d_bias) const override {
    if (d_weights) {
      Workspace::Buffer<char> scratch(Context::Current().workspace(),
                                      weights_->scratch_bytes(num(), x.type, dy.type));
      weights_->Add(num(), x, dy, scratch.get(), static_cast<float*>(d_weights));
    }
    if (!d_bias) return;
    std::vector<double> sums(shape_.outputs);
    Dispatch(dy.type, [&](auto tag) {
      using D = decltype(tag);
      kernels::SumsOverPixels<D, D>(num() * shape_.output_spatial(), shape_.outputs,
                                    static_cast<const D*>(dy.data), nullptr, sums.data(), nullptr);
    });
    for (int o = 0; o < shape_.outputs; ++o) {
      static_cast<float*>(d_bias)[o] += static_cast<float>(sums[o]);
    }
  }

 private:
  const kernels::ConvolutionShape shape_;
  const std::shared_ptr<const kernels::PackedDeconvolution> data_;  // null: as plain_ has it
  const WeightsGradientPtr weights_;                                // null: it has no gradients
  const AlgorithmPtr plain_;
};

}  // namespace

AlgorithmPtr TileConvolution(const ConvolutionProblem& problem) {
  if (problem.num == 0 || problem.transposed) return nullptr;
  // Depthwise convolutions use no tiles, but lie between such that do.
  const bool takes_depthwise = problem.settings.phase == TEST && problem.shape.is_depthwise() &&
                               problem.shape.channels % 16 == 0;
  WeightsGradientPtr weights = kernels::WeightsGradient::Make(problem.shape, problem.plain_source);
  if (!takes_depthwise && !weights) return nullptr;
  const auto kernel = kernels::PackedConvolution::MakeChannelsLast(
      problem.shape, problem.plain_source, problem.settings.types.forward_math,
      kernels::TileShape::TWO_BY_TWO);
  if (!kernel) return nullptr;
  return std::make_shared<TileConvolutionAlgorithm>(problem, kernel, std::move(weights));
}

}  // namespace caffe::algorithms
