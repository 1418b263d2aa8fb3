#include "integer_operations.hpp"

#include <algorithm>
#include <cmath>

#include "caffe/blob.hpp"
#include "caffe/core/error_context.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/graph/constants.hpp"
#include "caffe/inference/graph/node_facts.hpp"
#include "caffe/inference/graph/node_layer.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/kernels/integer_elementwise.hpp"
#include "caffe/kernels/integer_normalization.hpp"
#include "caffe/operation.hpp"
#include "integer_functions.hpp"

namespace caffe::inference {
namespace {

using kernels::Multiplier;
using kernels::MultiplierOf;

constexpr size_t kMaxTerms = 256;  // of a sum: more would cost bits

const Shape& ShapeOf(const Graph& graph, int value) { return graph.values[value].shape; }

/// Values of 8 bits as the node reads or writes them.
ByteType BytesOfValue(const Graph& graph, int value) {
  const Value& of = graph.values[value];
  Require(of.type == ElementType::UINT8 || of.type == ElementType::INT8, "value '", of.name,
          "' lies in ", Name(of.type), ", not in 8-bit integers");
  ByteType bytes;
  bytes.type = of.type;
  bytes.affine = of.affine;
  bytes.least = of.type == ElementType::UINT8 ? 0 : -128;
  bytes.most = of.type == ElementType::UINT8 ? 255 : 127;
  Require(std::isnormal(of.affine.scale) && of.affine.scale > 0, "value '", of.name, "' has scale ",
          of.affine.scale);
  Require(of.affine.zero_point >= bytes.least && of.affine.zero_point <= bytes.most, "value '",
          of.name, "' has zero point ", of.affine.zero_point, ", which is not of its type ",
          Name(of.type));
  return bytes;
}

ByteType OutputOf(const Graph& graph, const Node& node) {
  ByteType bytes = BytesOfValue(graph, node.outputs[0]);
  if (!node.integers) return bytes;
  bytes.least = std::max(bytes.least, node.integers->least);
  bytes.most = std::min(bytes.most, node.integers->most);
  Require(bytes.least <= bytes.most, "it may be no byte: least is ", node.integers->least,
          ", most is ", node.integers->most);
  return bytes;
}

bool SameAffine(const Value& a, const Value& b) {
  return a.type == b.type && a.affine.scale == b.affine.scale &&
         a.affine.zero_point == b.affine.zero_point;
}

Constant Tables(const std::vector<uint8_t>& tables) {
  return ConstantOf(ElementType::UINT8, {static_cast<int>(tables.size() / 256), 256}, tables);
}

Constant Multipliers(const std::vector<Multiplier>& multipliers) {
  std::vector<int32_t> values;
  for (const Multiplier& multiplier : multipliers) {
    values.push_back(multiplier.value);
    values.push_back(multiplier.shift);
  }
  return ConstantOf(ElementType::INT32, {static_cast<int>(multipliers.size()), 2}, values);
}

Constant Integers(const std::vector<int32_t>& values) {
  return ConstantOf(ElementType::INT32, {static_cast<int>(values.size())}, values);
}

/// Of a number of up to 28 bits for sums and quotients, 24 for products: what it becomes fits 31.
Multiplier LessThan(double limit, double real, const char* what) {
  Require(std::isfinite(real) && real >= 0 && real < limit, what, " would be multiplied by ", real,
          ", where less than ", limit,
          " is needed: the scale of its output is too small for what it is computed from");
  return MultiplierOf(real);
}
constexpr double kLimit = 1, kLimitOfProducts = 64;

/// The common quantization of inputs that are compared or concatenated.
Constant RescalingTables(const Graph& graph, const Node& node, const ByteType& y,
                         kernels::Rounding rounding) {
  std::vector<uint8_t> tables;
  for (const int input : node.inputs) {
    const std::vector<uint8_t> one =
        TablesOf(NumberFunction(), BytesOfValue(graph, input), y, rounding);
    tables.insert(tables.end(), one.begin(), one.end());
  }
  return Tables(tables);
}

/// Of a sum of terms with these steps; terms with negative ones are subtracted.
Constant SumMultipliers(const std::vector<double>& steps, const ByteType& y) {
  double largest = 0;
  for (const double step : steps) largest = std::max(largest, std::fabs(step));
  const double whole = largest * static_cast<double>(steps.size());
  std::vector<Multiplier> multipliers;
  for (const double step : steps) {
    multipliers.push_back(whole > 0 ? MultiplierOf(std::fabs(step) / whole) : Multiplier());
    if (step < 0) multipliers.back().value = -multipliers.back().value;
  }
  const double shifted = std::ldexp(double{y.affine.scale}, kernels::kSumShift);
  multipliers.push_back(LessThan(kLimit, whole / shifted, "its sum"));
  return Multipliers(multipliers);
}

std::vector<Constant> EltwiseParameters(const Graph& graph, const Node& node, const ByteType& y,
                                        kernels::Rounding rounding) {
  const EltwiseParameter& param = node.layer.eltwise_param();
  if (param.operation() == EltwiseParameter_EltwiseOp_MAX) {
    return {RescalingTables(graph, node, y, rounding)};
  }
  if (param.operation() == EltwiseParameter_EltwiseOp_SUM) {
    std::vector<double> steps;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const double coefficient = param.coeff_size() ? param.coeff(static_cast<int>(i)) : 1;
      steps.push_back(coefficient * BytesOfValue(graph, node.inputs[i]).affine.scale);
    }
    return {SumMultipliers(steps, y)};
  }
  // In float, as LiteRT has it, up to two.
  float scale = 1;
  for (const int input : node.inputs) scale *= BytesOfValue(graph, input).affine.scale;
  const int dropped = std::max(0, static_cast<int>(node.inputs.size()) - 3);
  const double real = std::ldexp(double{scale / y.affine.scale}, 8 * dropped);
  return {Multipliers({LessThan(kLimitOfProducts, real, "its product")})};
}

std::vector<Constant> SoftmaxParameters(const Graph& graph, const Node& node, const ByteType& y) {
  const double steps = std::round(256 / double{y.affine.scale});
  Require(steps >= 1 && steps < 1 << 30, "its output's scale is ", y.affine.scale,
          ", where 1/256 is right");
  return {Integers(kernels::SoftmaxTable(BytesOfValue(graph, node.inputs[0]).affine.scale)),
          Integers({static_cast<int32_t>(steps)})};
}

/// Of values that are divided by a function of the sum of their squares. The table is that of
/// `function` of whole numbers; `bits` are those of a product that are kept, `scales` one or one a
/// channel.
std::vector<Constant> DivisionParameters(const std::function<double(double)>& function, double step,
                                         int bits, const std::vector<double>& scales,
                                         const ByteType& y) {
  std::vector<Multiplier> multipliers;
  for (const double scale : scales) {
    const double real = function(1) * step * scale / y.affine.scale;
    multipliers.push_back(LessThan(kLimit, std::ldexp(std::fabs(real), -bits), "its quotient"));
    if (real < 0) multipliers.back().value = -multipliers.back().value;
  }
  return {Multipliers(multipliers), Integers(kernels::FallingTable(function))};
}

constexpr int kQuotientBits = 22;      // of 30 + 8 bits 8 are dropped
constexpr int kStandardizedBits = 14;  // of 30 bits 16 are dropped

std::vector<Constant> LrnParameters(const Graph& graph, const Node& node, const ByteType& y) {
  const LRNParameter& param = node.layer.lrn_param();
  const double step = BytesOfValue(graph, node.inputs[0]).affine.scale;
  const bool within = param.norm_region() == LRNParameter_NormRegion_WITHIN_CHANNEL;
  const double size = param.local_size(), window = within ? size * size : size;
  const double factor = param.alpha() / window * step * step, beta = param.beta();
  const double start = within ? 1 : param.k();
  return DivisionParameters([=](double a) { return std::pow(start + factor * a, -beta); }, step,
                            kQuotientBits, {1}, y);
}

std::vector<Constant> NormalizeParameters(const Graph& graph, const Node& node, const ByteType& y) {
  const double step = BytesOfValue(graph, node.inputs[0]).affine.scale;
  const bool has_scale = !node.layer.has_normalize_param();
  const double eps = has_scale ? double{node.layer.norm_param().eps()} : 1e-6;
  std::vector<double> scales = {1};
  if (has_scale && !node.parameters.empty()) {
    const std::vector<float> given = node.parameters[0].ToVector();
    scales.assign(given.begin(), given.end());
  }
  return DivisionParameters([=](double a) { return 1 / std::sqrt(step * step * a + eps); }, step,
                            kQuotientBits, scales, y);
}

std::vector<Constant> MvnParameters(const Graph& graph, const Node& node, const ByteType& y) {
  const MVNParameter& param = node.layer.mvn_param();
  const double step = BytesOfValue(graph, node.inputs[0]).affine.scale / 256.;
  if (!param.normalize_variance()) {
    return {Multipliers({LessThan(kLimit, step / 256 / y.affine.scale, "its difference")})};
  }
  const double eps = param.eps();
  return DivisionParameters([=](double a) { return 1 / (step * std::sqrt(a) + eps); }, step,
                            kStandardizedBits, {1}, y);
}

std::vector<Constant> AxpyParameters(const Graph& graph, const Node& node, const ByteType& y) {
  const auto scale = [&](int i) {
    return double{BytesOfValue(graph, node.inputs[i]).affine.scale};
  };
  return {SumMultipliers({scale(0) * scale(1) * 256, scale(2)}, y)};
}

/// The second bottom gives one factor for each of some leading axes of the first.
bool BroadcastsScale(const Graph& graph, const Node& node) {
  const int axis = node.layer.scale_param().axis();
  const Shape &x = ShapeOf(graph, node.inputs[0]), &a = ShapeOf(graph, node.inputs[1]);
  const size_t first = axis < 0 ? axis + x.size() : axis;
  return node.parameters.empty() && first + a.size() <= x.size() &&
         std::equal(a.begin(), a.end(), x.begin() + first);
}

std::string WhyNotTypes(const Graph& graph, const Node& node) {
  const Operation* operation = OperationTable::Find(node.type());
  if (!operation) return "the library does not know what it computes";
  if (!ShapesAreKnown(node)) return "its output's size depends on the data";
  for (const int input : node.inputs) {
    if (graph.values[input].is_constant()) return "one of its bottoms is constant";
  }
  return "";
}

constexpr char kTooManyTerms[] = "it adds more than 256 bottoms";

}  // namespace

