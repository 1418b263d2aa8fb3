#ifndef CAFFE_INFERENCE_REPORT_DRAWING_HPP_
#define CAFFE_INFERENCE_REPORT_DRAWING_HPP_

#include <string>
#include <vector>

#include "caffe/inference/graph.hpp"

namespace caffe::inference {

struct Point {
  double x = 0, y = 0;
};

/// A rectangle with text, in pixels; x and y are its middle.
struct Box {
  std::string name;      ///< what a search finds
  std::string subtitle;  ///< the second line
  std::string tip;       ///< shown when the mouse rests on it
  std::string look;      ///< classes of kDrawingStyle: "end input"
  double share = 0;      ///< of a bar at its foot, 0 to 1
  double width = 0, height = 0;
  double x = 0, y = 0;
};

/// From one box to another, later one: a Bezier curve of 3 n + 1 points.
struct Arrow {
  int from = 0, to = 0;
  std::string tip;
  std::vector<Point> curve;
};

/// Boxes in topological order.
struct Drawing {
  std::vector<Box> boxes;
  std::vector<Arrow> arrows;  ///< at most one from a box to another
  double width = 0, height = 0;
};

/// The parts of a graph, without positions: inputs, constants, nodes and outputs.
Drawing DrawingOf(const Graph& graph);

/// Puts boxes into rows, each below those that it follows, and bends arrows around those between.
void PlaceInRows(Drawing* drawing);

/// Lets Graphviz place them; returns false, and changes nothing, if it is not installed.
bool PlaceByGraphviz(Drawing* drawing);

/// An svg element with a group of class "node" for each box, whose attribute data-name is its name.
std::string ToSvg(const Drawing& drawing);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_REPORT_DRAWING_HPP_
