#include "output_comparison.hpp"

#include <algorithm>

#include "caffe/inference/builder.hpp"
#include "caffe/kernels/ceil_div.hpp"

namespace caffe::inference {

int ImageSample::Offer(int64_t images, Net<float>* net) {
  const int64_t first = offered_;
  offered_ += images;
  int64_t next = kernels::RoundUp(first, stride_);
  if (next >= offered_) return 0;
  const Tensors inputs = source_.Read(net);
  if (inputs.empty()) return 0;
  // The batch is extent 0 of the first input; others may have none.
  const auto batch_of = [&](const Blob<float>& blob) {
    return blob.num_axes() == 0 ? 1 : blob.shape(0);
  };
  const int batch = batch_of(*net->blob_by_name(source_.inputs()[0]));
  if (shapes_.empty()) {
    size_t count = 0;
    for (const auto& [name, values] : inputs) {
      shapes_[name] = values.shape;
      count += values.values.size();
    }
    batch_ = std::max(1, batch);
    const size_t fitting = kMaxBytes / std::max<size_t>(1, count * sizeof(float) / batch_);
    max_images_ = std::max<int64_t>(batch_, std::min<int64_t>(kMaxImages, fitting));
  }
  for (; next < std::min(offered_, first + batch); next = (next / stride_ + 1) * stride_) {
    Tensors item;
    bool fits = true;
    for (const auto& [name, values] : inputs) {
      item[name] = Items(values, batch, static_cast<int>(next - first), 1);
      Shape wanted = shapes_.at(name);
      if (!wanted.empty() && wanted[0] == batch_) wanted[0] = 1;
      fits = fits && item[name].shape == wanted;
    }
    if (fits) Keep(next, std::move(item));
  }
  return source_.last_layer() + 1;
}

void ImageSample::Keep(int64_t number, Tensors item) {
  items_[number] = std::move(item);
  while (images() > max_images_) {
    stride_ *= 2;
    for (auto kept = items_.begin(); kept != items_.end();) {
      kept = kept->first % stride_ == 0 ? std::next(kept) : items_.erase(kept);
    }
  }
}

std::vector<Tensors> ImageSample::Batches() const {
  std::vector<const Tensors*> items;
  for (const auto& item : items_) items.push_back(&item.second);
  const size_t kept = items.size();
  while (items.size() % batch_ != 0) items.push_back(items[items.size() % kept]);
  std::vector<Tensors> batches;
  for (size_t first = 0; first < items.size(); first += batch_) {
    Tensors all = *items[first];
    for (auto& [name, values] : all) {
      values.shape = shapes_.at(name);
      if (values.values.size() == CountOf(values.shape)) continue;  // the same for all items
      for (int i = 1; i < batch_; ++i) {
        const std::vector<float>& more = items[first + i]->at(name).values;
        values.values.insert(values.values.end(), more.begin(), more.end());
      }
    }
    batches.push_back(std::move(all));
  }
  return batches;
}

namespace {

/// Of those that the engine takes.
std::map<std::string, Shape> InputShapesOf(const NetworkDefinition& net,
                                           const ImageSample& sample) {
  std::map<std::string, Shape> shapes;
  for (const int input : net.graph().inputs) {
    const std::string& name = net.graph().values[input].name;
    const auto found = sample.shapes().find(name);
    Require(found != sample.shapes().end(), "there are no values of input '", name, "'");
    shapes[name] = found->second;
  }
  Require(!shapes.empty(), "net '", net.name(), "' has no inputs");
  return shapes;
}

std::shared_ptr<const Engine> ReferenceOf(const NetworkDefinition& net,
                                          const std::map<std::string, Shape>& shapes) {
  BuilderConfig config;
  config.backend = Backend::REFERENCE;
  config.max_input_shapes = shapes;
  return Builder(config).Build(net);
}

/// The inputs of layers that compute detections.
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

}  // namespace

OutputComparison::OutputComparison(const Net<float>& net, const ImageSample& sample)
    : definition_(GraphOf(net)), shapes_(InputShapesOf(definition_, sample)) {
  auto reference = ReferenceOf(definition_, shapes_);
  box_inputs_ = BoxInputs(*reference, definition_.graph());
  for (const std::string& blob : box_inputs_) definition_.MarkOutput(blob);
  if (!box_inputs_.empty()) reference = ReferenceOf(definition_, shapes_);
  ExecutionContext context(reference);
  for (const Tensors& batch : sample.Batches()) {
    expected_.Add(batch, RunInPieces(batch, &context), /*labels=*/{});
  }
}

OutputError OutputComparison::ErrorOf(const CalibrationTable& table) const {
  BuilderConfig config;
  config.precision = Precision::INT8;
  config.calibration = std::make_shared<const CalibrationTable>(table);
  config.max_input_shapes = shapes_;
  config.timing_iterations = 0;
  OutputError error;
  for (const auto& [output, size] : expected_.OutputErrors(Builder(config).Build(definition_))) {
    double& largest = box_inputs_.count(output) > 0 ? error.box_inputs : error.outputs;
    largest = std::max(largest, size);
  }
  return error;
}

}  // namespace caffe::inference
