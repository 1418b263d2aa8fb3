#include "build_context.hpp"

#include <algorithm>

#include "backends/cpu/cpu_target.hpp"
#include "backends/cuda/cuda_engine.hpp"
#include "caffe/error.hpp"

namespace caffe::inference {
namespace {

using Types = std::set<ElementType>;

const Target* TargetOf(const BuilderConfig& config) {
  if (config.backend == Backend::REFERENCE) return nullptr;
  return config.backend == Backend::CUDA ? &cuda::CudaTarget() : &cpu::CpuTarget();
}

void CheckQuantization(const BuildContext& build) {
  const QuantizationScheme scheme = build.Scheme();
  const bool alone = build.HasIntegersAlone();
  const bool symmetric = scheme == QuantizationScheme::SYMMETRIC;
  Require(symmetric || alone || build.config.backend == Backend::CPU, Error::Field{"-quantization"},
          " ", Name(scheme), " -arithmetic ", Name(build.config.quantization.ArithmeticOrDefault()),
          " is for the CPU; with -arithmetic integer it is for GPUs, too");
  Require(scheme != QuantizationScheme::PAPER || alone || !build.table,
          Error::Field{"-quantization"}, " paper computes with integers alone",
          Error::Remedy{"give -arithmetic integer"});
}

/// The layers that were merged into a node.
std::vector<std::string> NamesOfLayers(const Node& node) {
  std::vector<std::string> names = {node.name()};
  names.insert(names.end(), node.siblings.begin(), node.siblings.end());
  for (const Epilogue& step : node.epilogue) names.push_back(step.layer.name());
  return names;
}

}  // namespace

Types TypesOf(Precision precision, const BuilderConfig& config) {
  if (precision != Precision::BEST) return {StorageOf(precision)};
  Types types;
  for (const Precision allowed : config.allowed) types.insert(StorageOf(allowed));
  types.insert(ElementType::FLOAT);
  return types;
}

BuildContext BuildContext::For(const BuilderConfig& config) {
  BuildContext build;
  build.config = config;
  build.target = TargetOf(config);
  if (!build.target) return build;
  build.types = TypesOf(config.precision, config);
  if (!build.config.timing_cache) build.config.timing_cache = std::make_shared<TimingCache>();
  const auto wants = [](const auto& layer) { return layer.second == Precision::INT8; };
  const bool demanded =
      config.precision == Precision::INT8 ||
      std::any_of(config.layer_precisions.begin(), config.layer_precisions.end(), wants);
  build.table = config.calibration;
  Require(build.table || !demanded, "int8 needs calibration",
          Error::Remedy{"give a calibration table or a calibrator"});
  if (!build.table) build.types.erase(ElementType::INT8);
  CheckQuantization(build);
  return build;
}

bool BuildContext::Skips(const std::string& pass) const {
  const std::vector<std::string>& skipped = config.skip_passes;
  return std::find(skipped.begin(), skipped.end(), pass) != skipped.end();
}

bool BuildContext::HasIntegersAlone() const {
  return target && config.precision == Precision::INT8 &&
         config.quantization.ArithmeticOrDefault() != Arithmetic::FLOAT;
}

Types BuildContext::TypesFor(const Node& node) const {
  for (const std::string& layer : NamesOfLayers(node)) {
    const auto said = config.layer_precisions.find(layer);
    if (said != config.layer_precisions.end()) return TypesOf(said->second, config);
  }
  const auto known = narrowed.find(node.name());
  if (known != narrowed.end()) return known->second;
  if (node.layer.has_forward_type()) {
    return {node.layer.forward_type() == FLOAT16 ? ElementType::FLOAT16 : ElementType::FLOAT};
  }
  return types;
}

Types BuildContext::LoweredTypesFor(const Node& node) const {
  if (node.integers) return {ElementType::INT8};
  Types wanted = TypesFor(node);
  if (HasIntegersAlone()) wanted.erase(ElementType::INT8);  // what has no integer form
  return wanted.empty() ? Types{ElementType::FLOAT} : wanted;
}

}  // namespace caffe::inference
