#include "caffe/inference/builder.hpp"

#include <algorithm>
#include <cmath>

#include "../error_context.hpp"
#include "caffe/error.hpp"
#include "precisions.hpp"

namespace caffe {
namespace inference {
namespace {

/// The net with the largest shapes that will be run.
Graph Shaped(Graph graph, const BuilderConfig& config) {
  Require(config.max_batch >= 0, "max_batch must not be negative, got ", config.max_batch);
  std::vector<Shape> shapes = InputShapes(graph, BatchOf(graph));
  if (config.max_batch > 0) {
    Require(BatchOf(graph) > 0, "max_batch: graph '", graph.name, "' has no input with a batch");
    shapes = InputShapes(graph, config.max_batch);
  }
  for (const auto& [name, shape] : config.max_input_shapes) {
    const int value = graph.FindValue(name);
    const auto input = std::find(graph.inputs.begin(), graph.inputs.end(), value);
    Require(value >= 0 && input != graph.inputs.end(), "max_input_shapes: the net has no input '",
            name, "'");
    shapes[input - graph.inputs.begin()] = shape;
  }
  if (shapes == InputShapes(graph, BatchOf(graph))) return graph;
  return WithInputShapes(std::move(graph), shapes);
}

/// What an input's values can be, from what is known of the normalized ones.
BlobCalibration Denormalized(const BlobCalibration& normalized,
                             const NetworkDefinition::Normalization& normalization) {
  const bool is_seen = normalized.minimum != 0 || normalized.maximum != 0;
  const double most = is_seen ? normalized.maximum : normalized.threshold;
  const double least = is_seen ? normalized.minimum : normalized.is_unsigned ? 0 : -most;
  const double ends[] = {least / normalization.scale, most / normalization.scale};
  BlobCalibration raw;
  raw.minimum = std::min(ends[0], ends[1]) + normalization.least_mean;
  raw.maximum = std::max(ends[0], ends[1]) + normalization.largest_mean;
  raw.threshold = std::max(std::fabs(raw.minimum), std::fabs(raw.maximum));
  raw.is_unsigned = raw.minimum >= -1e-6 * raw.threshold;  // but for rounding
  raw.method = "normalization";
  return raw;
}

/// A table of the net whose inputs were normalized before, for the net that does it itself.
void TakeNormalizations(const NetworkDefinition& net, CalibrationTable* table) {
  for (const NetworkDefinition::Normalization& normalization : net.normalizations()) {
    const BlobCalibration* found = table->Find(normalization.input);
    if (!found || table->Find(normalization.normalized)) continue;
    const BlobCalibration normalized = *found;
    table->Set(normalization.normalized, normalized);
    table->Set(normalization.input, Denormalized(normalized, normalization));
  }
}

/// Thresholds of the table, of the calibrator where no table is given, and on top of them the
/// ranges that the definition states; null without any.
std::shared_ptr<const CalibrationTable> CalibrationFor(const NetworkDefinition& net,
                                                       const BuilderConfig& config) {
  auto table = std::make_shared<CalibrationTable>();
  if (config.calibration) {
    *table = *config.calibration;
    TakeNormalizations(net, table.get());
  } else if (config.calibrator) {
    Net<float> run(ToNetParameter(net.graph()));
    *table = Calibrate(&run, config.calibrator.get(), config.calibration_options);
  }
  for (const std::string& blob : net.ranges().blobs()) table->Set(blob, net.ranges().At(blob));
  return table->blobs().empty() ? nullptr : table;
}

/// Whether 8-bit integers may be chosen for any layer.
bool MayTakeIntegers(const BuilderConfig& config) {
  const auto is = [](Precision precision) { return precision == Precision::INT8; };
  return is(config.precision) ||
         (config.precision == Precision::BEST &&
          std::any_of(config.allowed.begin(), config.allowed.end(), is)) ||
         std::any_of(config.layer_precisions.begin(), config.layer_precisions.end(),
                     [&](const auto& layer) { return is(layer.second); });
}

void CheckMemory(const Engine& engine, size_t most) {
  if (most == 0) return;
  const size_t weights = engine.weight_bytes(), activations = engine.activation_bytes();
  Require(weights + activations <= most, "max_memory: the engine needs ", weights,
          " bytes of weights and ", activations, " of activations, and may take ", most,
          ": build it for a smaller batch or in fewer bits");
}

std::shared_ptr<const Engine> BuildEngine(const NetworkDefinition& net, BuilderConfig config) {
  const Graph graph = Shaped(net.graph(), config);
  if (config.backend == Backend::REFERENCE) {
    return std::make_shared<const Engine>(
        Optimize(graph, config.skip_passes, config.pass_observer));
  }
  config.layer_precisions.insert(net.layer_precisions().begin(), net.layer_precisions().end());
  if (MayTakeIntegers(config)) config.calibration = CalibrationFor(net, config);
  return BuildLowered(graph, config);
}

}  // namespace

std::shared_ptr<const Engine> Builder::Build(const NetworkDefinition& net) const {
  const auto engine = WithMemoryErrors([&] { return "engine '" + net.name() + "'"; },
                                       [&] { return BuildEngine(net, config_); });
  CheckMemory(*engine, config_.max_memory);
  return engine;
}

}  // namespace inference
}  // namespace caffe
