// What is trained with a loss is deployed without it: SoftmaxWithLoss becomes Softmax, a sigmoid
// loss Sigmoid, and other losses are replaced by their predictions.
#include <algorithm>
#include <map>

#include "caffe/inference/passes/passes.hpp"
#include "graph_editing.hpp"

namespace caffe::inference {
namespace {

/// The layer that makes probabilities of a loss's bottom 0; nothing for losses that take
/// predictions as they are.
LayerParameter InferenceForm(const LayerParameter& loss) {
  static const std::map<std::string, std::string> types = {{"SoftmaxWithLoss", "Softmax"},
                                                           {"SoftmaxWithLossOHEM", "Softmax"},
                                                           {"InfogainLoss", "Softmax"},
                                                           {"SigmoidCrossEntropyLoss", "Sigmoid"}};
  LayerParameter form;
  const auto type = types.find(loss.type());
  if (type == types.end()) return form;
  form.set_name(loss.name());
  form.set_type(type->second);
  form.set_phase(TEST);
  if (loss.type() == "InfogainLoss") {
    form.mutable_softmax_param()->set_axis(loss.infogain_loss_param().axis());
  } else if (loss.has_softmax_param()) {
    *form.mutable_softmax_param() = loss.softmax_param();
  }
  return form;
}

bool IsLoss(const Node& node) { return node.operation().loss; }

bool IsScore(const Node& node) { return node.operation().scores; }

class LossRemoval {
 public:
  explicit LossRemoval(Graph graph) : graph_(std::move(graph)) {}

  Graph Run() {
    for (const auto& chosen : {IsLoss, IsScore}) {
      for (size_t i = 0; i < graph_.nodes.size();) {
        if (chosen(graph_.nodes[i]) && !IsRead(graph_.nodes[i])) {
          i += Replace(i);
        } else {
          ++i;
        }
      }
    }
    DropLabels();
    return WithoutUnusedValues(std::move(graph_));
  }

 private:
  // A loss that another layer reads is not an end of the net.
  bool IsRead(const Node& node) const {
    const auto readers = Readers(graph_);
    return !node.outputs.empty() && !readers[node.outputs[0]].empty();
  }

  // Returns the number of nodes that now stand in the place of node `index`: 1 or 0.
  int Replace(int index) {
    Node& node = graph_.nodes[index];
    for (size_t i = 1; i < node.inputs.size(); ++i) maybe_labels_.push_back(node.inputs[i]);
    const LayerParameter form = InferenceForm(node.layer);
    if (form.has_type()) {
      KeepProbabilities(form, &node);
      return 1;
    }
    const std::vector<int> inputs = node.inputs;
    for (const int output : node.outputs) {
      graph_.outputs.erase(std::remove(graph_.outputs.begin(), graph_.outputs.end(), output),
                           graph_.outputs.end());
    }
    RemoveNode(index, &graph_);
    const auto readers = Readers(graph_);
    const auto producers = Producers(graph_);
    for (const int input : inputs) {
      if (producers[input] >= 0 && readers[input].empty() && !graph_.IsOutput(input)) {
        graph_.outputs.push_back(input);
      }
    }
    return 0;
  }

  // Where the loss hands out the probabilities as top 1, that is the output; else what was the
  // loss.
  void KeepProbabilities(const LayerParameter& form, Node* node) {
    const int loss = node->outputs.at(0);
    const bool has_top = node->outputs.size() > 1;
    const int probabilities = has_top ? node->outputs[1] : loss;
    if (has_top) {
      graph_.outputs.erase(std::remove(graph_.outputs.begin(), graph_.outputs.end(), loss),
                           graph_.outputs.end());
    }
    node->layer = form;
    node->inputs.resize(1);
    node->outputs = {probabilities};
    node->parameters.clear();
    graph_.values[probabilities].shape = graph_.values[node->inputs[0]].shape;
  }

  void DropLabels() {
    const auto readers = Readers(graph_);
    for (const int label : maybe_labels_) {
      const auto input = std::find(graph_.inputs.begin(), graph_.inputs.end(), label);
      if (!readers[label].empty() || graph_.IsOutput(label) || input == graph_.inputs.end()) {
        continue;
      }
      const auto place = input - graph_.inputs.begin();
      graph_.inputs.erase(input);
      ForgetConstant(graph_.values[label].name);
      if (graph_.min_inputs.empty()) continue;
      graph_.min_inputs.erase(graph_.min_inputs.begin() + place);
      graph_.opt_inputs.erase(graph_.opt_inputs.begin() + place);
    }
  }

  // Values given for an input that was removed.
  void ForgetConstant(const std::string& input) {
    if (!graph_.preprocessing || graph_.preprocessing->constants.count(input) == 0) return;
    ImagePreprocessing preprocessing = *graph_.preprocessing;
    preprocessing.constants.erase(input);
    graph_.preprocessing = std::make_shared<const ImagePreprocessing>(std::move(preprocessing));
  }

  Graph graph_;
  std::vector<int> maybe_labels_;
};

}  // namespace

Graph LossesToInference(Graph graph) { return LossRemoval(std::move(graph)).Run(); }

}  // namespace caffe::inference
