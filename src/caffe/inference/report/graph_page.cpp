// One graph by itself, as a file.
#include "caffe/inference/report/graph_drawing.hpp"
#include "html.hpp"
#include "viewer.hpp"

namespace caffe::inference {
namespace {

const char kGraphPage[] = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>{{title}}</title>
<style>
:root { --line: #dde3ea; --paper: #fff; }
* { box-sizing: border-box; }
body { margin: 0; padding: 10px 14px; height: 100vh; display: flex; flex-direction: column;
  color: #1d2733; background: #f4f6f9;
  font: 14px/1.45 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h3 { font-size: 15px; margin: 0; }
header { display: flex; gap: 12px; align-items: center; margin-bottom: 6px; }
.small { color: #667585; font-size: 12px; }
#hits { white-space: nowrap; }
.panel { flex: 1; min-height: 0; display: flex; flex-direction: column; }
{{viewer_style}}
.view { flex: 1; height: auto; min-height: 0; }
{{drawing_style}}
</style>
</head>
<body>
<svg class="hidden" xmlns="http://www.w3.org/2000/svg"><defs>{{arrow_head}}</defs></svg>
<header>{{search}}<span class="small">The wheel zooms, dragging moves. The colour of a box is the type that
the layer computes in; the red line at its foot is its time, as a share of the longest. A dashed box
has nothing to do.</span></header>
{{panel}}
<script>{{script}}</script>
</body>
</html>
)html";

}  // namespace

std::string GraphAsSvg(const Graph& graph) {
  std::string svg = DrawnGraph(graph);
  const size_t inside = svg.find('>') + 1;
  return svg.insert(inside, Tag("style", kDrawingStyle) + Tag("defs", kArrowHead) +
                                Tag("rect", "class=\"paper\" width=\"100%\" height=\"100%\"", ""));
}

std::string GraphAsHtml(const Graph& graph, const std::string& title) {
  return Filled(kGraphPage,
                {{"title", SvgEscaped(title)},
                 {"viewer_style", kViewerStyle},
                 {"drawing_style", kDrawingStyle},
                 {"arrow_head", kArrowHead},
                 {"search", kGraphSearch},
                 {"panel", GraphPanel(title, "", DrawnGraph(graph), "data-wheel=\"zoom\"")},
                 {"script", kViewerScript}});
}

}  // namespace caffe::inference
