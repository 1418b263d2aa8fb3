#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <random>

#include "caffe/error.hpp"
#include "caffe/inference/build_report.hpp"
#include "caffe/util/energy_counter.hpp"

namespace caffe {
namespace inference {
namespace {

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

void FillByChance(ExecutionContext* context) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> value(0, 1);
  for (const std::string& name : context->engine().inputs()) {
    float* input = context->Input(name);
    std::generate_n(input, CountOf(context->InputShape(name)), [&] { return value(random); });
  }
}

/// Runs batches of `batch` from now on, with inputs.
void Prepare(int batch, const MeasurementOptions& options, ExecutionContext* context) {
  if (batch != context->batch()) context->SetBatch(batch);
  options.fill ? options.fill(context) : FillByChance(context);
}

/// Milliseconds of passes, after one that does not count.
std::vector<double> TimesOfPasses(const MeasurementOptions& options, ExecutionContext* context) {
  context->Run();
  std::vector<double> times;
  const auto start = std::chrono::steady_clock::now();
  while (static_cast<int>(times.size()) < options.least_passes ||
         SecondsSince(start) < options.seconds) {
    const auto pass = std::chrono::steady_clock::now();
    context->Run();
    times.push_back(1000 * SecondsSince(pass));
  }
  return times;
}

class LayerTimes : public Profiler {
 public:
  void ReportLayerTime(const std::string& layer, double milliseconds) override {
    times_[layer].push_back(1000 * milliseconds);
  }
  /// The median; what was not reported keeps what it had.
  void Write(std::vector<LayerInfo>* layers) const {
    for (LayerInfo& layer : *layers) {
      const auto found = times_.find(layer.name);
      if (found != times_.end()) layer.microseconds = Median(found->second);
    }
  }

 private:
  std::map<std::string, std::vector<double>> times_;
};

/// Nets whose layers do not take one picture alone are measured with all.
int SmallestBatch(const Engine& engine, ExecutionContext* context) {
  if (engine.max_batch() <= 1) return engine.max_batch();
  try {
    context->SetBatch(1);
    return 1;
  } catch (const Error&) {
    context->SetBatch(engine.max_batch());
    return engine.max_batch();
  }
}

void MeasureThroughput(const MeasurementOptions& options, ExecutionContext* context,
                       EngineResult* result) {
  const EnergyCounter energy;
  const auto start = std::chrono::steady_clock::now();
  const std::vector<double> times = TimesOfPasses(options, context);
  const double images = static_cast<double>(result->batch);
  result->images_per_second = 1000 * images / Median(times);
  const auto joules = energy.Joules();
  if (!joules || *joules <= 0) return;
  // The pass that does not count took energy too: what is measured is a rate.
  result->images_per_joule = result->images_per_second * SecondsSince(start) / *joules;
}

/// The largest difference over the largest magnitude; nothing where shapes differ.
std::optional<double> Difference(const std::string& output, ExecutionContext* reference,
                                 ExecutionContext* other) {
  if (reference->OutputShape(output) != other->OutputShape(output)) return std::nullopt;
  const float* expected = reference->Output(output);
  const float* actual = other->Output(output);
  double largest = 0, difference = 0;
  for (size_t i = 0; i < CountOf(reference->OutputShape(output)); ++i) {
    largest = std::max(largest, std::abs(double(expected[i])));
    const double off = std::abs(double(actual[i]) - expected[i]);
    difference = off <= difference ? difference : off;  // NaN stays
  }
  return largest > 0 ? difference / largest : difference;
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

  ExecutionContext context(engine);
  result.latency_batch = SmallestBatch(*engine, &context);
  Prepare(result.latency_batch, options, &context);
  result.latency_ms = Median(TimesOfPasses(options, &context));
  Prepare(engine->max_batch(), options, &context);
  MeasureThroughput(options, &context, &result);
  LayerTimes times;
  context.SetProfiler(&times);
  TimesOfPasses(options, &context);
  times.Write(&result.layers);
  return result;
}

std::optional<double> OutputError(const std::shared_ptr<const Engine>& reference,
                                  const std::shared_ptr<const Engine>& engine,
                                  const MeasurementOptions& options) {
  const int batch = std::min(reference->max_batch(), engine->max_batch());
  ExecutionContext expected(reference), actual(engine);
  for (ExecutionContext* context : {&expected, &actual}) {
    Prepare(batch, options, context);
    context->Run();
  }
  std::optional<double> largest;
  for (const std::string& output : reference->outputs()) {
    const auto difference = Difference(output, &expected, &actual);
    if (difference && !(largest && *largest >= *difference)) largest = difference;
  }
  return largest;
}

}  // namespace inference
}  // namespace caffe
