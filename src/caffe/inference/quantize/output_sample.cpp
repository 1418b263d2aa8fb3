#include "output_sample.hpp"

#include <algorithm>

#include "caffe/inference/builder.hpp"

namespace caffe {
namespace inference {
namespace {

std::shared_ptr<const Engine> ReferenceOf(const NetworkDefinition& net) {
  BuilderConfig config;
  config.backend = Backend::REFERENCE;
  return Builder(config).Build(net);
}

/// What layers read that make detections.
std::set<std::string> BoxInputs(const Engine& engine, const Graph& graph) {
  std::set<std::string> names;
  for (const std::string& output : engine.outputs()) {
    if (!IsDetections(engine, output)) continue;
    const int producer = Producers(graph)[graph.FindValue(output)];
    if (producer < 0) continue;
    for (const int input : graph.nodes[producer].inputs) {
      const bool computed = !graph.values[input].is_constant() && !graph.IsInput(input);
      if (computed && !graph.IsOutput(input)) names.insert(graph.values[input].name);
    }
  }
  return names;
}

int64_t MaxItems(const Graph& graph) {
  const int batch = std::max(1, BatchOf(graph));
  size_t bytes = 0;  // of a batch
  for (const int input : graph.inputs) bytes += BytesOf(graph.values[input]);
  const size_t fitting = OutputSample::kMaxBytes / std::max<size_t>(1, bytes / batch);
  return std::max<int64_t>(batch, std::min<int64_t>(OutputSample::kMaxImages, fitting));
}

}  // namespace

OutputSample::OutputSample(const Net<float>& net)
    : definition_(GraphOf(net)),
      reference_(ReferenceOf(definition_)),
      source_(net, *reference_),
      box_inputs_(BoxInputs(*reference_, definition_.graph())),
      max_items_(MaxItems(definition_.graph())) {
  const Graph& graph = definition_.graph();
  Require(!graph.inputs.empty(), "net '", net.name(), "' has no inputs");
  for (const int input : graph.inputs) {
    shapes_[graph.values[input].name] = graph.values[input].shape;
  }
  for (const std::string& blob : box_inputs_) definition_.MarkOutput(blob);
  if (!box_inputs_.empty()) reference_ = ReferenceOf(definition_);
}

int OutputSample::Offer(int64_t images, Net<float>* net) {
  const int64_t first = offered_;
  offered_ += images;
  int64_t next = (first + stride_ - 1) / stride_ * stride_;
  if (next >= offered_) return 0;
  const Tensors inputs = source_.Read(net);
  const int planned = reference_->max_batch();
  const Shape& front = inputs.at(reference_->inputs()[0]).shape;
  const int batch = front.empty() ? 1 : front[0];
  for (; next < std::min(offered_, first + batch); next = (next / stride_ + 1) * stride_) {
    Tensors item;
    bool fits = true;
    for (const auto& [name, values] : inputs) {
      item[name] = Items(values, batch, static_cast<int>(next - first), 1);
      Shape wanted = shapes_.at(name);
      if (!wanted.empty() && wanted[0] == planned) wanted[0] = 1;
      fits = fits && item[name].shape == wanted;
    }
    if (fits) Keep(next, std::move(item));
  }
  return source_.last_layer() + 1;
}

void OutputSample::Keep(int64_t number, Tensors item) {
  items_[number] = std::move(item);
  while (images() > max_items_) {
    stride_ *= 2;
    for (auto kept = items_.begin(); kept != items_.end();) {
      kept = kept->first % stride_ == 0 ? std::next(kept) : items_.erase(kept);
    }
  }
}

std::vector<Tensors> OutputSample::Batches() const {
  const int batch = std::max(1, reference_->max_batch());
  std::vector<const Tensors*> items;
  for (const auto& item : items_) items.push_back(&item.second);
  const size_t kept = items.size();
  while (items.size() % batch != 0) items.push_back(items[items.size() % kept]);
  std::vector<Tensors> batches;
  for (size_t first = 0; first < items.size(); first += batch) {
    Tensors all = *items[first];
    for (auto& [name, values] : all) {
      values.shape = shapes_.at(name);
      if (values.values.size() == CountOf(values.shape)) continue;  // the same for all items
      for (int i = 1; i < batch; ++i) {
        const std::vector<float>& more = items[first + i]->at(name).values;
        values.values.insert(values.values.end(), more.begin(), more.end());
      }
    }
    batches.push_back(std::move(all));
  }
  return batches;
}

void OutputSample::ComputeReference() {
  Require(!items_.empty(), "no image has the shape of the first batch");
  ExecutionContext context(reference_);
  for (const Tensors& batch : Batches()) {
    expected_.Add(batch, RunInPieces(batch, &context), /*labels=*/{});
  }
}

OutputError OutputSample::ErrorOf(const CalibrationTable& table) const {
  BuilderConfig config;
  config.precision = Precision::INT8;
  config.calibration = std::make_shared<const CalibrationTable>(table);
  config.timing_iterations = 0;
  OutputError error;
  for (const auto& [output, size] : expected_.OutputErrors(Builder(config).Build(definition_))) {
    double& largest = box_inputs_.count(output) > 0 ? error.box_inputs : error.outputs;
    largest = std::max(largest, size);
  }
  return error;
}

}  // namespace inference
}  // namespace caffe
