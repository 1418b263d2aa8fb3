#ifndef CAFFE_INFERENCE_GRAPH_DRAWING_HPP_
#define CAFFE_INFERENCE_GRAPH_DRAWING_HPP_

#include <string>

#include "caffe/inference/graph.hpp"

namespace caffe::inference {

// Drawings of a graph: a box for each node, in the colour of the type that it computes in, with a
// line at its foot for its time as a share of the longest; boxes for inputs, constants and outputs.
// Graphviz finds the places where it is installed and the graph has at most 700 boxes.

/// An SVG file.
std::string GraphAsSvg(const Graph& graph);

/// A self-contained page on which the drawing can be zoomed, moved and searched; it starts at the
/// first input. It is XHTML too.
std::string GraphAsHtml(const Graph& graph, const std::string& title);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_GRAPH_DRAWING_HPP_
