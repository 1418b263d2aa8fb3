#include "trained_part.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "caffe/common.hpp"
#include "caffe/inference/builder.hpp"
#include "caffe/util/rng.hpp"
#include "training_ranges.hpp"

namespace caffe::inference {
namespace {

using Tops = std::set<std::pair<std::string, int>>;  // layer and number of the top

/// The rounded tops that are read where nothing is rounded any more, or not at all. Found from the
/// last layer to the first, with the sets of blobs that lead to rounded ones, and to what is left
/// as it is; a blob may be in both.
Tops LastRounded(const NetParameter& net, const Tops& rounded) {
  Tops last;
  std::set<std::string> rounded_later, left_later;
  for (int i = net.layer_size(); i-- > 0;) {
    const LayerParameter& layer = net.layer(i);
    bool leads = false, leaves = layer.top_size() == 0;
    for (int j = 0; j < layer.top_size(); ++j) {
      const std::string& top = layer.top(j);
      const bool later = rounded_later.erase(top) > 0, left = left_later.erase(top) > 0;
      const bool here = rounded.count({layer.name(), j}) > 0;
      if (here && (left || !later)) last.insert({layer.name(), j});
      leads = leads || later || here;
      leaves = leaves || (!here && (left || !later));
    }
    if (leads) rounded_later.insert(layer.bottom().begin(), layer.bottom().end());
    if (leaves) left_later.insert(layer.bottom().begin(), layer.bottom().end());
  }
  return last;
}

bool FeedsPart(const LayerParameter& layer) { return FeedsNet(layer) || layer.type() == "Input"; }

/// An Input layer for those tops of a layer that are read.
LayerParameter InputOf(const LayerParameter& layer, const std::set<std::string>& read) {
  LayerParameter input;
  input.set_name(layer.name());
  input.set_type("Input");
  for (const std::string& top : layer.top()) {
    if (read.count(top)) input.add_top(top);
  }
  return input;
}

/// The layers that the last rounded blobs depend on, without those for training.
std::vector<LayerParameter> LayersBefore(const Tops& last, const NetParameter& net) {
  std::vector<LayerParameter> layers;
  std::set<std::string> read;
  for (int i = net.layer_size(); i-- > 0;) {
    LayerParameter layer = net.layer(i);
    bool needed = false;
    for (int j = 0; j < layer.top_size(); ++j) {
      needed = needed || read.count(layer.top(j)) > 0 || last.count({layer.name(), j}) > 0;
    }
    if (!needed) continue;
    if (FeedsPart(layer)) layer = InputOf(layer, read);
    for (const std::string& top : layer.top()) read.erase(top);
    read.insert(layer.bottom().begin(), layer.bottom().end());
    layer.clear_include();
    layer.clear_exclude();
    layer.clear_phase();
    layers.push_back(layer);
  }
  std::reverse(layers.begin(), layers.end());
  return layers;
}

std::optional<TrainedPart> Simulated(const std::string& why) {
  LOG_IF(WARNING, Caffe::root_solver())
      << "Scores of the TEST phase are simulated in floats: " << why;
  return {};
}

}  // namespace

std::optional<TrainedPart> TrainedPartOf(const NetParameter& net,
                                         const TrainingPositions& positions) {
  Tops rounded;
  std::set<std::string> names;  // as graphs have them: where a later layer works in place, others
  for (const TrainingPositions::RoundedBlob& blob : positions.blobs) {
    rounded.insert({blob.layer, blob.top});
    names.insert(blob.name);
  }
  const Tops last = LastRounded(net, rounded);
  TrainedPart part;
  part.net.set_name(net.name());
  for (LayerParameter& layer : LayersBefore(last, net)) {
    for (int i = 0; i < layer.top_size(); ++i) {
      const std::string& top = layer.top(i);
      const bool is_input = layer.type() == "Input", is_output = last.count({layer.name(), i}) > 0;
      if ((is_input || is_output) && names.count(top) == 0) {
        return Simulated("blob '" + top + "' is not rounded under that name");
      }
      if (is_input && is_output)
        return Simulated("blob '" + top + "' is read without rounding, too");
      if (is_input) part.inputs.push_back(top);
      if (is_output) part.outputs.push_back(top);
    }
    *part.net.add_layer() = std::move(layer);
  }
  if (part.outputs.empty()) return {};
  return part;
}

std::shared_ptr<const Engine> BuildTrained(const TrainedPart& part, const NetParameter& weights,
                                           const std::map<std::string, Shape>& inputs) {
  const KeepRandomState keep;
  std::map<std::string, const LayerParameter*> trained;
  for (const LayerParameter& layer : weights.layer()) trained[layer.name()] = &layer;
  NetParameter net = part.net;
  for (LayerParameter& layer : *net.mutable_layer()) {
    const auto found = trained.find(layer.name());
    if (layer.type() != "Input") {
      if (found != trained.end()) *layer.mutable_blobs() = found->second->blobs();
      continue;
    }
    for (const std::string& top : layer.top()) {
      BlobShape* shape = layer.mutable_input_param()->add_shape();
      for (const int extent : inputs.at(top)) shape->add_dim(extent);
    }
  }
  NetworkDefinition definition = NetworkDefinition::FromCaffe(net, {});
  for (const std::string& output : part.outputs) definition.MarkOutput(output);
  if (const auto ranges = ReadTrainedRanges(weights)) definition.TakeTraining(*ranges);
  BuilderConfig config;
  config.precision = Precision::INT8;
  config.timing_iterations = 0;
  return Builder(config).Build(definition);
}

}  // namespace caffe::inference
