#include "overwritten_tops.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "caffe/common.hpp"
#include "caffe/kernels/activation.hpp"
#include "caffe/operation.hpp"
#include "net_checks.hpp"

namespace caffe {
namespace {

using kernels::Activation;

bool WritesOver(const LayerParameter& layer, const std::string& blob) {
  return layer.bottom_size() > 0 && layer.top_size() > 0 && layer.bottom(0) == blob &&
         layer.top(0) == blob;
}

/// shift + scale x.
Activation LinearFunction(double shift, double scale) {
  Activation f = {Activation::POWER};
  f.a = shift;
  f.b = scale;
  f.c = 1;
  return f;
}

/// What Dropout does to the numbers that it keeps: the gradients of others are 0.
Activation KeptByDropout(const LayerParameter& layer) {
  const DropoutParameter& param = layer.dropout_param();
  const double kept = 1. - param.dropout_ratio();
  const bool drops = layer.phase() == TRAIN || param.sample_weights_test();
  if (drops) return LinearFunction(0, param.scale_train() ? 1 / kept : 1);
  return LinearFunction(0, param.scale_train() ? 1 : kept);
}

/// What the layer does to each number; with factors and shifts that are learned or measured, as it
/// may become.
std::optional<Activation> FunctionOf(const LayerParameter& layer) {
  const std::string& type = layer.type();
  constexpr double kSomeShift = 0.3, kSomeScale = 0.7;
  if (type == "Dropout") return KeptByDropout(layer);
  if (type == "Scale") {
    return LinearFunction(layer.scale_param().bias_term() ? kSomeShift : 0, kSomeScale);
  }
  if (type == "BatchNorm" || type == "BN" || type == "Bias" || type == "MVN") {
    return LinearFunction(kSomeShift, kSomeScale);
  }
  std::optional<Activation> f = ActivationOf(layer);
  if (f && f->kind == Activation::PRELU) {
    f->kind = Activation::RELU;
    f->a = 0.25;  // its first slope
  }
  return f;
}

/// The function of a layer whose gradient is computed from its top.
std::optional<Activation> FunctionOfReader(const LayerParameter& layer) {
  if (layer.top_size() != 1 || layer.bottom_size() != 1) return {};
  const std::optional<Activation> f = ActivationOf(layer);
  if (!f || f->kind == Activation::PRELU) return {};
  const Activation::Argument argument = f->GradientArgument();
  const bool reads_top =
      argument == Activation::Argument::OUTPUT ||
      (argument == Activation::Argument::EITHER && layer.bottom(0) == layer.top(0));
  return reads_top ? f : std::nullopt;
}

double Gradient(const Activation& f, double argument, double dy) {
  double dx = 0;
  kernels::ActivateGradient(f, 1, &argument, &dy, &dx);
  return dx;
}

/// True if the gradient of f is another one for some number when it is computed from what `writers`
/// make of its top. Many combinations are right: a ReLU leaves the numbers as they are whose
/// gradient it passes on.
bool IsWrong(const Activation& f, const std::vector<Activation>& writers) {
  constexpr int kPerUnit = 8, kFarthest = 8 * kPerUnit;
  for (int i = -kFarthest; i <= kFarthest; ++i) {
    const double y = kernels::ValueOf(f, static_cast<double>(i) / kPerUnit);
    double z = y, dy = 1;
    for (const Activation& writer : writers) {
      const double x = z;
      z = kernels::ValueOf(writer, x);
      const bool from_output = writer.GradientArgument() == Activation::Argument::OUTPUT;
      dy = Gradient(writer, from_output ? z : x, dy);
    }
    const double right = Gradient(f, y, dy), computed = Gradient(f, z, dy);
    if (std::abs(right - computed) > 1e-6 * std::max(std::abs(right), std::abs(computed))) {
      return true;
    }
  }
  return false;
}

void WarnOf(const std::vector<LayerParameter>& layers, size_t reader, const Activation& f) {
  const std::string& blob = layers[reader].top(0);
  std::vector<Activation> writers;
  for (size_t i = reader + 1; i < layers.size(); ++i) {
    if (!WritesOver(layers[i], blob)) continue;
    const std::optional<Activation> writer = FunctionOf(layers[i]);
    if (!writer) return;
    writers.push_back(*writer);
    if (!IsWrong(f, writers)) continue;
    LOG(WARNING) << Describe(layers[reader]) << " computes its gradient from its top '" << blob
                 << "', which " << Describe(layers[i])
                 << " overwrites: it is wrong, as in Caffe. Give '" << layers[i].name()
                 << "' a top of its own.";
    return;
  }
}

}  // namespace

void WarnOfOverwrittenTops(const std::vector<LayerParameter>& layers,
                           const std::vector<bool>& need_backward) {
  for (size_t i = 0; i < layers.size(); ++i) {
    if (!need_backward[i]) continue;
    if (const std::optional<Activation> f = FunctionOfReader(layers[i])) WarnOf(layers, i, *f);
  }
}

}  // namespace caffe
