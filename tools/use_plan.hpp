#ifndef CAFFE_TOOLS_USE_PLAN_HPP_
#define CAFFE_TOOLS_USE_PLAN_HPP_

#include <gflags/gflags.h>

#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "caffe/inference/latency.hpp"
#include "engine_building.hpp"

// The commands inspect and time, on a plan.

DEFINE_string(plan, "",
              "build: the plan to write; inspect, time, test, infer, compare: a plan to read.");
DEFINE_bool(graph, false, "inspect: print the graph as well.");
DEFINE_int32(batch, 0, "time: items a run; 0: the largest batch that the plan is built for.");

DECLARE_bool(json);
DECLARE_int32(iterations);

namespace caffe {

const char kInspectUsage[] =
    R"(caffe inspect: what a plan holds, and how its layers are computed.

usage: caffe inspect -plan FILE [-json] [-graph]

A row for each layer in the order in which they run: what computes it, in which precision, the time
that was measured when the plan was built, the memory of its weights and of what it makes. Layers
that were fused into another one follow its name.

  -plan FILE   a plan that caffe build has written
  -gpu N       the GPU that it was built on, if it was (default 0)
  -json        JSON instead of the table
  -graph       the graph as well: what each layer reads, and where blobs lie in memory

example:
  caffe inspect -plan lenet.plan
  caffe inspect -plan lenet.plan -json > lenet.json
)";

namespace use_plan {

inline std::string ShapesText(const std::vector<Shape>& shapes) {
  std::string text;
  for (const Shape& shape : shapes) {
    text += text.empty() ? "" : ", ";
    for (size_t i = 0; i < shape.size(); ++i) text += Join(i == 0 ? "" : "x", shape[i]);
  }
  return text;
}

inline void PrintBindings(const inference::Graph& graph, const char* kind,
                          const std::vector<int>& values, std::ostream& out) {
  for (const int value : values) {
    out << kind << ' ' << graph.values[value].name << ": "
        << ShapesText({graph.values[value].shape}) << '\n';
  }
}

inline std::string NameWithFused(const inference::LayerInfo& layer) {
  std::string name = layer.name;
  for (const std::string& fused : layer.also) name += " + " + fused;
  return name;
}

inline void PrintLayers(const inference::Engine& engine, std::ostream& out) {
  TextTable table(
      {"layer", "type", "implementation", "precision", "makes", "time", "weights", "activations"},
      5);
  for (const inference::LayerInfo& layer : engine.layers()) {
    table.Add({NameWithFused(layer), layer.type, layer.implementation, Name(layer.type_of_math),
               ShapesText(layer.tops), TimeText(layer.microseconds), BytesText(layer.weight_bytes),
               BytesText(layer.activation_bytes)});
  }
  table.Print(out);
}

inline std::string Milliseconds(double value) { return ThreeDigits(value) + " ms"; }

inline void PrintTimes(const inference::Engine& engine, const inference::LayerTimes& times,
                       std::ostream& out) {
  std::map<std::string, inference::LayerInfo> known;
  for (const inference::LayerInfo& layer : engine.layers()) known[layer.name] = layer;
  TextTable table({"layer", "type", "implementation", "precision", "median", "mean", "share"}, 4);
  const double total = times.Total();
  for (const auto& layer : times.layers()) {
    const inference::LayerInfo& info = known[layer.name];
    table.Add({layer.name, info.type, info.implementation, Name(info.type_of_math),
               TimeText(1000 * layer.times.Median()), TimeText(1000 * layer.times.Mean()),
               PercentText(total > 0 ? layer.times.Total() / total : 0)});
  }
  table.Print(out);
}

}  // namespace use_plan

/// The command inspect.
inline int InspectPlan() {
  using namespace use_plan;
  const auto engine = inference::Engine::Load(FLAGS_plan);
  if (FLAGS_json) {
    std::cout << engine->ToJson();
    return 0;
  }
  const inference::Graph& graph = *engine->graph();
  std::cout << "engine '" << engine->name() << "': largest batch " << engine->max_batch() << ", "
            << BytesText(engine->weight_bytes()) << " of weights, "
            << BytesText(engine->activation_bytes()) << " of activations\n";
  PrintBindings(graph, "input", graph.inputs, std::cout);
  PrintBindings(graph, "output", graph.outputs, std::cout);
  std::cout << '\n';
  PrintLayers(*engine, std::cout);
  if (FLAGS_graph) std::cout << '\n' << inference::ToText(graph);
  return 0;
}

/// The command time, on a plan.
inline int TimePlan() {
  using namespace use_plan;
  const auto engine = inference::Engine::Load(FLAGS_plan);
  inference::LoadOptions options;
  options.batch = FLAGS_batch;
  options.iterations = FLAGS_iterations;
  options.warm_up_ms = 200;
  const inference::LoadResult result = inference::MeasureLoad(engine, options);
  const inference::Latencies& latency = result.latency;
  std::cout << "engine '" << engine->name() << "', batch " << result.batch << ", "
            << latency.count() << " runs\n"
            << "latency:    min " << Milliseconds(latency.Min()) << ", mean "
            << Milliseconds(latency.Mean()) << ", median " << Milliseconds(latency.Median())
            << ", 99% " << Milliseconds(latency.Percentile(99)) << '\n'
            << "throughput: " << ThreeDigits(result.PerSecond()) << " items/s\n\n";
  // Apart, as looking at each layer takes time of its own.
  options.profile = true;
  options.warm_up_ms = 0;
  PrintTimes(*engine, inference::MeasureLoad(engine, options).layers, std::cout);
  return 0;
}

}  // namespace caffe

#endif  // CAFFE_TOOLS_USE_PLAN_HPP_
