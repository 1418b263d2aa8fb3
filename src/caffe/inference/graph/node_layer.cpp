#include "node_layer.hpp"

#include <algorithm>
#include <cstring>

#include "caffe/context.hpp"
#include "caffe/core/error_context.hpp"
#include "caffe/error.hpp"
#include "caffe/kernels/parallel.hpp"

namespace caffe::inference {

Constant Share(const boost::shared_ptr<Blob<float>>& blob) {
  return {blob->shape(), ElementType::FLOAT,
          std::shared_ptr<const void>(blob->cpu_data_as<float>(), [blob](const void*) {})};
}

namespace {

const std::string kOutside = " (registered outside)";

/// The inverse of NodeType. Throws Error if this program lacks the layer.
std::string LayerType(const std::string& node_type) {
  if (node_type.size() <= kOutside.size()) return node_type;
  const size_t name = node_type.size() - kOutside.size();
  if (node_type.compare(name, std::string::npos, kOutside) != 0) return node_type;
  const std::string type = node_type.substr(0, name);
  const bool known = LayerRegistry<float>::IsReplaced(type);
  Require(known, "the engine was built in a program that registers a layer type ", type,
          " of its own; this one has only the library's: link or load that layer");
  return type;
}

}  // namespace

std::string NodeType(const std::string& layer_type) {
  return LayerRegistry<float>::IsReplaced(layer_type) ? layer_type + kOutside : layer_type;
}

NodeLayer::NodeLayer(const LayerParameter& param, std::vector<Constant> parameters, size_t bottoms,
                     size_t tops)
    : parameters_(std::move(parameters)) {
  LayerParameter full = param;
  full.set_phase(TEST);
  full.clear_bottom();
  full.clear_top();
  for (size_t i = 0; i < bottoms; ++i) full.add_bottom("bottom" + std::to_string(i));
  for (size_t i = 0; i < tops; ++i) full.add_top("top" + std::to_string(i));
  const auto add = [this](size_t count, vector<Blob<float>*>* list) {
    for (size_t i = 0; i < count; ++i) {
      blobs_.push_back(std::make_unique<Blob<float>>());
      list->push_back(blobs_.back().get());
    }
  };
  add(bottoms, &bottoms_);
  add(tops, &tops_);
  WithLayer(param, [&] {
    full.set_type(LayerType(param.type()));
    layer_ = LayerRegistry<float>::CreateLayer(full);
  });
  layer_->set_types(LayerTypes::All(ElementType::FLOAT));
}

namespace {

/// Whether a pass may write parameters: those of custom layers may.
bool MayWriteParameters(const LayerParameter& layer) {
  const Operation* operation = OperationTable::Find(layer.type());
  return !operation || operation->updates_parameters;
}

}  // namespace

// Constants are shared by all contexts of an engine and may be in a file that is mapped for
// reading. A layer borrows them if it only reads them; else, or if it makes its own blobs, it gets
// a copy.
void NodeLayer::SetUp() {
  const bool borrows = !MayWriteParameters(layer_->layer_param());
  vector<boost::shared_ptr<Blob<float>>> given;
  for (const Constant& parameter : parameters_) {
    given.push_back(shared_ptr<Blob<float>>(new Blob<float>(parameter.shape)));
    Blob<float>& blob = *given.back();
    if (blob.count() == 0) continue;
    if (borrows) {
      blob.set_cpu_data(const_cast<float*>(parameter.floats()));
    } else {
      std::copy_n(parameter.floats(), blob.count(), blob.mutable_cpu_data());
    }
  }
  layer_->blobs() = given;
  layer_->SetUp(bottoms_, tops_);
  if (given.empty()) return;
  const auto& blobs = layer_->blobs();
  Require(blobs.size() == given.size(), "the layer has ", blobs.size(), " parameters, ",
          given.size(), " are given");
  for (size_t i = 0; i < blobs.size(); ++i) {
    Require(blobs[i]->shape() == given[i]->shape(), "parameter ", i, " has shape ",
            given[i]->shape_string(), " where the layer has ", blobs[i]->shape_string());
    if (&blobs[i]->data_tensor() != &given[i]->data_tensor()) blobs[i]->CopyFrom(*given[i]);
  }
  // Otherwise it would pack its weights in every pass.
  if (borrows) {
    for (const auto& blob : blobs) blob->data_tensor().ForgetPointers();
  }
}

std::vector<Shape> NodeLayer::Reshape(const std::vector<Shape>& bottoms) {
  WithLayer(layer_->layer_param(), [&] {
    for (size_t i = 0; i < bottoms.size(); ++i) bottoms_[i]->Reshape(bottoms[i]);
    if (is_set_up_) {
      layer_->Reshape(bottoms_, tops_);
    } else {
      SetUp();
      is_set_up_ = true;
    }
  });
  std::vector<Shape> shapes;
  for (const Blob<float>* top : tops_) shapes.push_back(top->shape());
  return shapes;
}

namespace {

void Bind(const NodeLayer::Place& place, Blob<float>* blob) {
  if (!place.data || blob->count() == 0) return;
  if (place.on_device) {
    blob->data_tensor().Overwrite(place.type, place.layout).set_gpu_data(place.data);
  } else if (place.type == ElementType::FLOAT && place.layout.kind == Layout::PLAIN) {
    blob->set_cpu_data(static_cast<float*>(place.data));
  } else {
    blob->data_tensor().Overwrite(place.type, place.layout).set_cpu_data(place.data);
  }
}

/// Moves the layer's result to its place. False if it was elsewhere or in another format.
bool Collect(const NodeLayer::Place& place, Blob<float>* blob) {
  Tensor& tensor = blob->data_tensor();
  const bool native =
      tensor.newest_type() == place.type && tensor.newest_layout(place.type) == place.layout;
  if (place.on_device) {
    const void* made = tensor.Read(place.type, place.layout).gpu_data();
    if (made == place.data) return native;
    Device::Get().CopyOnDevice(place.data, made,
                               place.layout.extent(blob->count()) * SizeOf(place.type),
                               Context::Current().stream());
    return native;
  }
  const char* made = static_cast<const char*>(tensor.Read(place.type, place.layout).cpu_data());
  char* wanted = static_cast<char*>(place.data);
  if (made == wanted) return native;
  const size_t bytes = place.layout.extent(blob->count()) * SizeOf(place.type);
  kernels::ParallelFor(bytes, 1 << 18, [&](size_t begin, size_t end) {
    std::memmove(wanted + begin, made + begin, end - begin);
  });
  return native;
}

}  // namespace

void NodeLayer::Run(const std::vector<const float*>& bottoms, const std::vector<float*>& tops) {
  std::vector<Place> bottom_places, top_places;
  for (const float* bottom : bottoms) {
    bottom_places.push_back({const_cast<float*>(bottom), ElementType::FLOAT, Layout(), false});
  }
  for (float* top : tops) top_places.push_back({top, ElementType::FLOAT, Layout(), false});
  RunAndForget(bottom_places, top_places);
}

bool NodeLayer::RunAndForget(const std::vector<Place>& bottoms, const std::vector<Place>& tops) {
  const bool native = RunPlaced(bottoms, tops);
  if (bottoms_.empty()) return native;
  for (const auto& blob : blobs_) {
    if (blob->count() == 0) continue;
    blob->data_tensor().ForgetConstPointers();  // the layer's
    blob->data_tensor().Trim();
  }
  return native;
}

// Tops are placed before bottoms: a layer that makes its top the bottom's tensor has one for both.
// A layer without bottoms may have written its tops when it was set up: they stay its own.
bool NodeLayer::RunPlaced(const std::vector<Place>& bottoms, const std::vector<Place>& tops) {
  if (!bottoms_.empty()) {
    for (size_t i = 0; i < tops.size(); ++i) Bind(tops[i], tops_[i]);
  }
  for (size_t i = 0; i < bottoms.size(); ++i) Bind(bottoms[i], bottoms_[i]);
  std::vector<Shape> shapes;
  std::vector<bool> fixed;
  for (const Blob<float>* top : tops_) shapes.push_back(top->shape());
  for (const Place& top : tops) fixed.push_back(top.data != nullptr);
  Forward(shapes, fixed);
  bool native = true;
  for (size_t i = 0; i < tops.size(); ++i) {
    if (tops[i].data && tops_[i]->count() > 0) native = Collect(tops[i], tops_[i]) && native;
  }
  return native;
}

/// Tops that are `fixed` must keep their shapes.
void NodeLayer::Forward(const std::vector<Shape>& shapes, const std::vector<bool>& fixed) {
  WithLayer(layer_->layer_param(), [&] {
    layer_->Forward(bottoms_, tops_);
    for (size_t i = 0; i < fixed.size(); ++i) {
      if (!fixed[i] || tops_[i]->shape() == shapes[i]) continue;
      Fail("top ", i, " has shape ", ShapeString(tops_[i]->shape()),
           " where Reshape had announced ", ShapeString(shapes[i]));
    }
  });
}

std::vector<Constant> NodeLayer::Parameters() const {
  std::vector<Constant> parameters;
  for (const auto& blob : layer_->blobs()) parameters.push_back(Share(blob));
  return parameters;
}

bool ShapesAreKnown(const Node& node) {
  if (node.type() == kReorder) return true;
  const Operation* operation = OperationTable::Find(node.type());
  return operation && operation->top_shapes && !operation->sized_by_data;
}

NodeLayer MainLayer(const Node& node) {
  return NodeLayer(node.layer, node.parameters, node.inputs.size(), node.outputs.size());
}

std::vector<NodeLayer> EpilogueLayers(const Node& node) {
  std::vector<NodeLayer> layers;
  for (const Epilogue& step : node.epilogue) {
    layers.emplace_back(step.layer, step.parameters, step.operand >= 0 ? 2 : 1, 1);
  }
  return layers;
}

}  // namespace caffe::inference