std::string WhyNotIntegers(const Graph& graph, const Node& node) {
  if (MultipliesWeights(node)) return "";
  if (node.inputs.empty() || node.outputs.empty()) return "it has no bottom or no top";
  const std::string reason = WhyNotTypes(graph, node);
  if (!reason.empty()) return reason;
  const std::string& type = node.type();
  if (MovesElements(node)) return "";
  if (node.outputs.size() > 1) return "it has several tops";
  if (type == "Eltwise") return node.inputs.size() > kMaxTerms ? kTooManyTerms : "";
  if (type == "Axpy") return "";
  if (type == "Scale" && node.inputs.size() == 2) {
    return BroadcastsScale(graph, node) ? "" : "it adds to a product of two bottoms";
  }
  if (type == "Pooling") {
    return node.layer.pooling_param().pool() == PoolingParameter_PoolMethod_STOCHASTIC
               ? "it pools by chance"
               : "";
  }
  if (type == "LRN") {
    return node.layer.lrn_param().local_size() % 2 ? "" : "its local_size is even";
  }
  if (type == "Resample") {
    return node.layer.resample_param().type() == ResampleParameter_ResampleType_AREA
               ? "its type AREA is not available"
               : "";
  }
  if (type == "Softmax" || type == "Normalize" || type == "MVN" || node.operation().interpolates) {
    return "";
  }
  if (NumberFunctionOf(graph, node)) return "";
  return "there is no arithmetic of integers for it";
}

