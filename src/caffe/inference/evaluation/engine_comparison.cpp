#include "caffe/inference/evaluation/engine_comparison.hpp"

#include <algorithm>
#include <cmath>

#include "caffe/error.hpp"
#include "caffe/inference/results.hpp"
#include "caffe/util/string_stream.hpp"
#include "reorders.hpp"

namespace caffe::inference {
namespace {

/// The net's blob of this name is something else: a loss became a layer that makes predictions.
bool IsLossOf(const Net<float>& net, const std::string& layer) {
  if (!net.has_layer(layer)) return false;
  return OperationTable::Of(net.layer_by_name(layer)->layer_param().type()).loss;
}

}  // namespace

double BlobComparison::Relative() const { return unmatched ? *unmatched : error.Relative(); }

double BlobComparison::SignalToNoise() const {
  return unmatched ? -20 * std::log10(*unmatched) : error.SignalToNoise();
}

EngineComparison::EngineComparison(Net<float>* reference, std::shared_ptr<const Engine> engine)
    : reference_(reference),
      engine_(std::move(engine)),
      source_(*reference, *engine_),
      context_(engine_) {
  const Graph& graph = *engine_->graph();
  const std::vector<int> producers = Producers(graph);
  blob_of_value_.assign(graph.values.size(), -1);
  for (const Node& node : graph.nodes) {
    for (const int output : node.outputs) {
      const std::string& name = graph.values[output].name;
      // Its producer, if this is a copy.
      const int made = BehindReorders(graph, producers, output);
      if (producers[made] < 0 || !reference->has_blob(name)) continue;
      const Node& maker = graph.nodes[producers[made]];
      if (IsLossOf(*reference, maker.name())) continue;
      index_[name] = blobs_.size();
      blob_of_value_[output] = blob_of_value_[made] = static_cast<int>(blobs_.size());
      BlobComparison blob{name, maker.name(), maker.math, graph.IsOutput(output), {}, {}};
      if (blob.is_output && IsDetections(*engine_, name)) blob.unmatched = 0;
      blobs_.push_back(std::move(blob));
    }
  }
  Require(!blobs_.empty(), "engine '", engine_->name(), "' and net '", reference->name(),
          "' have no blob in common: is this the net that the engine was built from?");
}

void EngineComparison::Add() {
  const Tensors inputs = source_.Read(reference_);
  const int next = source_.last_layer() + 1;
  if (next < static_cast<int>(reference_->layers().size())) reference_->ForwardFrom(next);
  SetInputs(inputs, &context_);
  context_.SetObserver([this](const std::string& blob, const Shape& shape, const float* values) {
    Compare(blob, shape, values);
  });
  context_.Run();
  context_.SetObserver(nullptr);
  ++batches_;
}

void EngineComparison::Compare(const std::string& blob, const Shape& shape, const float* values) {
  const auto found = index_.find(blob);
  if (found == index_.end()) return;
  BlobComparison& comparison = blobs_[found->second];
  const Blob<float>& expected = *reference_->blob_by_name(blob);
  if (comparison.unmatched) {
    const NamedTensor actual{shape, {values, values + CountOf(shape)}};
    const double share = UnmatchedShare(CopyOf(expected), actual);
    *comparison.unmatched += (share - *comparison.unmatched) / (batches_ + 1);
    return;
  }
  if (expected.shape() != shape) {
    comparison.error.AddOtherShape();
  } else {
    comparison.error.Add(expected.cpu_data(), values, CountOf(shape));
  }
}

double EngineComparison::OutputError() const {
  double largest = 0;
  for (const BlobComparison& blob : blobs_) {
    if (blob.is_output) largest = std::max(largest, blob.Relative());
  }
  return largest;
}

std::vector<std::string> EngineComparison::LayersByOwnError() const {
  const Graph& graph = *engine_->graph();
  // Squares are added, as for independent errors. A value that the net does not have is as wrong as
  // its inputs.
  std::vector<double> error(graph.values.size(), 0);
  std::vector<std::pair<double, std::string>> own;
  for (const Node& node : graph.nodes) {
    double before = 0;
    for (const int input : node.Reads()) before = std::max(before, error[input]);
    double added = 0;
    for (const int output : node.outputs) {
      const int blob = blob_of_value_[output];
      error[output] = before;
      if (blob < 0) continue;
      const double relative = blobs_[blob].Relative();
      error[output] = relative * relative;
      added = std::max(
          added, std::isinf(error[output]) && std::isinf(before) ? 0 : error[output] - before);
    }
    // Reorders between layers are not in the net.
    if (node.math != ElementType::FLOAT && !NetLayersIn(node.name()).empty()) {
      own.emplace_back(added, node.name());
    }
  }
  std::stable_sort(own.begin(), own.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> names;
  for (const auto& layer : own) names.push_back(layer.second);
  return names;
}

std::vector<std::string> EngineComparison::NetLayersIn(const std::string& layer) const {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (reference_->has_layer(name)) names.push_back(name);
  };
  add(layer);
  if (names.empty()) {
    // Merged siblings are called after all of them.
    StringReader parts(layer);
    for (std::string part; std::getline(parts, part, '+');) add(part);
  }
  const int index = engine_->graph()->FindNode(layer);
  if (index < 0) return names;
  for (const Epilogue& step : engine_->graph()->nodes[index].epilogue) add(step.layer.name());
  return names;
}

}  // namespace caffe::inference
