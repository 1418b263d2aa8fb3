#include "drawing.hpp"

#include <algorithm>
#include <map>

#include "caffe/inference/graph/regions.hpp"
#include "caffe/util/plot/svg.hpp"
#include "caffe/util/string_stream.hpp"
#include "caffe/util/text/shape_text.hpp"
#include "format.hpp"

namespace caffe::inference {
namespace {

constexpr size_t kMaxLetters = 42;
constexpr double kLetterWidth = 6.4, kBoxHeight = 36, kPadding = 14;

std::string Shortened(const std::string& text) { return ShortenedInTheMiddle(text, kMaxLetters); }

Box MakeBox(const std::string& name, const std::string& subtitle, const std::string& look) {
  Box box;
  box.name = name;
  box.subtitle = subtitle;
  box.look = look;
  const size_t letters = std::max(Shortened(name).size(), Shortened(subtitle).size());
  box.width = kPadding + kLetterWidth * static_cast<double>(letters);
  box.height = kBoxHeight;
  return box;
}

std::string TypesOf(const Node& node) {
  std::string text = node.type();
  for (const Epilogue& step : node.epilogue) text += " + " + step.layer.type();
  return text;
}

std::string TipOf(const Graph& graph, const Node& node) {
  std::string text = node.name() + ": " + TypesOf(node);
  for (const Epilogue& step : node.epilogue) text += "\nwith " + step.layer.name();
  for (const int output : node.outputs) {
    const Value& value = graph.values[output];
    text += "\n" + value.name + ": " + ShapeText(value.shape) + " " + Name(value.type);
  }
  if (!node.implementation.empty()) {
    text += "\n" + node.implementation + " in " + Name(node.math);
  }
  if (node.microseconds > 0) text += "\n" + Short(node.microseconds) + " us";
  return text;
}

/// Adds a graph's parts to a drawing.
class Drawer {
 public:
  Drawer(const Graph& graph, Drawing* drawing) : graph_(graph), drawing_(*drawing) {}

  void Run() {
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const bool constant = graph_.values[i].is_constant();
      if (constant || graph_.IsInput(i)) AddSource(i, constant ? "constant" : "input");
    }
    for (const Node& node : graph_.nodes) longest_ = std::max(longest_, node.microseconds);
    for (const Node& node : graph_.nodes) AddNode(node);
    for (const int output : graph_.outputs) {
      drawing_.boxes.push_back(MakeBox(graph_.values[output].name, "output", "end"));
      Connect(output);
    }
  }

 private:
  void AddSource(int value, const std::string& what) {
    made_by_[value] = static_cast<int>(drawing_.boxes.size());
    drawing_.boxes.push_back(MakeBox(graph_.values[value].name,
                                     what + " " + ShapeText(graph_.values[value].shape),
                                     "end " + what));
  }

  void AddNode(const Node& node) {
    const int number = static_cast<int>(drawing_.boxes.size());
    std::string subtitle = TypesOf(node);
    if (!node.outputs.empty()) {
      subtitle += " " + ShapeText(graph_.values[node.outputs[0]].shape);
    }
    Box box = MakeBox(node.name(), subtitle, IsFree(graph_, node) ? "free" : LookOf(node.math));
    box.tip = TipOf(graph_, node);
    if (longest_ > 0) box.share = node.microseconds / longest_;
    drawing_.boxes.push_back(box);
    for (const int read : node.Reads()) Connect(read);
    for (const int output : node.outputs) made_by_[output] = number;
  }

  /// An arrow from what makes `value` to the last box.
  void Connect(int value) {
    const int to = static_cast<int>(drawing_.boxes.size()) - 1;
    const auto from = made_by_.find(value);
    if (from == made_by_.end()) return;
    const Value& carried = graph_.values[value];
    const std::string tip = carried.name + ": " + ShapeText(carried.shape);
    for (Arrow& arrow : drawing_.arrows) {
      if (arrow.from != from->second || arrow.to != to) continue;
      arrow.tip += "\n" + tip;
      return;
    }
    drawing_.arrows.push_back({from->second, to, tip, {}});
  }

  const Graph& graph_;
  Drawing& drawing_;
  std::map<int, int> made_by_;  // values to boxes
  float longest_ = 0;
};

void DrawArrow(const Arrow& arrow, std::ostream& out) {
  if (arrow.curve.empty()) return;
  out << "<path class=\"arrow\" marker-end=\"url(#head)\" d=\"M" << arrow.curve[0].x << ' '
      << arrow.curve[0].y << " C";
  for (size_t i = 1; i < arrow.curve.size(); ++i) {
    out << ' ' << arrow.curve[i].x << ' ' << arrow.curve[i].y;
  }
  out << "\"><title>" << SvgEscaped(arrow.tip) << "</title></path>\n";
}

void DrawBox(const Box& box, std::ostream& out) {
  const double left = box.x - box.width / 2, top = box.y - box.height / 2;
  out << "<g class=\"node " << box.look << "\" data-name=\"" << SvgEscaped(box.name) << "\"><title>"
      << SvgEscaped(box.tip.empty() ? box.name : box.tip) << "</title><rect x=\"" << left
      << "\" y=\"" << top << "\" width=\"" << box.width << "\" height=\"" << box.height
      << "\" rx=\"" << (box.look.rfind("end", 0) == 0 ? box.height / 2 : 4) << "\"/>";
  if (box.share > 0) {
    out << "<rect class=\"share\" x=\"" << left << "\" y=\"" << top + box.height - 4
        << "\" width=\"" << box.width * std::min(1.0, box.share) << "\" height=\"4\"/>";
  }
  out << "<text class=\"name\" x=\"" << box.x << "\" y=\"" << box.y - 4 << "\">"
      << SvgEscaped(Shortened(box.name)) << "</text><text x=\"" << box.x << "\" y=\"" << box.y + 9
      << "\">" << SvgEscaped(Shortened(box.subtitle)) << "</text></g>\n";
}

}  // namespace

Drawing DrawingOf(const Graph& graph) {
  Drawing drawing;
  Drawer(graph, &drawing).Run();
  return drawing;
}

std::string ToSvg(const Drawing& drawing) {
  StringWriter out;
  out.precision(6);
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"drawing\" width=\"" << drawing.width
      << "\" height=\"" << drawing.height << "\" viewBox=\"0 0 " << drawing.width << ' '
      << drawing.height << "\">\n";
  for (const Arrow& arrow : drawing.arrows) DrawArrow(arrow, out);
  for (const Box& box : drawing.boxes) DrawBox(box, out);
  out << "</svg>\n";
  return out.str();
}

}  // namespace caffe::inference
