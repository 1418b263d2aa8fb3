#include "caffe/kernels/tile_inner_product.hpp"

#include <memory>
#include <utility>

#include "caffe/core/pieces.hpp"
#include "inner_product.hpp"

namespace caffe::algorithms {
namespace {

using kernels::Destination;
using kernels::Numbers;

class TileInnerProductAlgorithm : public Algorithm, public Gradients {
 public:
  TileInnerProductAlgorithm(const InnerProductProblem& problem,
                            std::shared_ptr<const kernels::TileInnerProduct> kernel)
      : rows_(problem.rows),
        outputs_(problem.outputs),
        kernel_(std::move(kernel)),
        plain_(Plain(problem)) {}

  bool packs() const override { return false; }
  size_t scratch_bytes() const override { return kernel_->scratch_bytes(rows_); }
  void Run(const Numbers& x, const Weights& weights, const kernels::PostOps& post, void* scratch,
           const Destination& y) const override {
    const float* bias = nullptr;
    std::unique_ptr<FloatValues> wide;
    if (weights.bias.data) {
      wide = std::make_unique<FloatValues>(weights.bias, outputs_);
      bias = wide->data();
    }
    // Infinities and NaNs are multiplied as they are.
    if (!kernel_->Forward(rows_, x, weights.values, bias, scratch, y)) {
      plain_->Run(x, weights, post, nullptr, y);
    }
  }

  const Gradients* gradients() const override { return this; }
  void Data(const Numbers& dy, const Numbers& weights, const Destination& dx) const override {
    Workspace::Buffer<char> scratch(Context::Current().workspace(), scratch_bytes());
    if (!kernel_->Data(rows_, dy, weights, scratch.get(), dx)) {
      plain_->gradients()->Data(dy, weights, dx);
    }
  }
  void Parameters(const Numbers& x, const Numbers& dy, void* d_weights,
                  void* d_bias) const override {
    if (d_weights) {
      Workspace::Buffer<char> scratch(Context::Current().workspace(), scratch_bytes());
      kernel_->Weights(rows_, x, dy, scratch.get(), static_cast<float*>(d_weights));
    }
    if (d_bias) plain_->gradients()->Parameters(x, dy, nullptr, d_bias);
  }

 private:
  const int rows_, outputs_;
  const std::shared_ptr<const kernels::TileInnerProduct> kernel_;
  const AlgorithmPtr plain_;
};

}  // namespace

AlgorithmPtr TileInnerProduct(const InnerProductProblem& problem) {
  if (problem.transposed || problem.rows == 0) return nullptr;
  const auto kernel = kernels::TileInnerProduct::Make(problem.inputs, problem.outputs);
  return kernel ? std::make_shared<TileInnerProductAlgorithm>(problem, kernel) : nullptr;
}

}  // namespace caffe::algorithms