std::optional<AffineParameters> FixedAffine(const Node& node) {
  const auto& bounds = node.operation().bounds;
  if (!bounds) return {};
  const float scale = (bounds->second - bounds->first) / 256;
  return AffineParameters{scale, static_cast<int>(-bounds->first / scale)};
}

bool SharesAffine(const Node& node) {
  return node.type() != "Concat" &&
         (node.type() == "Pooling" || node.operation().interpolates || MovesElements(node));
}

std::vector<Constant> IntegerParameters(const Graph& graph, const Node& node,
                                        kernels::Rounding rounding) {
  return WithLayer(node, [&]() -> std::vector<Constant> {
    Require(!MultipliesWeights(node), "it has weights");
    const std::string reason = WhyNotIntegers(graph, node);
    Require(reason.empty(), "integers alone cannot compute it: ", reason);
    const ByteType y = OutputOf(graph, node);
    const std::string& type = node.type();
    if (SharesAffine(node)) {
      const Value& x = graph.values[node.inputs[0]];
      std::vector<int> others = node.outputs;
      for (size_t i = 1; i < node.inputs.size(); ++i) {
        if (!ReadsShapeOnly(node, i)) others.push_back(node.inputs[i]);
      }
      for (const int other : others) {
        Require(SameAffine(x, graph.values[other]), "'", graph.values[other].name,
                "' has another type, scale or zero point than its bottom '", x.name, "'");
      }
      return {};
    }
    if (type == "Concat") {
      const auto same = [&](int input) {
        return SameAffine(graph.values[input], graph.values[node.outputs[0]]);
      };
      if (std::all_of(node.inputs.begin(), node.inputs.end(), same)) return {};
      return {RescalingTables(graph, node, y, rounding)};
    }
    if (type == "Eltwise") return EltwiseParameters(graph, node, y, rounding);
    if (type == "Axpy") return AxpyParameters(graph, node, y);
    if (type == "Scale" && node.inputs.size() == 2) {
      const float scale = BytesOfValue(graph, node.inputs[0]).affine.scale *
                          BytesOfValue(graph, node.inputs[1]).affine.scale / y.affine.scale;
      return {Multipliers({LessThan(kLimitOfProducts, scale, "its product")})};
    }
    if (type == "Softmax") return SoftmaxParameters(graph, node, y);
    if (type == "LRN") return LrnParameters(graph, node, y);
    if (type == "Normalize") return NormalizeParameters(graph, node, y);
    if (type == "MVN") return MvnParameters(graph, node, y);
    const ByteType x = BytesOfValue(graph, node.inputs[0]);
    return {Tables(TablesOf(*NumberFunctionOf(graph, node), x, y, rounding))};
  });
}

}  // namespace caffe::inference
