#include <algorithm>
#include <set>

#include "caffe/core/error_context.hpp"
#include "caffe/error.hpp"
#include "caffe/fp16/range_rewriting.hpp"
#include "caffe/inference/network_definition.hpp"

namespace caffe::inference {
namespace {

void Write(const Constant& constant, BlobProto* blob) {
  for (const int extent : constant.shape) blob->mutable_shape()->add_dim(extent);
  const float* values = constant.floats();
  blob->mutable_data()->Resize(static_cast<int>(constant.count()), 0.f);
  std::copy_n(values, constant.count(), blob->mutable_data()->begin());
}

/// Writes a graph as layers, with names for what has none in graphs.
class GraphToNet {
 public:
  explicit GraphToNet(const Graph& graph) : graph_(graph) {
    for (const Value& value : graph.values) blob_names_.insert(value.name);
    for (const Node& node : graph.nodes) {
      layer_names_.insert(node.name());
      for (const Epilogue& step : node.epilogue) layer_names_.insert(step.layer.name());
    }
  }

  NetParameter Build() {
    net_.set_name(graph_.name);
    net_.mutable_state()->set_phase(TEST);
    for (const int input : graph_.inputs) AddInput(graph_.values[input]);
    for (const Value& value : graph_.values) {
      if (value.is_constant()) AddConstant(value);
    }
    for (const Node& node : graph_.nodes) AddNode(node);
    SilenceTheRest();
    ClearTypes(&net_);
    return std::move(net_);
  }

 private:
  static std::string Unused(const std::string& wanted, std::set<std::string>* names) {
    std::string name = wanted;
    for (int i = 2; !names->insert(name).second; ++i) name = Join(wanted, "_", i);
    return name;
  }

  const std::string& NameOf(int value) const { return graph_.values[value].name; }

  std::vector<std::string> NamesOf(const std::vector<int>& values) const {
    std::vector<std::string> names;
    for (const int value : values) names.push_back(NameOf(value));
    return names;
  }

  LayerParameter* AddLayer(const std::string& wanted_name, const std::string& type) {
    LayerParameter* layer = net_.add_layer();
    layer->set_name(Unused(wanted_name, &layer_names_));
    layer->set_type(type);
    return layer;
  }

  void AddInput(const Value& value) {
    LayerParameter* layer = AddLayer(value.name, "Input");
    layer->add_top(value.name);
    BlobShape* shape = layer->mutable_input_param()->add_shape();
    for (const int extent : value.shape) shape->add_dim(extent);
  }

  void AddConstant(const Value& value) {
    LayerParameter* layer = AddLayer(value.name, "Parameter");
    layer->add_top(value.name);
    BlobShape* shape = layer->mutable_parameter_param()->mutable_shape();
    for (const int extent : value.shape) shape->add_dim(extent);
    WriteParameters({{value.shape, value.type, value.data}}, layer);
  }

  void WriteParameters(const std::vector<Constant>& parameters, LayerParameter* layer) {
    WithLayer(*layer, [&] {
      for (const Constant& parameter : parameters) Write(parameter, layer->add_blobs());
    });
  }

  // The graph's layers are those of one phase and state, each with parameters of its own: rules
  // that choose layers and names that share parameters no longer hold.
  void AddLayer(const LayerParameter& described, const std::vector<std::string>& bottoms,
                const std::vector<std::string>& tops, const std::vector<Constant>& parameters) {
    LayerParameter* layer = net_.add_layer();
    *layer = described;
    layer->clear_bottom();
    layer->clear_top();
    layer->clear_blobs();
    layer->clear_include();
    layer->clear_exclude();
    layer->clear_param();
    layer->clear_propagate_down();
    for (const std::string& bottom : bottoms) layer->add_bottom(bottom);
    for (const std::string& top : tops) layer->add_top(top);
    WriteParameters(parameters, layer);
  }

  void AddNode(const Node& node) {
    std::vector<std::string> tops = NamesOf(node.outputs);
    // What each step of the epilogue reads.
    std::vector<std::string> between;
    for (const Epilogue& step : node.epilogue) {
      between.push_back(Unused(Join(tops[0], "_before_", step.layer.name()), &blob_names_));
    }
    const std::string result = tops.empty() ? "" : tops[0];
    if (!between.empty()) tops[0] = between[0];
    AddLayer(node.layer, NamesOf(node.inputs), tops, node.parameters);
    for (size_t i = 0; i < node.epilogue.size(); ++i) {
      const Epilogue& step = node.epilogue[i];
      std::vector<std::string> bottoms = {between[i]};
      if (step.operand >= 0) bottoms.push_back(NameOf(step.operand));
      const bool last = i + 1 == node.epilogue.size();
      AddLayer(step.layer, bottoms, {last ? result : between[i + 1]}, step.parameters);
    }
  }

  void SilenceTheRest() {
    const std::vector<std::vector<int>> readers = Readers(graph_);
    LayerParameter* silence = nullptr;
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      if (!readers[i].empty() || graph_.IsOutput(static_cast<int>(i))) continue;
      if (!silence) silence = AddLayer("silence", "Silence");
      silence->add_bottom(graph_.values[i].name);
    }
  }

  const Graph& graph_;
  std::set<std::string> blob_names_, layer_names_;
  NetParameter net_;
};

}  // namespace

NetParameter ToNetParameter(const Graph& graph) { return GraphToNet(graph).Build(); }

}  // namespace caffe::inference
