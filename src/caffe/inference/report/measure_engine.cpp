#include <algorithm>

#include "caffe/error.hpp"
#include "caffe/inference/evaluation/latency.hpp"
#include "caffe/inference/report/build_report.hpp"
#include "caffe/util/system/energy_counter.hpp"

namespace caffe::inference {
namespace {

LoadOptions LoadOf(int batch, const MeasurementOptions& options) {
  LoadOptions load;
  load.batch = batch;
  load.iterations = options.least_passes;
  load.seconds = options.seconds;
  return load;
}

void MeasureLatency(const std::shared_ptr<const Engine>& engine, const MeasurementOptions& options,
                    EngineResult* result) {
  try {
    result->latency_batch = 1;
    result->latency_ms = MeasureLoad(engine, LoadOf(1, options)).latency.Median();
  } catch (const Error&) {  // a net whose layers do not take a single image
    result->latency_batch = result->batch;
    result->latency_ms = MeasureLoad(engine, LoadOf(result->batch, options)).latency.Median();
  }
}

void MeasureThroughput(const std::shared_ptr<const Engine>& engine,
                       const MeasurementOptions& options, EngineResult* result) {
  const EnergyCounter energy;
  const LoadResult load = MeasureLoad(engine, LoadOf(result->batch, options));
  const auto joules = energy.Joules();
  result->images_per_second = 1000 * result->batch / load.latency.Median();
  // Counts the timed passes; the energy of the warm-up pass is negligible.
  if (joules && *joules > 0) result->images_per_joule = load.latency.count() * load.batch / *joules;
}

/// Layers that were not reported keep their times.
void MeasureLayers(const std::shared_ptr<const Engine>& engine, const MeasurementOptions& options,
                   EngineResult* result) {
  LoadOptions profiled = LoadOf(result->batch, options);
  profiled.profile = true;
  const LoadResult load = MeasureLoad(engine, profiled);
  for (const LayerTimes::Layer& timed : load.layers.layers()) {
    for (LayerInfo& layer : result->layers) {
      if (layer.name == timed.name) layer.microseconds = 1000 * timed.times.Median();
    }
  }
}

}  // namespace

EngineResult MeasureEngine(const std::string& name, const std::shared_ptr<const Engine>& engine,
                           const MeasurementOptions& options) {
  EngineResult result;
  result.name = name;
  result.graph = engine->graph();
  result.layers = engine->layers();
  result.weight_bytes = engine->weight_bytes();
  result.activation_bytes = engine->activation_bytes();
  result.batch = std::max(1, engine->max_batch());
  MeasureLatency(engine, options, &result);
  MeasureThroughput(engine, options, &result);
  MeasureLayers(engine, options, &result);
  return result;
}

}  // namespace caffe::inference
