#include "caffe/inference/builder.hpp"

#include <algorithm>

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

/// Thresholds of the table, of the calibrator where no table is given, and on top of them the
/// ranges that the definition states; null without any.
std::shared_ptr<const CalibrationTable> CalibrationFor(const NetworkDefinition& net,
                                                       const BuilderConfig& config) {
  auto table = std::make_shared<CalibrationTable>();
  if (config.calibration) {
    *table = *config.calibration;
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

}  // namespace

std::shared_ptr<const Engine> Builder::Build(const NetworkDefinition& net) const {
  const Graph graph = Shaped(net.graph(), config_);
  std::shared_ptr<const Engine> engine;
  if (config_.backend == Backend::REFERENCE) {
    engine =
        std::make_shared<const Engine>(Optimize(graph, config_.skip_passes, config_.pass_observer));
  } else {
    BuilderConfig config = config_;
    config.layer_precisions.insert(net.layer_precisions().begin(), net.layer_precisions().end());
    if (MayTakeIntegers(config)) config.calibration = CalibrationFor(net, config);
    engine = BuildForCpu(graph, config);
  }
  CheckMemory(*engine, config_.max_memory);
  return engine;
}

}  // namespace inference
}  // namespace caffe
