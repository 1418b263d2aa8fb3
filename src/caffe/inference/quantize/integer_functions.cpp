#include "integer_functions.hpp"

#include <algorithm>
#include <cmath>

#include "caffe/core/pointwise.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/graph/node_layer.hpp"
#include "caffe/inference/graph/test_identity.hpp"
#include "caffe/kernels/fixed_point.hpp"
#include "caffe/layer.hpp"
#include "caffe/operation.hpp"
#include "integer_operations.hpp"

namespace caffe::inference {
namespace {

NumberFunction Linear(double slope, double least, double most) {
  NumberFunction function;
  function.slopes = {slope};
  function.least = least;
  function.most = most;
  return function;
}

NumberFunction Linear(double slope) {
  return Linear(slope, NumberFunction().least, NumberFunction().most);
}

NumberFunction Real(std::function<double(double)> of) {
  NumberFunction function;
  function.real = [of = std::move(of)](double x, size_t) { return of(x); };
  return function;
}

std::optional<NumberFunction> IdentityFunction(const Node& node) {
  if (IsTestIdentity(node.layer)) return Linear(1);
  // What it did not scale in training.
  const DropoutParameter& dropout = node.layer.dropout_param();
  if (node.type() == "Dropout" && !dropout.sample_weights_test()) {
    return Real([kept = 1. - dropout.dropout_ratio()](double x) { return kept * x; });
  }
  return {};
}

std::optional<NumberFunction> FunctionOf(const kernels::Activation& f) {
  using kernels::Activation;
  switch (f.kind) {
    case Activation::RELU:
      return Linear(f.a);
    case Activation::CLIP:
      return Linear(1, f.a, f.b);
    case Activation::CLIPPED_RELU:
      return Linear(f.b, f.b == 0 ? 0 : NumberFunction().least, f.a);
    case Activation::PRELU:
      return {};
    default:
      return Real([f](double x) { return kernels::ValueOf(f, x); });
  }
}

/// Scale, Bias and batch normalization with trained numbers.
std::optional<NumberFunction> FunctionByChannel(const Shape& shape, const Node& node) {
  if (shape.size() < 2) return {};
  const size_t channels = shape[1];
  NumberFunction function;
  if (node.type() == "PReLU") {
    if (node.parameters.size() != 1) return {};
    const std::vector<float> slopes = node.parameters[0].ToVector();
    if (slopes.size() != 1 && slopes.size() != channels) return {};
    function.slopes.assign(slopes.begin(), slopes.end());
    function.tables = slopes.size();
    return function;
  }
  if (node.type() == "Bias") {
    if (node.parameters.size() != 1 || node.layer.bias_param().axis() != 1 ||
        node.parameters[0].shape != Shape{shape[1]}) {
      return {};
    }
    function.tables = channels;
    function.real = [shift = node.parameters[0].ToVector()](double x, size_t c) {
      return x + shift[c];
    };
    return function;
  }
  if (node.type() != "Scale" && node.type() != "BatchNorm" && node.type() != "BN") return {};
  NodeLayer layer = MainLayer(node);
  layer.Reshape({shape});
  Pointwise pointwise;
  if (!layer.layer().DescribePointwise(&pointwise) ||
      pointwise.activation.kind != kernels::Activation::NONE) {
    return {};
  }
  function.tables = channels;
  function.real = [pointwise](double x, size_t c) {
    return (pointwise.scale.empty() ? 1. : pointwise.scale[c]) * x +
           (pointwise.shift.empty() ? 0. : pointwise.shift[c]);
  };
  return function;
}

// Values far outside the range of bytes stay there, and fit 32 bits.
int32_t Rescaled(int32_t x, double by, kernels::Rounding rounding) {
  constexpr double kFar = 1 << 20;
  const bool turns = by < 0;
  const double magnitude = std::fabs(by);
  const int32_t from = turns ? -x : x;
  if (magnitude * std::abs(from) >= kFar || magnitude >= kFar) {
    return from == 0 ? 0 : static_cast<int32_t>(from < 0 ? -kFar : kFar);
  }
  return kernels::Rescale(from, kernels::MultiplierOf(magnitude), rounding);
}

}  // namespace

std::optional<NumberFunction> NumberFunctionOf(const Graph& graph, const Node& node) {
  if (node.inputs.size() != 1 || node.outputs.size() != 1) return {};
  if (auto function = IdentityFunction(node)) return function;
  if (const auto activation = ActivationOf(node.layer)) {
    if (auto function = FunctionOf(*activation)) return function;
  }
  return FunctionByChannel(graph.values[node.inputs[0]].shape, node);
}

uint8_t ByteType::Byte(double y) const {
  if (std::isnan(y)) y = 0;
  return static_cast<uint8_t>(static_cast<int32_t>(
      std::clamp(affine.zero_point + y, static_cast<double>(least), static_cast<double>(most))));
}

std::vector<uint8_t> TablesOf(const NumberFunction& function, const ByteType& x, const ByteType& y,
                              kernels::Rounding rounding) {
  constexpr int kBytes = 256;
  std::vector<uint8_t> tables(function.tables * kBytes);
  // In float, as LiteRT has it: the bits of multipliers depend on it.
  const double ratio = x.affine.scale / y.affine.scale;
  const auto bound = [&](double value) {
    return std::isinf(value) ? value : std::round(value / y.affine.scale);
  };
  const double least = bound(function.least), most = bound(function.most);
  for (size_t c = 0; c < function.tables; ++c) {
    const double slope = function.slopes[std::min(c, function.slopes.size() - 1)];
    for (int i = 0; i < kBytes; ++i) {
      const int32_t d = x.Difference(i);
      uint8_t& byte = tables[c * kBytes + i];
      if (function.real) {
        byte = y.Byte(std::round(function.real(double{x.affine.scale} * d, c) / y.affine.scale));
      } else {
        const double line = Rescaled(d, d < 0 ? slope * ratio : ratio, rounding);
        byte = y.Byte(std::min(std::max(line, least), most));
      }
    }
  }
  return tables;
}

}  // namespace caffe::inference
