#include "caffe/inference/engine_batches.hpp"

#include <algorithm>
#include <set>

#include "../shape_profiles.hpp"
#include "caffe/error.hpp"

namespace caffe {
namespace inference {
namespace {

const Value& OutputOf(const Engine& engine, const std::string& name) {
  for (const int output : engine.graph()->outputs) {
    if (engine.graph()->values[output].name == name) return engine.graph()->values[output];
  }
  Fail("engine '", engine.name(), "' has no output '", name, "'");
}

/// Items [first, first + count) of a batch; all of what has no batch.
NamedTensor Items(const NamedTensor& all, int batch, int first, int count) {
  if (all.shape.empty() || all.shape[0] != batch) return all;
  NamedTensor piece{all.shape, {}};
  piece.shape[0] = count;
  const size_t item = CountOf(all.shape) / batch;
  piece.values.assign(all.values.begin() + first * item,
                      all.values.begin() + (first + count) * item);
  return piece;
}

/// Puts a piece that begins at item `first` behind the pieces before it.
void Append(const NamedTensor& piece, bool detections, int first, NamedTensor* all) {
  const size_t axis = detections ? 2 : 0;
  if (all->shape.empty()) {
    all->shape = piece.shape;
    all->shape[axis] = 0;
  }
  all->shape[axis] += piece.shape[axis];
  const size_t begin = all->values.size();
  all->values.insert(all->values.end(), piece.values.begin(), piece.values.end());
  if (!detections) return;
  for (size_t row = begin; row < all->values.size(); row += 7) {
    all->values[row] += static_cast<float>(first);
  }
}

}  // namespace

bool IsDetections(const Engine& engine, const std::string& output) {
  const Value& value = OutputOf(engine, output);
  const std::vector<bool> dependent = HaveDataDependentShapes(*engine.graph());
  return dependent[&value - engine.graph()->values.data()] && value.shape.size() == 4 &&
         value.shape[0] == 1 && value.shape[1] == 1 && value.shape[3] == 7;
}

std::unique_ptr<Net<float>> InputNetOf(const Engine& engine, int batch,
                                       const std::map<std::string, Shape>& given) {
  const Graph& graph = *engine.graph();
  const int most = BatchOf(graph);
  std::vector<Shape> shapes = InputShapes(graph, batch > 0 ? std::min(batch, most) : most);
  for (const auto& [name, shape] : given) {
    shapes[InputNamed(graph, name, Join("engine '", engine.name(), "'"))] = shape;
  }
  NetParameter param;
  param.set_name(engine.name());
  for (size_t i = 0; i < shapes.size(); ++i) {
    LayerParameter* layer = param.add_layer();
    layer->set_name(graph.values[graph.inputs[i]].name);
    layer->set_type("Input");
    layer->add_top(layer->name());
    BlobShape* shape = layer->mutable_input_param()->add_shape();
    for (const int extent : shapes[i]) shape->add_dim(extent);
  }
  param.mutable_state()->set_phase(TEST);
  return std::make_unique<Net<float>>(param);
}

InputSource::InputSource(const Net<float>& net, const Engine& engine) : inputs_(engine.inputs()) {
  const std::set<std::string> wanted(inputs_.begin(), inputs_.end());
  std::set<std::string> found;
  for (size_t i = 0; i < net.layers().size(); ++i) {
    const LayerParameter& layer = net.layers()[i]->layer_param();
    const Operation* operation = OperationTable::Find(layer.type());
    if (!operation || !operation->source) continue;
    for (const std::string& top : layer.top()) {
      last_layer_ = static_cast<int>(i);
      if (wanted.count(top) > 0) {
        found.insert(top);
      } else {
        others_.push_back(top);
      }
    }
  }
  for (const std::string& input : inputs_) {
    Require(found.count(input) > 0, "engine '", engine.name(), "' has an input '", input,
            "' and net '", net.name(), "' has none of this name, or computes it");
  }
}

Tensors InputSource::Read(Net<float>* net) const {
  net->ForwardFromTo(0, last_layer_);
  Tensors tensors;
  for (const std::string& input : inputs_) tensors[input] = CopyOf(*net->blob_by_name(input));
  return tensors;
}

Tensors InputSource::ReadOthers(const Net<float>& net) const {
  Tensors tensors;
  for (const std::string& other : others_) tensors[other] = CopyOf(*net.blob_by_name(other));
  return tensors;
}

void SetInputs(const Tensors& inputs, ExecutionContext* context) {
  const std::vector<std::string> names = context->engine().inputs();
  for (const std::string& name : names) {
    Require(inputs.count(name) > 0, "engine '", context->engine().name(), "' needs an input '",
            name, "'");
  }
  std::map<std::string, Shape> shapes;
  for (const std::string& name : names) {
    const Shape& shape = inputs.at(name).shape;
    if (shape != context->InputShape(name)) shapes[name] = shape;
  }
  // Says it in terms of the batch where that is too large.
  const Shape first = names.empty() ? Shape() : inputs.at(names[0]).shape;
  if (!first.empty() && first[0] > context->engine().max_batch()) context->SetBatch(first[0]);
  if (!shapes.empty()) context->SetInputShapes(shapes);
  for (const std::string& name : names) {
    const std::vector<float>& values = inputs.at(name).values;
    std::copy(values.begin(), values.end(), context->Input(name));
  }
}

Tensors Outputs(ExecutionContext* context) {
  Tensors outputs;
  for (const std::string& name : context->engine().outputs()) {
    const Shape& shape = context->OutputShape(name);
    const float* values = context->Output(name);
    outputs[name] = {shape, {values, values + CountOf(shape)}};
  }
  return outputs;
}

Tensors RunInPieces(const Tensors& inputs, ExecutionContext* context) {
  const Engine& engine = context->engine();
  const int most = engine.max_batch();
  const std::vector<std::string> names = engine.inputs();
  const auto first_input = names.empty() ? inputs.end() : inputs.find(names[0]);
  const bool known = first_input != inputs.end() && !first_input->second.shape.empty();
  const int batch = known ? first_input->second.shape[0] : most;
  if (batch <= most) {
    SetInputs(inputs, context);
    context->Run();
    return Outputs(context);
  }
  Tensors all;
  for (int first = 0; first < batch; first += most) {
    const int count = std::min(most, batch - first);
    Tensors piece;
    for (const auto& input : inputs) {
      piece[input.first] = Items(input.second, batch, first, count);
    }
    SetInputs(piece, context);
    context->Run();
    for (const auto& output : Outputs(context)) {
      const Shape& shape = output.second.shape;
      const bool detections = IsDetections(engine, output.first);
      Require(detections || (!shape.empty() && shape[0] == count), "output '", output.first,
              "' of engine '", engine.name(), "' has shape ", ShapeString(shape),
              ", not an item for each of ", count, ": a batch of ", batch,
              " cannot be run in pieces; build the engine with -max_batch ", batch);
      Append(output.second, detections, first, &all[output.first]);
    }
  }
  return all;
}

NamedTensor CopyOf(const Blob<float>& blob) {
  return {blob.shape(), {blob.cpu_data(), blob.cpu_data() + blob.count()}};
}

}  // namespace inference
}  // namespace caffe
