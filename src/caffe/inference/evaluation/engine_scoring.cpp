#include "caffe/inference/evaluation/engine_scoring.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "caffe/error.hpp"
#include "reorders.hpp"

namespace caffe::inference {
namespace {

bool IsSource(const LayerParameter& layer) { return OperationTable::Of(layer.type()).source; }

bool IsScoreOrLoss(const LayerParameter& layer) {
  const Operation& operation = OperationTable::Of(layer.type());
  return operation.scores || operation.loss;
}

NetParameter DataLayersOf(const NetParameter& filtered) {
  NetParameter data;
  data.set_name(filtered.name());
  *data.mutable_state() = filtered.state();
  bool reads = false;
  for (const LayerParameter& layer : filtered.layer()) {
    if (!IsSource(layer)) continue;
    *data.add_layer() = layer;
    reads |= layer.type() != "Input";
  }
  Require(reads, "net '", filtered.name(), "' reads no data to score the engine on: give the net ",
          "that it was trained and tested with (train_val.prototxt)");
  return data;
}

/// The layer that computes an output as probabilities; null if it is something else.
const Node* ProbabilityOf(const Graph& graph, const std::vector<int>& producers, int output) {
  const int producer = producers[BehindReorders(graph, producers, output)];
  if (producer < 0) return nullptr;
  const Node& node = graph.nodes[producer];
  return node.type() == "Softmax" || node.type() == "Sigmoid" ? &node : nullptr;
}

void AddInput(const std::string& name, const Shape& shape, NetParameter* net) {
  LayerParameter* layer = net->add_layer();
  layer->set_name("input_" + name);
  layer->set_type("Input");
  layer->add_top(name);
  BlobShape* dims = layer->mutable_input_param()->add_shape();
  for (const int extent : shape) dims->add_dim(extent);
}

}  // namespace

EngineScoring::EngineScoring(const NetParameter& net, std::shared_ptr<const Engine> engine)
    : engine_(std::move(engine)), context_(engine_) {
  NetParameter filtered;
  Net<float>::FilterNet(net, &filtered);
  data_ = std::make_unique<Net<float>>(DataLayersOf(filtered));
  source_ = std::make_unique<InputSource>(*data_, *engine_);
  const std::vector<std::string> inputs = engine_->inputs();
  Require(!inputs.empty(), "engine '", engine_->name(), "' has no inputs to be fed with data");
  const Shape& shape = data_->blob_by_name(inputs[0])->shape();
  GuessStandIn(filtered);
  MakeScores(filtered, shape.empty() ? 1 : shape[0]);
}

/// By its name, or as the probabilities of the blob of this name.
bool EngineScoring::FindStandIn(const std::string& blob, StandIn* found) const {
  const Graph& graph = *engine_->graph();
  for (const int output : graph.outputs) {
    if (graph.values[output].name != blob) continue;
    *found = {blob, blob, Form::AS_IS};
    return true;
  }
  const std::vector<int> producers = Producers(graph);
  for (const int output : graph.outputs) {
    const Node* node = ProbabilityOf(graph, producers, output);
    if (!node) continue;
    const int scores = BehindReorders(graph, producers, node->inputs[0]);
    if (graph.values[scores].name != blob && blob != guess_) continue;
    *found = {blob, graph.values[output].name,
              node->type() == "Softmax" ? Form::LOGARITHM : Form::LOGIT};
    return true;
  }
  return false;
}

/// An engine may have other names than the net. If it has one unmatched output of probabilities and
/// one blob is missing, they belong together.
void EngineScoring::GuessStandIn(const NetParameter& filtered) {
  const Graph& graph = *engine_->graph();
  const std::vector<int> producers = Producers(graph);
  const auto probabilities =
      std::count_if(graph.outputs.begin(), graph.outputs.end(),
                    [&](int output) { return ProbabilityOf(graph, producers, output) != nullptr; });
  std::set<std::string> missed;
  for (const LayerParameter& layer : filtered.layer()) {
    if (!IsScoreOrLoss(layer) || layer.bottom_size() == 0) continue;
    StandIn found;
    if (!FindStandIn(layer.bottom(0), &found)) {
      missed.insert(layer.bottom(0));
    } else if (found.form != Form::AS_IS) {
      return;
    }
  }
  if (probabilities == 1 && missed.size() == 1) guess_ = *missed.begin();
}

/// The layers that score what the engine makes, and those that they need behind the data. Notes
/// what they read, and what is left out.
NetParameter EngineScoring::ChooseScores(const NetParameter& filtered) {
  const std::vector<std::string>& others = source_->others();
  const std::vector<std::string> inputs = engine_->inputs();
  std::set<std::string> data(inputs.begin(), inputs.end());
  data.insert(others.begin(), others.end());
  std::set<std::string> made(others.begin(), others.end());  // labels, and what follows from them
  std::set<std::string> read;
  NetParameter scoring;
  for (const LayerParameter& layer : filtered.layer()) {
    if (IsSource(layer) || layer.type() == "Silence") continue;
    const bool scores = IsScoreOrLoss(layer) ||
                        std::any_of(layer.bottom().begin(), layer.bottom().end(),
                                    [&](const std::string& b) { return made.count(b) > 0; });
    if (!scores) continue;
    std::vector<StandIn> found;
    bool complete = true;
    for (const std::string& bottom : layer.bottom()) {
      if (made.count(bottom) > 0 || data.count(bottom) > 0) continue;
      found.emplace_back();
      complete &= FindStandIn(bottom, &found.back());
    }
    if (!complete) {
      left_out_.push_back(layer.name());
      continue;
    }
    for (const StandIn& stand_in : found) {
      if (read.insert(stand_in.blob).second) stand_ins_.push_back(stand_in);
    }
    for (const std::string& bottom : layer.bottom()) {
      if (data.count(bottom) > 0 && read.insert(bottom).second) from_data_.push_back(bottom);
    }
    *scoring.add_layer() = layer;
    made.insert(layer.top().begin(), layer.top().end());
  }
  Require(!stand_ins_.empty(), "net '", filtered.name(), "' has no layer that scores what engine '",
          engine_->name(), "' makes",
          left_out_.empty() ? "" : ": the engine lacks what layer '" + left_out_[0] + "' reads");
  return scoring;
}

/// The shape of an output for a batch of the data.
Shape EngineScoring::ShapeOf(const std::string& output, int batch) const {
  const Graph& graph = *engine_->graph();
  Shape shape = graph.values[graph.FindValue(output)].shape;
  if (!shape.empty() && shape[0] == BatchOf(graph) && !IsDetections(*engine_, output)) {
    shape[0] = batch;
  }
  return shape;
}

void EngineScoring::MakeScores(const NetParameter& filtered, int batch) {
  const NetParameter scoring = ChooseScores(filtered);
  NetParameter param;
  param.set_name(filtered.name());
  *param.mutable_state() = filtered.state();
  for (const std::string& name : from_data_) {
    AddInput(name, data_->blob_by_name(name)->shape(), &param);
  }
  for (const StandIn& stand_in : stand_ins_) {
    AddInput(stand_in.blob, ShapeOf(stand_in.output, batch), &param);
  }
  param.mutable_layer()->MergeFrom(scoring.layer());
  scores_ = std::make_unique<Net<float>>(param);
}

void EngineScoring::Write(const NamedTensor& from, Form form, const std::string& blob) {
  Blob<float>* to = scores_->blob_by_name(blob).get();
  to->Reshape(from.shape);
  constexpr float tiny = std::numeric_limits<float>::min();
  std::transform(from.values.begin(), from.values.end(), to->mutable_cpu_data(), [&](float p) {
    if (form == Form::AS_IS) return p;
    const float logarithm = std::log(std::max(p, tiny));
    return form == Form::LOGARITHM ? logarithm : logarithm - std::log(std::max(1 - p, tiny));
  });
}

const std::vector<Blob<float>*>& EngineScoring::Forward(float* loss) {
  Tensors data = source_->Read(data_.get());
  const Tensors outputs = RunInPieces(data, &context_);
  data.merge(source_->ReadOthers(*data_));
  for (const std::string& name : from_data_) Write(data.at(name), Form::AS_IS, name);
  for (const StandIn& stand_in : stand_ins_) {
    Write(outputs.at(stand_in.output), stand_in.form, stand_in.blob);
  }
  return scores_->Forward(loss);
}

}  // namespace caffe::inference
