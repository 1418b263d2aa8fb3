#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "../common/engine_building.hpp"
#include "caffe/util/text_table.hpp"
#include "commands.hpp"
#include "net_flags.hpp"

CAFFE_FLAG(bool, graph, false, "",
           "the graph as well: what each layer reads, and where blobs lie in memory");

namespace caffe {
namespace {

std::string ShapesText(const std::vector<Shape>& shapes) {
  std::string text;
  for (const Shape& shape : shapes) {
    text += text.empty() ? "" : ", ";
    for (size_t i = 0; i < shape.size(); ++i) text += Join(i == 0 ? "" : "x", shape[i]);
  }
  return text;
}

void PrintBindings(const inference::Graph& graph, const char* kind, const std::vector<int>& values,
                   std::ostream& out) {
  for (const int value : values) {
    out << kind << ' ' << graph.values[value].name << ": "
        << ShapesText({graph.values[value].shape}) << '\n';
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
    text += (text.empty() ? "" : ", ") + name + " " + ShapesText({shape});
  }
  return text;
}

void PrintLayers(const inference::Engine& engine, int profile, std::ostream& out) {
  TextTable table(
      {"layer", "type", "implementation", "precision", "makes", "time", "weights", "activations"},
      5);
  for (const inference::LayerInfo& layer : engine.layers(profile)) {
    table.Add({NameWithFused(layer), layer.type, layer.implementation, Name(layer.type_of_math),
               ShapesText(layer.tops), TimeText(layer.microseconds), BytesText(layer.weight_bytes),
               BytesText(layer.activation_bytes)});
  }
  table.Print(out);
}

int Inspect() {
  Require(!FLAGS_plan.empty(), "inspect needs a plan: -plan FILE");
  ChooseEngineDevice();
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
    if (FLAGS_graph) std::cout << '\n' << inference::ToText(*engine->graph(i));
  }
  return 0;
}

}  // namespace

Command InspectCommand() {
  Command command;
  command.name = "inspect";
  command.summary = "shows what a plan holds, and how its layers are computed";
  command.usage = {"-plan FILE [-json] [-graph]"};
  command.about =
      "A row for each layer in the order in which they run: what computes it, in which precision,\n"
      "the time that was measured when the plan was built, the memory of its weights and of what "
      "it\n"
      "makes. Layers that were fused into another one follow its name.\n";
  command.groups = {{"what is shown", "", {"plan", "json", "graph"}, ""}};
  command.examples =
      "  caffe inspect -plan lenet.plan\n"
      "  caffe inspect -plan lenet.plan -json > lenet.json\n";
  command.quiet = true;
  command.run = [](const std::vector<std::string>&) { return Inspect(); };
  return command;
}

}  // namespace caffe
