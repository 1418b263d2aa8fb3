#include <map>

#include "drawing.hpp"
#include "html.hpp"
#include "sections.hpp"

namespace caffe {
namespace inference {
namespace {

constexpr size_t kMostForGraphviz = 700;  // boxes; it takes minutes for some larger graphs

std::string Picture(const Graph& graph) {
  Drawing drawing = DrawingOf(graph);
  if (drawing.boxes.size() > kMostForGraphviz || !PlaceByGraphviz(&drawing)) PlaceInRows(&drawing);
  return ToSvg(drawing);
}

/// The engine's graph with the times that were measured of its layers.
Graph WithTimes(const EngineResult& engine) {
  Graph graph = *engine.graph;
  std::map<std::string, double> times;
  for (const LayerInfo& layer : engine.layers) times[layer.name] = layer.microseconds;
  for (Node& node : graph.nodes) node.microseconds = static_cast<float>(times[node.name()]);
  return graph;
}

std::string Panel(const std::string& title, const std::string& choice,
                  const std::string& pictures) {
  const std::string tools =
      Tag("h3", title) + choice + "<button data-zoom=\"0.8\" aria-label=\"smaller\">-</button>" +
      "<button data-zoom=\"1.25\" aria-label=\"larger\">+</button><button>fit</button>";
  return Tag("div", "class=\"panel\"",
             Tag("div", "class=\"bar-of-tools\"", tools) + Tag("div", "class=\"view\"", pictures));
}

std::string Counted(const std::string& what, const Graph& graph) {
  return what + ": " + std::to_string(graph.nodes.size()) + " layers";
}

}  // namespace

std::string GraphsSection(const BuildReport& report) {
  std::string options, pictures;
  for (const EngineResult& engine : report.engines) {
    if (!engine.graph) continue;
    options += Tag("option", SvgEscaped(Counted(engine.name, *engine.graph)));
    pictures += Picture(WithTimes(engine));
  }
  return Panel(Counted("Before", report.before), "", Picture(report.before)) +
         Panel("After", Tag("select", "aria-label=\"precision\"", options), pictures);
}

}  // namespace inference
}  // namespace caffe
