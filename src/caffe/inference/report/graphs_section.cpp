#include <map>

#include "html.hpp"
#include "sections.hpp"
#include "viewer.hpp"

namespace caffe::inference {
namespace {

/// The engine's graph with the times that were measured of its layers.
Graph WithTimes(const EngineResult& engine) {
  Graph graph = *engine.graph;
  std::map<std::string, double> times;
  for (const LayerInfo& layer : engine.layers) times[layer.name] = layer.microseconds;
  for (Node& node : graph.nodes) node.microseconds = static_cast<float>(times[node.name()]);
  return graph;
}

std::string Counted(const std::string& what, const Graph& graph) {
  return what + ": " + std::to_string(graph.nodes.size()) + " layers";
}

}  // namespace

std::string GraphsSection(const BuildReport& report) {
  std::string options, drawings;
  for (const EngineResult& engine : report.engines) {
    if (!engine.graph) continue;
    options += Tag("option", SvgEscaped(Counted(engine.name, *engine.graph)));
    drawings += DrawnGraph(WithTimes(engine));
  }
  return GraphPanel(Counted("Before", report.before), "", DrawnGraph(report.before)) +
         GraphPanel("After", Tag("select", "aria-label=\"precision\"", options), drawings);
}

}  // namespace caffe::inference
