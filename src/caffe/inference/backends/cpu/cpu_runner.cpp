#include "cpu_runner.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "caffe/allocator.hpp"
#include "caffe/blob.hpp"
#include "caffe/error.hpp"
#include "caffe/kernels/parallel.hpp"
#include "element_types.hpp"
#include "top_shapes.hpp"

namespace caffe {
namespace inference {
namespace cpu {

void* CpuRunner::Memory::Room(size_t wanted) {
  wanted = std::max<size_t>(wanted, Allocator::kAlignment);
  if (data && bytes >= wanted) return data.get();
  data.reset();
  bytes = 0;
  Allocator* owner = nullptr;
  void* memory = AllocateHost(wanted, &owner);
  std::memset(memory, 0, wanted);
  data = std::shared_ptr<void>(memory, [wanted, owner](void* p) { FreeHost(p, wanted, owner); });
  bytes = wanted;
  return memory;
}

namespace {

/// Moves pieces of equal size.
void CopyPieces(const Operand& from, const Operand& to) {
  const size_t size = SizeOf(from.type);
  if (from.images == to.images) {
    for (size_t n = 0; n < from.images; ++n) {
      std::memcpy(to.as<char>() + n * to.stride * size, from.as<char>() + n * from.stride * size,
                  from.image * size);
    }
    return;
  }
  // One of the two is dense.
  const Operand& pieces = from.dense() ? to : from;
  for (size_t n = 0; n < pieces.images; ++n) {
    const size_t packed = n * pieces.image * size, spread = n * pieces.stride * size;
    std::memcpy(to.as<char>() + (&pieces == &to ? spread : packed),
                from.as<char>() + (&pieces == &from ? spread : packed), pieces.image * size);
  }
}

void CheckValue(const Graph& graph, int index) {
  const Value& value = graph.values[index];
  const bool integer = value.type == ElementType::INT8 || value.type == ElementType::UINT8;
  const bool blocked = value.layout == Layout::CHANNELS_BLOCKED;
  Require(integer || std::count(std::begin(kFloatTypes), std::end(kFloatTypes), value.type),
          "no kernel takes ", Name(value.type));
  Require(!integer || (std::isnormal(value.affine.scale) && value.affine.scale > 0),
          "its scale is ", value.affine.scale);
  Require(value.layout == Layout::PLAIN || (blocked && value.block == ChannelBlock()),
          "channels lie in blocks of ", ChannelBlock(), " here");
  if (graph.IsInput(index) || graph.IsOutput(index)) {
    Require(value.type == ElementType::FLOAT && !blocked && value.view.base < 0,
            "inputs and outputs are plain FLOAT, in memory of their own");
  }
  if (value.view.base < 0) return;
  const auto whole = [](const Value& v) {
    return v.layout == Layout::PLAIN || v.shape[1] % v.block == 0;
  };
  const Value& base = graph.values[value.view.base];
  Require(value.type == base.type && whole(value) && whole(base), "it cannot lie within value '",
          base.name, "'");
}

/// What steps rely on, and what a plan that is damaged may not have.
void CheckValues(const Graph& graph) {
  for (size_t i = 0; i < graph.values.size(); ++i) {
    try {
      CheckValue(graph, static_cast<int>(i));
    } catch (Error& error) {
      error.AddContext("value '" + graph.values[i].name + "'");
      throw;
    }
  }
}

}  // namespace

CpuRunner::CpuRunner(std::shared_ptr<const Graph> graph)
    : graph_(std::move(graph)),
      dependent_(HaveDataDependentShapes(*graph_)),
      shapes_(ShapesOf(*graph_)),
      own_(graph_->values.size()) {
  CheckValues(*graph_);
  for (const Node& node : graph_->nodes) {
    Entry entry;
    entry.step = ImplementationOf(node.implementation).Make(*graph_, node);
    entry.layer = dynamic_cast<LayerStep*>(entry.step.get());
    entry.free = IsFree(*graph_, node);
    const auto depends = [&](int value) { return dependent_[value]; };
    entry.dependent = std::any_of(node.inputs.begin(), node.inputs.end(), depends) ||
                      std::any_of(node.outputs.begin(), node.outputs.end(), depends);
    entries_.push_back(std::move(entry));
  }
  InferShapes(InputShapes(*graph_, BatchOf(*graph_)));
  arena_.Room(graph_->arena_bytes);
  Place();
}

void CpuRunner::SetInputShapes(const std::vector<Shape>& shapes) {
  const std::vector<Shape> before = shapes_;
  try {
    InferShapes(shapes);
    Place();
  } catch (...) {
    shapes_ = before;
    Place();
    throw;
  }
}

std::vector<Shape> CpuRunner::TopShapes(size_t node) {
  std::vector<Shape> inputs;
  for (const int input : graph_->nodes[node].inputs) inputs.push_back(shapes_[input]);
  if (entries_[node].layer) return entries_[node].layer->Reshape(inputs);
  return TopShapesOf(*graph_, graph_->nodes[node], inputs);
}

// Nobody may need more memory than was planned.
void CpuRunner::InferShapes(const std::vector<Shape>& inputs) {
  const auto set = [this](int value, const Shape& shape) {
    const Value& built = graph_->values[value];
    Value now = built;
    now.shape = shape;
    const bool fits = shape.size() == built.shape.size() && BytesOf(now) <= BytesOf(built);
    Require(dependent_[value] || fits, "value '", built.name, "' of shape ", ShapeString(shape),
            " does not fit where shape ", ShapeString(built.shape), " was planned");
    shapes_[value] = shape;
  };
  for (size_t i = 0; i < inputs.size(); ++i) set(graph_->inputs[i], inputs[i]);
  for (size_t i = 0; i < entries_.size(); ++i) {
    const std::vector<Shape> tops = TopShapes(i);
    for (size_t j = 0; j < tops.size(); ++j) set(graph_->nodes[i].outputs[j], tops[j]);
  }
}

void CpuRunner::Place() {
  for (size_t i = 0; i < graph_->values.size(); ++i) {
    const Value& value = graph_->values[i];
    if (value.view.base >= 0 || value.arena_offset >= 0 || value.is_constant()) continue;
    own_[i].Room(BytesOf(value));
  }
  // Dense copies move while they grow: everybody is placed once they have grown.
  for (const bool allocate : {true, false}) {
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (!entries_[i].free && !entries_[i].dependent) PlaceNode(i, allocate);
    }
  }
}

void* CpuRunner::RootMemory(int root) {
  const Value& value = graph_->values[root];
  if (value.is_constant()) return const_cast<void*>(value.data.get());
  if (value.arena_offset >= 0) return static_cast<char*>(arena_.data.get()) + value.arena_offset;
  return own_[root].data.get();
}

Operand CpuRunner::OperandOf(int value) {
  Operand operand = Described(graph_->values[value], shapes_[value]);
  if (graph_->values[value].view.base < 0) {
    operand.data = RootMemory(value);
    return operand;
  }
  const auto region = RegionOf(*graph_, value, shapes_);
  Require(region.has_value(), "value '", graph_->values[value].name, "' of shape ",
          ShapeString(shapes_[value]), " does not lie in even pieces");
  operand.data =
      static_cast<char*>(RootMemory(region->root)) + region->offset * SizeOf(operand.type);
  if (region->contiguous()) return operand;
  operand.images = region->outer;
  operand.image = region->run;
  operand.stride = region->stride;
  return operand;
}

// With `allocate` only makes room. Places whose pieces are not the images, and places that the
// step writes while it reads, are dense copies, too.
void CpuRunner::PlaceNode(size_t index, bool allocate) {
  const Node& node = graph_->nodes[index];
  Entry& entry = entries_[index];
  entry.binding = Binding();
  entry.gathered.clear();
  entry.scattered.clear();
  size_t copies = 0;
  const auto place = [&](int value, bool overlaps, std::vector<Copy>* list) {
    const Operand operand = OperandOf(value);
    const bool images =
        operand.shape.size() >= 2 && operand.images == static_cast<size_t>(operand.shape[0]);
    if (!overlaps && (operand.dense() || (images && entry.step->takes_strides()))) return operand;
    Operand dense = Described(graph_->values[value], shapes_[value]);
    if (copies_.size() <= copies) copies_.resize(copies + 1);
    Memory& memory = copies_[copies++];
    dense.data = allocate ? memory.Room(dense.bytes()) : memory.data.get();
    list->push_back({operand, dense});
    return dense;
  };
  const auto overlaps = [&](int input) {
    return entry.layer && std::any_of(node.outputs.begin(), node.outputs.end(), [&](int output) {
             return RootOf(*graph_, output) == RootOf(*graph_, input);
           });
  };
  for (const int input : node.inputs) {
    entry.binding.inputs.push_back(place(input, overlaps(input), &entry.gathered));
  }
  for (const Epilogue& step : node.epilogue) {
    entry.binding.operands.push_back(
        step.operand < 0 ? Operand() : place(step.operand, false, &entry.gathered));
  }
  for (const int output : node.outputs) {
    entry.binding.outputs.push_back(place(output, false, &entry.scattered));
  }
  if (allocate) return;
  try {
    entry.step->Bind(entry.binding);
  } catch (Error& error) {
    error.AddContext(Join("layer '", node.name(), "' (", node.type(), ")"));
    throw;
  }
  scratch_.Room(entry.step->scratch_bytes());
}

float* CpuRunner::data(int value) { return static_cast<float*>(OperandOf(value).data); }

std::vector<float> CpuRunner::Floats(int value) {
  const Operand place = OperandOf(value);
  Operand dense = Described(graph_->values[value], shapes_[value]);
  std::vector<char> bytes(dense.bytes());
  dense.data = bytes.data();
  CopyPieces(place, dense);
  Value plain;
  plain.shape = shapes_[value];
  Operand result = Described(plain, plain.shape);
  std::vector<float> floats(result.elements());
  result.data = floats.data();
  Node node;
  node.layer.set_type(kReorder);
  node.inputs = node.outputs = {value};
  const auto reorder = Reorder().Make(*graph_, node);
  reorder->Bind({{dense}, {result}, {}});
  reorder->Run(nullptr);
  return floats;
}

size_t CpuRunner::activation_bytes() const {
  size_t bytes = arena_.bytes + scratch_.bytes;
  for (const Memory& memory : own_) bytes += memory.bytes;
  for (const Memory& memory : copies_) bytes += memory.bytes;
  for (const Entry& entry : entries_) bytes += entry.layer ? entry.layer->bytes() : 0;
  return bytes;
}

void CpuRunner::Run(const AfterNode& after) {
  const kernels::FlushDenormals flush_denormals;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].free) continue;
    if (!after) {
      RunEntry(i);
      continue;
    }
    const auto begin = std::chrono::steady_clock::now();
    RunEntry(i);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    after(static_cast<int>(i), took.count());
  }
}

