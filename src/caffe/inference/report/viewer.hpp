#ifndef CAFFE_INFERENCE_REPORT_VIEWER_HPP_
#define CAFFE_INFERENCE_REPORT_VIEWER_HPP_

#include <string>

#include "caffe/inference/graph.hpp"

// How pages show drawings of graphs: with zoom, by dragging, and with a search for layers.
namespace caffe::inference {

/// The style of drawings, also for programs without CSS variables.
extern const char kDrawingStyle[];
/// The marker that arrows end in, for the defs of one svg element of a page or file.
extern const char kArrowHead[];
/// The style sheet and the script of panels and of the search. The script defines
/// graphs.find(matches), which marks the boxes for which matches(box) is true, scrolls to the first
/// in each panel and returns how many there are. It has no less-than and no ampersand.
extern const char kViewerStyle[];
extern const char kViewerScript[];
/// The search of all panels of a page, and what became of it.
extern const char kGraphSearch[];

/// The graph as an svg element.
std::string DrawnGraph(const Graph& graph);

/// Drawings of which one is shown, with buttons above; `choice` is a select element that has an
/// option for each, "" for one drawing. `attributes` are further ones of the view.
std::string GraphPanel(const std::string& title, const std::string& choice,
                       const std::string& drawings, const std::string& attributes = "");

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_REPORT_VIEWER_HPP_
