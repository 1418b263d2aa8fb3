#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "../common/engine_building.hpp"
#include "caffe/inference/report/graph_drawing.hpp"
#include "caffe/util/text/shape_text.hpp"
#include "caffe/util/text/text_table.hpp"
#include "commands.hpp"
#include "input_flags.hpp"
#include "net_flags.hpp"

CAFFE_FLAG(string, graph, "", "[FILE]",
           "the graph as well: what each layer reads, and where blobs lie in memory; with FILE a "
           "drawing of it, .svg, or .html with zoom and search");

namespace caffe {
namespace {

void PrintBindings(const inference::Graph& graph, const char* kind, const std::vector<int>& values,
                   std::ostream& out) {
  for (const int value : values) {
    out << kind << ' ' << graph.values[value].name << ": " << ShapeText(graph.values[value].shape)
        << '\n';
  }
}

std::string NameWithFused(const inference::LayerInfo& layer) {
  std::string name = layer.name;
  for (const std::string& fused : layer.also) name += " + " + fused;
  return name;
}

std::string NamedShapes(const std::map<std::string, Shape>& shapes) {
  std::string text;
  for (const auto& [name, shape] : shapes) {
    text += (text.empty() ? "" : ", ") + name + " " + ShapeText(shape);
  }
  return text;
}

void PrintLayers(const inference::Engine& engine, int profile, std::ostream& out) {
  TextTable table(
      {"layer", "type", "implementation", "precision", "makes", "time", "weights", "activations"},
      5);
  for (const inference::LayerInfo& layer : engine.layers(profile)) {
    table.Add({NameWithFused(layer), layer.type, layer.implementation, layer.precision(),
               ShapesText(layer.tops), TimeText(layer.microseconds), BytesText(layer.weight_bytes),
               BytesText(layer.activation_bytes)});
  }
  table.Print(out);
}

enum class GraphFormat { NONE, TEXT, SVG, HTML };

GraphFormat GraphFormatOf(const std::string& flag) {
  if (flag.empty() || flag == "false") return GraphFormat::NONE;
  if (flag == kGivenWithoutValue) return GraphFormat::TEXT;
  const std::string extension = std::filesystem::path(flag).extension().string();
  if (extension == ".svg") return GraphFormat::SVG;
  if (extension == ".html" || extension == ".htm") return GraphFormat::HTML;
  Fail(Error::Field{"-graph"}, " ", flag, ": a drawing is written as .svg or .html");
}

int Inspect() {
  Require(!FLAGS_plan.empty(), "inspect needs a plan: -plan FILE");
  const GraphFormat format = GraphFormatOf(FLAGS_graph);
  const bool draws = format == GraphFormat::SVG || format == GraphFormat::HTML;
  if (draws) {
    RequireOtherFiles({{"-graph", FLAGS_graph}}, {{"-plan", FLAGS_plan}});
    RequireWritable(FLAGS_graph);
  }
  ChooseEngineDevice();
  const auto engine = inference::Engine::Load(FLAGS_plan);
  if (draws) {
    const std::string title = engine->name().empty() ? FLAGS_plan : engine->name();
    WriteText(format == GraphFormat::SVG ? inference::GraphAsSvg(*engine->graph())
                                         : inference::GraphAsHtml(*engine->graph(), title),
              FLAGS_graph);
    std::cerr << "wrote " << FLAGS_graph << '\n';
  }
  if (FLAGS_json) {
    std::cout << engine->ToJson();
    return 0;
  }
  const inference::Graph& graph = *engine->graph();
  std::cout << "engine '" << engine->name() << "': largest batch " << engine->max_batch() << ", "
            << BytesText(engine->weight_bytes()) << " of weights, "
            << BytesText(engine->activation_bytes()) << " of activations";
  if (engine->tuned_threads() > 0) {
    std::cout << ", tuned for " << ThreadsText(engine->tuned_threads());
  }
  std::cout << '\n';
  PrintBindings(graph, "input", graph.inputs, std::cout);
  PrintBindings(graph, "output", graph.outputs, std::cout);
  if (engine->preprocessing()) {
    std::cout << "images for " << ToText(*engine->preprocessing(), graph) << '\n';
  }
  if (!engine->class_names().empty()) {
    std::cout << "class names: " << engine->class_names().size() << '\n';
  }
  const std::vector<inference::ShapeProfile> profiles = engine->profiles();
  for (size_t i = 0; i < profiles.size(); ++i) {
    std::cout << "profile " << i << ": from " << NamedShapes(profiles[i].min) << " to "
              << NamedShapes(profiles[i].max) << ", tuned for " << NamedShapes(profiles[i].opt)
              << '\n';
  }
  for (int i = 0; i < engine->num_graphs(); ++i) {
    std::cout << '\n';
    if (engine->num_graphs() > 1) std::cout << "profile " << i << ":\n";
    PrintLayers(*engine, i, std::cout);
    if (format == GraphFormat::TEXT) std::cout << '\n' << inference::ToText(*engine->graph(i));
  }
  return 0;
}

}  // namespace

Command InspectCommand() {
  Command command;
  command.name = "inspect";
  command.summary = "shows what a plan holds, and how its layers are computed";
  command.usage = {"-plan FILE [-json] [-graph [FILE]]"};
  command.about =
      "A row for each layer in the order in which they run: what computes it, in which precision,\n"
      "the time that was measured when the plan was built, the memory of its weights and of what "
      "it\n"
      "makes. Layers that were fused into another one follow its name.\n";
  command.groups = {{"what is shown", "", {"plan", "json", "graph"}, ""}};
  command.examples =
      "  caffe inspect -plan lenet.plan\n"
      "  caffe inspect -plan lenet.plan -json > lenet.json\n"
      "  caffe inspect -plan lenet.plan -graph lenet.html\n";
  command.quiet = true;
  command.run = [](const std::vector<std::string>&) { return Inspect(); };
  return command;
}

}  // namespace caffe
