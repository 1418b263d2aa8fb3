#include <memory>
#include <utility>
#include <vector>

#include "caffe/context.hpp"
#include "caffe/core/dispatch_float.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "convolution.hpp"

namespace caffe::algorithms {
namespace {

/// The convolution that makes dx of dy, with the weights of each pair of channels turned around;
/// with strides and dilations of 1.
kernels::ConvolutionShape Backward(const kernels::ConvolutionShape& forward) {
  kernels::ConvolutionShape shape = forward;
  std::swap(shape.channels, shape.outputs);
  std::swap(shape.input, shape.output);
  for (size_t i = 0; i < shape.pad.size(); ++i) shape.pad[i] = shape.kernel[i] - 1 - shape.pad[i];
  return shape;
}

/// True where that takes at most half of the time for products of the direct gradient, which has no
/// products with padding: of tiles of m x m outputs, (m + r - 1)^2 each.
bool HasFewProducts(const kernels::ConvolutionShape& forward, int tile, double direct_speed) {
  const auto tiles = [&](int i) { return kernels::CeilDiv(forward.input[i], tile); };
  const size_t side = tile + forward.kernel[0] - 1;
  const double products = side * side * tiles(0) * tiles(1);
  return 2 * direct_speed * products <= forward.kernel_size() * forward.output_spatial();
}

/// y by Winograd's algorithm, and of dx and the gradients of the parameters those that gain by it;
/// the others by oneDNN.
class WinogradTraining : public AroundAlgorithm, public Gradients {
 public:
  using ParameterGradients = std::unique_ptr<const kernels::WinogradWeightsGradient>;
  WinogradTraining(const kernels::WinogradShape& backward, AlgorithmPtr forward, AlgorithmPtr data,
                   ParameterGradients parameters, AlgorithmPtr direct)
      : AroundAlgorithm(std::move(forward)),
        backward_(backward),
        data_(std::move(data)),
        parameters_(std::move(parameters)),
        direct_(std::move(direct)) {}

  const Gradients* gradients() const override { return this; }
  Layouts data_layouts() const override {
    return data_ ? Layouts{data_->target(), data_->source()} : direct().data_layouts();
  }
  Layouts weights_layouts() const override {
    return parameters_ ? Layouts{source(), target()} : direct().weights_layouts();
  }
  bool has_bias_alone() const override { return !parameters_ && direct().has_bias_alone(); }

  void Data(const kernels::Numbers& dy, const kernels::Numbers& weights,
            const kernels::Destination& dx) const override {
    if (!data_) return direct().Data(dy, weights, dx);
    Workspace& workspace = Context::Current().workspace();
    Workspace::Buffer<float> packed(workspace, data_->packed_size());
    DispatchFloat(weights.type, [&](auto tag) {
      kernels::WinogradPackTurned(backward_, static_cast<const decltype(tag)*>(weights.data),
                                  packed.get());
    });
    Workspace::Buffer<char> scratch(workspace, data_->scratch_bytes());
    data_->Run(dy, {{packed.get(), ElementType::FLOAT}, {}}, kernels::PostOps(), scratch.get(), dx);
  }
  void Parameters(const kernels::Numbers& x, const kernels::Numbers& dy, void* d_weights,
                  void* d_bias) const override {
    if (!parameters_) return direct().Parameters(x, dy, d_weights, d_bias);
    Workspace::Buffer<char> scratch(Context::Current().workspace(), parameters_->scratch_bytes());
    parameters_->Run(x, dy, static_cast<float*>(d_weights), static_cast<float*>(d_bias),
                     scratch.get());
  }

 private:
  const Gradients& direct() const { return *direct_->gradients(); }

  const kernels::WinogradShape backward_;  // of data_
  // Null: direct_ has that gradient.
  const AlgorithmPtr data_;
  const ParameterGradients parameters_;
  const AlgorithmPtr direct_;
};

}  // namespace

AlgorithmPtr WinogradTrainingOf(const kernels::ConvolutionShape& shape, int num, int tile,
                                AlgorithmPtr direct, double direct_speed) {
  AlgorithmPtr forward = WinogradIfItPays(shape, num, tile, direct_speed);
  if (!forward || !direct || !direct->gradients()) return nullptr;
  AlgorithmPtr data;
  if (HasFewProducts(shape, tile, direct_speed)) {
    data = WinogradIfItPays(Backward(shape), num, tile, direct_speed);
  }
  const auto sizes_of = [&](const kernels::ConvolutionShape& s) {
    return kernels::WinogradShapeOf(s, num, kernels::BlockChannels(), tile);
  };
  WinogradTraining::ParameterGradients parameters;
  if (kernels::WinogradGradientPays(sizes_of(shape), direct_speed)) {
    parameters = std::make_unique<const kernels::WinogradWeightsGradient>(sizes_of(shape));
  }
  return std::make_shared<WinogradTraining>(sizes_of(Backward(shape)), std::move(forward),
                                            std::move(data), std::move(parameters),
                                            std::move(direct));
}

}  // namespace caffe::algorithms
