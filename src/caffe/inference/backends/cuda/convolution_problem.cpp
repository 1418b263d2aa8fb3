#include "convolution_problem.hpp"

#include <algorithm>

#include "caffe/blob.hpp"
#include "caffe/cuda/stream.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/backends/element_types.hpp"
#include "caffe/kernels/convert.hpp"

namespace caffe::inference::cuda {
namespace {

using caffe::cuda::ConvolutionProblem;
using caffe::cuda::FusedConvolution;

const std::string kTensorFloat = "tf32 ";

/// How many of the variants that are expected to be fast are timed.
constexpr size_t kMaxWays = 12;

std::shared_ptr<const FusedConvolution> WayOf(Stream& stream, const ConvolutionProblem& problem,
                                              const std::string& name) {
  try {
    return caffe::cuda::FusedConvolutionNamed(stream, problem, name);
  } catch (const Error&) {
    const auto ways = caffe::cuda::FusedConvolutions(stream, problem);
    if (ways.empty()) throw;
    return ways.front();
  }
}

/// The parts of a problem that do not follow from the node.
std::string KeyOf(const ConvolutionProblem& problem) {
  return Join(problem.num, " ", problem.used_channels, " ", ShapeString(problem.shape.input),
              problem.input_stride, " ", problem.output_stride, " ", problem.residual_stride);
}

std::vector<Constant> WithBiasAndSlopes(const Constant& packed, const NodePostOps& epilogue,
                                        const kernels::ConvolutionShape& filled,
                                        const std::vector<float>& bias,
                                        const std::vector<float>& scales) {
  const auto add = [&](const std::vector<float>& values, std::vector<Constant>* all) {
    std::vector<float> padded = Padded(values, filled.outputs);
    padded.resize(filled.outputs);
    all->push_back(Constant::Of({filled.outputs}, std::move(padded)));
  };
  std::vector<Constant> all = {packed};
  add(bias, &all);
  if (!scales.empty()) add(scales, &all);
  if (!epilogue.slopes.empty()) add(epilogue.slopes, &all);
  return all;
}

}  // namespace

void AddVariants(ConvolutionProblem problem, bool tensor_float, Candidate candidate,
                 std::vector<Candidate>* candidates) {
  Stream& stream = caffe::cuda::CurrentStream();
  const bool rounds = tensor_float && problem.input == ElementType::FLOAT;
  bool found = false;
  for (const bool tf32 : {true, false}) {
    // Variants that may round include the exact ones.
    if (tf32 ? !rounds : found) continue;
    problem.tf32 = tf32;
    auto ways = caffe::cuda::FusedConvolutions(stream, problem);
    found = ways.size() > 1 || caffe::cuda::NotesConvolutions();
    // The last resort, for a problem that no other variant takes.
    if (ways.size() > 1 && ways.back()->name() == "direct") ways.pop_back();
    ways.resize(std::min(ways.size(), kMaxWays));
    for (const auto& way : ways) {
      candidate.variant = (tf32 ? kTensorFloat : "") + way->name();
      candidates->push_back(candidate);
    }
  }
}

std::vector<Constant> PackedParameters(const Node& node, const NodePostOps& epilogue,
                                       const kernels::ConvolutionShape& filled, bool channels_last,
                                       const std::vector<float>& weights,
                                       const std::vector<float>& bias) {
  const Constant packed = NewConstant(node.math, weights.size());
  DispatchFloat(node.math, [&](auto tag) {
    using T = decltype(tag);
    std::vector<T> converted(weights.size());
    kernels::Convert(weights.size(), ElementType::FLOAT, weights.data(), 1, 0, node.math,
                     converted.data(), 1, 0);
    caffe::cuda::PackWeights(filled, channels_last, converted.data(), Elements<T>(packed));
  });
  return WithBiasAndSlopes(packed, epilogue, filled, bias, {});
}

std::vector<Constant> PackedParameters(const Node&, const NodePostOps& epilogue,
                                       const kernels::ConvolutionShape& filled, bool channels_last,
                                       const std::vector<int8_t>& integers,
                                       std::vector<float> scales, float input_scale,
                                       const std::vector<float>& bias) {
  const Constant packed = NewConstant(ElementType::INT8, integers.size());
  caffe::cuda::PackWeights(filled, channels_last, integers.data(), Elements<int8_t>(packed));
  for (float& scale : scales) scale *= input_scale;
  return WithBiasAndSlopes(packed, epilogue, filled, bias, scales);
}

void BoundConvolution::Bind(ConvolutionProblem problem, const Node& node,
                            const NodePostOps& epilogue, const Operands& operands,
                            const std::vector<const void*>& parameters) {
  const auto stride = [](const Operand& o) { return o.dense() ? 0 : o.stride; };
  const bool integers = node.math == ElementType::INT8, slopes = !epilogue.slopes.empty();
  const size_t outputs = problem.shape.outputs;
  RequireParameter(node, 0, node.math, problem.shape.weight_count());
  for (size_t i = 1; i < size_t(2 + integers + slopes); ++i) {
    RequireParameter(node, i, ElementType::FLOAT, outputs);
  }
  problem.input = operands.x.type;
  problem.output = operands.y.type;
  problem.has_residual = operands.residual.data != nullptr;
  problem.residual = problem.has_residual ? operands.residual.type : operands.y.type;
  problem.input_stride = stride(operands.x);
  problem.output_stride = stride(operands.y);
  problem.residual_stride = problem.has_residual ? stride(operands.residual) : 0;
  problem.activation = ActivationOf(epilogue, nullptr);
  std::string variant = VariantOf(node);
  problem.tf32 = variant.compare(0, kTensorFloat.size(), kTensorFloat) == 0;
  if (problem.tf32) variant.erase(0, kTensorFloat.size());
  if (!way_ || key_ != KeyOf(problem)) {
    way_ = WayOf(caffe::cuda::CurrentStream(), problem, variant);
    // A placeholder for a variant that is being made is not kept.
    key_ = caffe::cuda::NotesConvolutions() ? "" : KeyOf(problem);
  }
  const auto place = [&](size_t index) { return static_cast<const float*>(parameters[index]); };
  arguments_.x = operands.x.data;
  arguments_.weights = parameters[0];
  arguments_.bias = place(1);
  arguments_.scales = integers ? place(2) : nullptr;
  arguments_.slopes = slopes ? place(2 + integers) : nullptr;
  arguments_.residual = operands.residual.data;
  arguments_.residual_scale = operands.residual.scale;
  arguments_.y = operands.y.data;
  arguments_.output_scale = operands.y.scale;
}

void BoundConvolution::Run(void* workspace) const {
  way_->Run(caffe::cuda::CurrentStream(), arguments_, workspace);
}

}  // namespace caffe::inference::cuda