void CpuRunner::RunEntry(size_t index) {
  Entry& entry = entries_[index];
  if (entry.dependent) return RunUnknown(index);
  for (const Copy& copy : entry.gathered) CopyPieces(copy.place, copy.dense);
  entry.step->Run(scratch_.data.get());
  for (const Copy& copy : entry.scattered) CopyPieces(copy.dense, copy.place);
}

// Shapes are found out now; what comes out may have yet another shape.
void CpuRunner::RunUnknown(size_t index) {
  const Node& node = graph_->nodes[index];
  Entry& entry = entries_[index];
  const bool known = ShapesAreKnown(node);
  const std::vector<Shape> tops = TopShapes(index);
  for (size_t i = 0; i < tops.size(); ++i) shapes_[node.outputs[i]] = tops[i];
  Binding binding;
  std::vector<Memory> gathered;
  const auto read = [&](int value) {
    const Operand place = OperandOf(value);
    if (place.dense()) return place;
    Operand dense = Described(graph_->values[value], shapes_[value]);
    dense.data = gathered.emplace_back().Room(dense.bytes());
    CopyPieces(place, dense);
    return dense;
  };
  for (const int input : node.inputs) binding.inputs.push_back(read(input));
  for (const Epilogue& step : node.epilogue) {
    binding.operands.push_back(step.operand < 0 ? Operand() : read(step.operand));
  }
  for (const int output : node.outputs) {
    Value value = graph_->values[output];
    value.shape = shapes_[output];
    if (known) own_[output].Room(BytesOf(value));
    binding.outputs.push_back(known ? OperandOf(output) : Operand());
  }
  entry.step->Bind(binding);
  entry.step->Run(scratch_.Room(entry.step->scratch_bytes()));
  for (size_t i = 0; i < node.outputs.size() && !known; ++i) {
    const int output = node.outputs[i];
    shapes_[output] = entry.layer->top_shape(static_cast<int>(i));
    const size_t bytes = CountOf(shapes_[output]) * sizeof(float);
    if (bytes == 0) continue;
    std::memcpy(own_[output].Room(bytes), entry.layer->top_data(static_cast<int>(i)), bytes);
  }
}

}  // namespace cpu
}  // namespace inference
}  // namespace caffe
