
#include "caffe/inference/graph.hpp"
#include "caffe/util/string_stream.hpp"
#include "caffe/util/text/listed.hpp"
#include "caffe/util/text/shape_text.hpp"
#include "regions.hpp"

namespace caffe::inference {
namespace {

std::string Names(const Graph& graph, const std::vector<int>& values) {
  std::vector<std::string> names;
  for (const int value : values) names.push_back(graph.values[value].name);
  return Listed(names);
}

std::string ParametersOf(const std::vector<Constant>& parameters) {
  if (parameters.empty()) return "";
  std::vector<std::string> shapes;
  for (const Constant& parameter : parameters) shapes.push_back(ShapeText(parameter.shape));
  return " [" + Listed(shapes) + "]";
}

std::string EpilogueOf(const Graph& graph, const Node& node) {
  std::string text;
  for (const Epilogue& step : node.epilogue) {
    text += " + " + step.layer.type();
    if (step.operand >= 0) text += "(" + graph.values[step.operand].name + ")";
    text += ParametersOf(step.parameters);
  }
  return text;
}

std::string Described(const Graph& graph, int id) {
  const Value& value = graph.values[id];
  StringWriter text;
  text << ShapeText(value.shape);
  if (value.type != ElementType::FLOAT) text << " " << Name(value.type);
  if (value.type == ElementType::INT8 || value.type == ElementType::UINT8) {
    text << "(scale " << value.affine.scale << ", zero " << value.affine.zero_point << ")";
  }
  if (value.layout == Layout::CHANNELS_LAST) text << " channels last";
  if (value.layout == Layout::CHANNELS_BLOCKED) text << " channels blocked";
  if (value.view.base >= 0) {
    const Value& base = graph.values[value.view.base];
    text << " in " << base.name;
    if (CountOf(base.shape) != CountOf(value.shape)) {
      text << " axis " << value.view.axis << " from " << value.view.offset;
    }
  }
  if (value.arena_offset >= 0) text << " at " << value.arena_offset;
  return text.str();
}

std::string DotQuoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace

std::string ToText(const Graph& graph) {
  StringWriter text;
  text << "graph '" << graph.name << "': " << graph.nodes.size() << " nodes";
  if (graph.arena_bytes > 0) text << ", " << graph.arena_bytes << " bytes of activations";
  text << '\n';
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const int input = graph.inputs[i];
    text << "input " << graph.values[input].name << ": " << Described(graph, input);
    if (!graph.min_inputs.empty()) {
      text << ", from " << ShapeText(graph.min_inputs[i]) << " on, tuned for "
           << ShapeText(graph.opt_inputs[i]);
    }
    text << '\n';
  }
  for (size_t i = 0; i < graph.values.size(); ++i) {
    if (!graph.values[i].is_constant()) continue;
    text << "constant " << graph.values[i].name << ": " << Described(graph, i) << '\n';
  }
  for (const Node& node : graph.nodes) {
    text << node.name() << " = " << node.type() << "(" << Names(graph, node.inputs) << ")"
         << ParametersOf(node.parameters) << EpilogueOf(graph, node);
    if (IsFree(graph, node)) text << ", nothing to do";
    if (!node.implementation.empty()) text << " by " << node.implementation;
    const char* separator = " -> ";
    for (const int output : node.outputs) {
      text << separator << graph.values[output].name << ": " << Described(graph, output);
      separator = "; ";
    }
    text << '\n';
  }
  for (const int output : graph.outputs) text << "output " << graph.values[output].name << '\n';
  return text.str();
}

std::string ToDot(const Graph& graph) {
  StringWriter text;
  text << "digraph " << DotQuoted(graph.name) << " {\n"
       << "  node [shape=box, fontname=\"Helvetica\", fontsize=10]\n"
       << "  edge [fontname=\"Helvetica\", fontsize=9]\n";
  const std::vector<int> producers = Producers(graph);
  const auto source = [&](int value) {
    return producers[value] >= 0 ? "n" + std::to_string(producers[value])
                                 : "v" + std::to_string(value);
  };
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const bool constant = graph.values[i].is_constant();
    if (!constant && !graph.IsInput(i)) continue;
    text << "  v" << i << " [label=" << DotQuoted(graph.values[i].name)
         << ", shape=" << (constant ? "note" : "ellipse") << "]\n";
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    text << "  n" << i
         << " [label=" << DotQuoted(node.name() + ": " + node.type() + EpilogueOf(graph, node))
         << (IsFree(graph, node) ? ", style=dashed" : "") << "]\n";
    for (const int read : node.Reads()) {
      text << "  " << source(read) << " -> n" << i
           << " [label=" << DotQuoted(graph.values[read].name + "\n" + Described(graph, read))
           << "]\n";
    }
  }
  for (const int output : graph.outputs) {
    text << "  out" << output << " [label=" << DotQuoted(graph.values[output].name)
         << ", shape=ellipse]\n"
         << "  " << source(output) << " -> out" << output
         << " [label=" << DotQuoted(Described(graph, output)) << "]\n";
  }
  text << "}\n";
  return text.str();
}

}  // namespace caffe::inference
