#ifndef CAFFE_TEST_ALGORITHM_RUNS_HPP_
#define CAFFE_TEST_ALGORITHM_RUNS_HPP_

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "caffe/algorithms/convolution.hpp"
#include "caffe/algorithms/inner_product.hpp"
#include "caffe/context.hpp"
#include "caffe/core/as_stored.hpp"
#include "caffe/util/rng.hpp"

// Algorithms as layers and engines call them: with blobs in their layouts, and weights that they
// have packed.
namespace caffe::algorithms {

using Values = std::vector<float>;

inline Values Random(size_t count) {
  std::uniform_real_distribution<float> value(-1, 1);
  Values values(count);
  for (float& x : values) x = value(*caffe_rng());
  return values;
}

inline std::unique_ptr<Tensor> TensorOf(const Values& values) {
  auto tensor = std::make_unique<Tensor>(values.size(), ElementType::FLOAT);
  std::copy(values.begin(), values.end(),
            static_cast<float*>(tensor->overwrite_cpu_data(ElementType::FLOAT)));
  return tensor;
}

inline Values Plainly(Tensor& tensor) {
  const float* values = ReadAs<float>(tensor, Layout());
  return Values(values, values + tensor.count());
}

inline void ExpectNear(const Values& actual, const Values& expected, double bound = 2e-4) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], bound) << i;
}

/// x, weights and bias of a product.
struct Operands {
  Operands(size_t inputs, size_t outputs, size_t weights, size_t biases)
      : x(Random(inputs)), weights(Random(weights)), bias(Random(biases)), outputs(outputs) {}
  Values x, weights, bias;
  size_t outputs;
};

inline Values Outputs(const Algorithm& algorithm, const Operands& operands,
                      const kernels::Activation& activation = {}) {
  const auto x = TensorOf(operands.x);
  Tensor y(operands.outputs, ElementType::FLOAT);
  kernels::Numbers weights = operands.weights.data();
  std::vector<char> packed;
  if (algorithm.packs() && algorithm.packed_size() > 0) {
    weights.type = algorithm.PackedType(ElementType::FLOAT);
    packed.assign(algorithm.packed_size() * SizeOf(weights.type), 0);
    algorithm.Pack(operands.weights.data(), nullptr, {packed.data(), weights.type});
    weights.data = packed.data();
    if (algorithm.KeptType(ElementType::FLOAT) == ElementType::FLOAT) {
      Values restored(operands.weights.size());
      algorithm.Unpack(weights, restored.data());
      EXPECT_EQ(restored, operands.weights);
    }
  }
  Workspace::Buffer<char> scratch(Context::Current().workspace(), algorithm.scratch_bytes() + 1);
  kernels::PostOps post;
  post.activation = activation;
  algorithm.Run(ReadAs<float>(*x, algorithm.source()), {weights, operands.bias.data()}, post,
                scratch.get(), OverwriteAs<float>(y, algorithm.target()));
  return Plainly(y);
}

inline Settings Floats(Phase phase) {
  return {LayerTypes::All(ElementType::FLOAT), phase, Engine::DEFAULT, onednn::Enabled()};
}

inline ConvolutionProblem Problem(int num, int channels, int outputs, int kernel, bool transposed) {
  ConvolutionProblem problem;
  problem.shape.channels = channels;
  problem.shape.outputs = outputs;
  problem.shape.input = problem.shape.output = {9, 7};
  problem.shape.kernel = {kernel, kernel};
  problem.shape.stride = problem.shape.dilation = {1, 1};
  problem.shape.pad = {kernel / 2, kernel / 2};
  problem.transposed = transposed;
  problem.num = num;
  problem.bias = true;
  problem.settings = Floats(TEST);
  return problem;
}

inline Operands OperandsOf(const ConvolutionProblem& p) {
  const size_t inputs = p.num * p.shape.input_size(), outputs = p.num * p.shape.output_size();
  return Operands(p.transposed ? outputs : inputs, p.transposed ? inputs : outputs,
                  p.shape.weight_count(), p.output_count());
}

inline Operands OperandsOf(const InnerProductProblem& p) {
  return Operands(p.rows * p.inputs, p.rows * p.outputs, p.inputs * p.outputs, p.outputs);
}

/// dx, d_weights and d_bias, the latter two on top of ones.
inline std::vector<Values> GradientsOf(const Algorithm& algorithm, const Operands& operands,
                                       const Values& gradient) {
  const Gradients& gradients = *algorithm.gradients();
  const auto x = TensorOf(operands.x), dy = TensorOf(gradient);
  Tensor dx(operands.x.size(), ElementType::FLOAT);
  const Gradients::Layouts data = gradients.data_layouts(), weights = gradients.weights_layouts();
  gradients.Data(ReadAs<float>(*dy, data.top), operands.weights.data(),
                 OverwriteAs<float>(dx, data.bottom));
  Values d_weights(operands.weights.size(), 1.f), d_bias(operands.bias.size(), 1.f);
  gradients.Parameters(ReadAs<float>(*x, weights.bottom), ReadAs<float>(*dy, weights.top),
                       d_weights.data(), d_bias.data());
  return {Plainly(dx), d_weights, d_bias};
}

}  // namespace caffe::algorithms

#endif  // CAFFE_TEST_ALGORITHM_RUNS_HPP_
