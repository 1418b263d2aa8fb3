#include "lowered_runner.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "caffe/allocator.hpp"
#include "caffe/blob.hpp"
#include "caffe/core/error_context.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/graph/node_layer.hpp"
#include "caffe/inference/graph/regions.hpp"
#include "caffe/inference/graph/top_shapes.hpp"
#include "element_types.hpp"
#include "operand_places.hpp"

namespace caffe::inference {
namespace {

void CheckValue(const Graph& graph, const Target& target, int index) {
  const Value& value = graph.values[index];
  const bool integer = IsByteType(value.type);
  Require(integer || IsFloatType(value.type), "no kernel takes ", Name(value.type));
  Require(!integer || (std::isnormal(value.affine.scale) && value.affine.scale > 0),
          "its scale is ", value.affine.scale);
  const bool is_unsigned = value.type == ElementType::UINT8;
  Require(!integer || (value.affine.zero_point >= (is_unsigned ? 0 : -128) &&
                       value.affine.zero_point <= (is_unsigned ? 255 : 127)),
          "its zero point is ", value.affine.zero_point);
  Value wanted = value;
  SetFormat(target, {value.type, value.layout}, Range(), &wanted);
  Require(HasLayout(target, value.layout), "kernels do not take its layout here");
  Require(value.block == wanted.block, "channels lie in blocks of ", wanted.block, " here");
  Require(value.layout == Layout::PLAIN || value.shape.size() >= 2, "it has no channels");
  if (graph.IsInput(index) || graph.IsOutput(index)) {
    Require(
        value.type == ElementType::FLOAT && value.layout == Layout::PLAIN && value.view.base < 0,
        "inputs and outputs are plain FLOAT, in memory of their own");
  }
  if (value.view.base < 0) return;
  const Value& base = graph.values[value.view.base];
  const bool all = CountOf(value.shape) == CountOf(base.shape);
  Require(value.type == base.type && (all || value.layout == base.layout) &&
              HasWholeBlocks(value) && HasWholeBlocks(base),
          "it cannot be part of value '", base.name, "'");
}

/// Checks what steps rely on and a damaged plan may violate.
void CheckValues(const Graph& graph, const Target& target) {
  for (size_t i = 0; i < graph.values.size(); ++i) {
    try {
      CheckValue(graph, target, static_cast<int>(i));
    } catch (Error& error) {
      error.AddContext("value '" + graph.values[i].name + "'");
      throw;
    }
  }
}

}  // namespace

/// Moves pieces of equal size.
void LoweredRunner::CopyPieces(const Operand& from, const Operand& to) {
  const size_t size = SizeOf(from.type);
  // One of the two is dense where they are cut differently.
  const Operand& pieces = from.images == to.images || !from.dense() ? from : to;
  const auto stride = [&](const Operand& operand) {
    return (operand.images == pieces.images ? operand.stride : pieces.image) * size;
  };
  memory_->CopyRows(pieces.images, pieces.image * size, from.data, stride(from), to.data,
                    stride(to));
}

void* LoweredRunner::Grow(size_t wanted, Buffer* buffer) {
  wanted = std::max<size_t>(wanted, Allocator::kAlignment);
  if (buffer->data && buffer->bytes >= wanted) return buffer->data.get();
  *buffer = Buffer();
  buffer->data = memory_->Allocate(wanted);
  buffer->bytes = wanted;
  return buffer->data.get();
}

LoweredRunner::LoweredRunner(std::shared_ptr<const Graph> graph, const Target& target,
                             std::unique_ptr<TargetMemory> memory)
    : graph_(std::move(graph)),
      target_(target),
      memory_(std::move(memory)),
      dependent_(HaveDataDependentShapes(*graph_)),
      shapes_(ShapesOf(*graph_)),
      gaps_(*graph_),
      own_(graph_->values.size()),
      given_(graph_->values.size(), nullptr) {
  CheckValues(*graph_, target_);
  entries_ = MakeEntries();
  inputs_ = InputShapes(*graph_, BatchOf(*graph_));
  wanted_ = graph_->arena_bytes;
  Settle();
}

std::vector<LoweredRunner::Entry> LoweredRunner::MakeEntries() const {
  std::vector<Entry> entries;
  for (const Node& node : graph_->nodes) {
    Entry entry;
    entry.step = WithMemoryErrors(
        [&] { return DescribeLayer(node); },
        [&] { return ImplementationOf(target_, node.implementation).Make(*graph_, node); });
    entry.layer = dynamic_cast<LayerStep*>(entry.step.get());
    entry.free = IsFree(*graph_, node);
    const auto depends = [&](int value) { return dependent_[value]; };
    entry.dependent = std::any_of(node.inputs.begin(), node.inputs.end(), depends) ||
                      std::any_of(node.outputs.begin(), node.outputs.end(), depends);
    entries.push_back(std::move(entry));
  }
  return entries;
}

void LoweredRunner::RenewSteps() {
  is_settled_ = false;
  entries_ = MakeEntries();
  Settle();
}

// Where memory ends, going back may fail, too: so the next use goes back.
void LoweredRunner::SetInputShapes(const std::vector<Shape>& shapes) {
  std::vector<Shape> shapes_before = shapes_, inputs_before = shapes;
  const size_t wanted_before = wanted_;
  inputs_before.swap(inputs_);
  is_settled_ = false;
  try {
    Settle();
  } catch (...) {
    shapes_.swap(shapes_before);
    inputs_.swap(inputs_before);
    wanted_ = wanted_before;
    throw;
  }
}

void LoweredRunner::Settle() {
  if (is_settled_) return;
  InferShapes(inputs_);
  Place();
  is_settled_ = true;
}

std::vector<Shape> LoweredRunner::TopShapes(size_t node) {
  std::vector<Shape> inputs;
  for (const int input : graph_->nodes[node].inputs) inputs.push_back(shapes_[input]);
  if (entries_[node].layer) return entries_[node].layer->Reshape(inputs);
  return TopShapesOf(*graph_, graph_->nodes[node], inputs);
}

// No value may need more memory than was planned.
void LoweredRunner::InferShapes(const std::vector<Shape>& inputs) {
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

// How much scratch memory steps need is known once they have been placed.
void LoweredRunner::Place() {
  const auto place = [this] {
    WithContext([&] { return "memory for the activations of engine '" + graph_->name + "'"; },
                [&] { Grow(wanted_, &arena_); });
    PlaceInArena();
  };
  target_.Prepare(place);
  do {
    place();
  } while (wanted_ > arena_.bytes);
}

void LoweredRunner::PlaceInArena() {
  for (size_t i = 0; i < graph_->values.size(); ++i) {
    const Value& value = graph_->values[i];
    if (value.view.base >= 0 || value.arena_offset >= 0 || value.is_constant()) continue;
    Grow(BytesOf(value), &own_[i]);
  }
  // Dense copies move while they grow, so operands are placed afterwards.
  for (const bool allocate : {true, false}) {
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (!entries_[i].free && !entries_[i].dependent) PlaceNode(i, allocate);
    }
  }
}

void* LoweredRunner::RootMemory(int root) {
  const Value& value = graph_->values[root];
  if (given_[root]) return given_[root];
  if (value.is_constant()) return const_cast<void*>(memory_->PlaceOf(value.data));
  if (value.arena_offset >= 0) return static_cast<char*>(arena_.data.get()) + value.arena_offset;
  return own_[root].data.get();
}

Operand LoweredRunner::OperandOf(int value) {
  return OperandAt(*graph_, value, shapes_, [this](int root) { return RootMemory(root); });
}

/// True where kernels take it: roots are aligned, a view may begin anywhere within one.
bool LoweredRunner::IsAligned(const Operand& operand) const {
  return reinterpret_cast<uintptr_t>(operand.data) % target_.alignment() == 0;
}

// With `allocate` only allocates memory. Places whose pieces are not the images (the pixels, where
// channels lie last), places where kernels cannot begin, and places that the step writes while it
// reads, are dense copies, too.
void LoweredRunner::PlaceNode(size_t index, bool allocate) {
  const Node& node = graph_->nodes[index];
  Entry& entry = entries_[index];
  entry.binding = Binding();
  entry.gathered.clear();
  entry.scattered.clear();
  size_t copies = 0;
  const auto place = [&](int value, bool overlaps, std::vector<Copy>* list) {
    const Operand operand = OperandOf(value);
    Operand dense = Described(graph_->values[value], shapes_[value]);
    const bool takes = TakesAsItLies(*entry.step, operand, dense);
    if (!overlaps && takes && IsAligned(operand)) return operand;
    if (copies_.size() <= copies) copies_.resize(copies + 1);
    Buffer& buffer = copies_[copies++];
    dense.data = allocate ? Grow(dense.bytes(), &buffer) : buffer.data.get();
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
  entry.binding.parameters = PlacesOfParameters(index);
  WithLayer(node, [&] {
    entry.step->Bind(entry.binding);
    entry.scratch = gaps_.Place(index, entry.step->scratch_bytes());
    wanted_ = std::max(wanted_, entry.scratch + entry.step->scratch_bytes());
  });
}

// A layer has its parameters itself.
std::vector<const void*> LoweredRunner::PlacesOfParameters(size_t node) {
  std::vector<const void*> places;
  if (entries_[node].layer) return places;
  for (const Constant& parameter : graph_->nodes[node].parameters) {
    places.push_back(memory_->PlaceOf(parameter.data));
  }
  return places;
}

void LoweredRunner::SetPlace(int value, void* memory) {
  Settle();
  void* const before = given_[value];
  is_settled_ = false;
  try {
    Move(value, memory);
  } catch (...) {
    given_[value] = before;
    throw;
  }
  is_settled_ = true;
}

void LoweredRunner::Move(int value, void* memory) {
  given_[value] = memory;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].free || entries_[i].dependent) continue;
    const Node& node = graph_->nodes[i];
    std::vector<int> touched = node.Reads();
    touched.insert(touched.end(), node.outputs.begin(), node.outputs.end());
    const auto lies_within = [&](int other) { return RootOf(*graph_, other) == value; };
    if (std::any_of(touched.begin(), touched.end(), lies_within)) PlaceNode(i, false);
  }
  if (wanted_ > arena_.bytes) Place();
}

void LoweredRunner::Clear() {
  entries_.clear();
  own_.clear();
  copies_.clear();
  arena_ = scratch_ = Buffer();
  memory_.reset();
}

std::vector<float> LoweredRunner::Floats(int value) {
  Settle();
  const Operand place = OperandOf(value);
  Operand dense = Described(graph_->values[value], shapes_[value]);
  Buffer dense_buffer, result_buffer;
  dense.data = Grow(dense.bytes(), &dense_buffer);
  CopyPieces(place, dense);
  Value plain;
  plain.shape = shapes_[value];
  Operand result = Described(plain, plain.shape);
  result.data = Grow(result.bytes(), &result_buffer);
  Node node;
  node.layer.set_type(kReorder);
  node.inputs = node.outputs = {value};
  const auto reorder = target_.reorder().Make(*graph_, node);
  reorder->Bind({{dense}, {result}, {}, {}});
  reorder->Run(nullptr);
  std::vector<float> floats(result.elements());
  memory_->Read(result.data, result.bytes(), floats.data());
  return floats;
}

size_t LoweredRunner::activation_bytes() const {
  size_t bytes = arena_.bytes + scratch_.bytes;
  for (const Buffer& buffer : own_) bytes += buffer.bytes;
  for (const Buffer& buffer : copies_) bytes += buffer.bytes;
  for (const Entry& entry : entries_) bytes += entry.layer ? entry.layer->bytes() : 0;
  return bytes;
}

void LoweredRunner::Run(const AfterNode& after) {
  Settle();
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].free) continue;
    const auto run = [&] {
      WithMemoryErrors([&] { return DescribeLayer(graph_->nodes[i]); }, [&] { RunEntry(i); });
    };
    if (!after) {
      run();
      continue;
    }
    const auto begin = std::chrono::steady_clock::now();
    run();
    memory_->Wait();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    after(static_cast<int>(i), took.count());
  }
}

void LoweredRunner::RunEntry(size_t index) {
  Entry& entry = entries_[index];
  if (entry.dependent) return RunUnknown(index);
  for (const Copy& copy : entry.gathered) CopyPieces(copy.place, copy.dense);
  entry.step->Run(static_cast<char*>(arena_.data.get()) + entry.scratch);
  for (const Copy& copy : entry.scattered) CopyPieces(copy.dense, copy.place);
}

// Shapes are inferred now; the outputs' may still change in the run.
void LoweredRunner::RunUnknown(size_t index) {
  const Node& node = graph_->nodes[index];
  Entry& entry = entries_[index];
  const bool known = ShapesAreKnown(node);
  const std::vector<Shape> tops = TopShapes(index);
  for (size_t i = 0; i < tops.size(); ++i) shapes_[node.outputs[i]] = tops[i];
  Binding binding;
  std::vector<Buffer> gathered;
  const auto read = [&](int value) {
    const Operand place = OperandOf(value);
    if (place.dense() && IsAligned(place)) return place;
    Operand dense = Described(graph_->values[value], shapes_[value]);
    dense.data = Grow(dense.bytes(), &gathered.emplace_back());
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
    if (known) Grow(BytesOf(value), &own_[output]);
    binding.outputs.push_back(known ? OperandOf(output) : Operand());
  }
  binding.parameters = PlacesOfParameters(index);
  entry.step->Bind(binding);
  entry.step->Run(Grow(entry.step->scratch_bytes(), &scratch_));
  for (size_t i = 0; i < node.outputs.size() && !known; ++i) {
    const int output = node.outputs[i];
    shapes_[output] = entry.layer->top_shape(static_cast<int>(i));
    const size_t bytes = CountOf(shapes_[output]) * sizeof(float);
    if (bytes == 0) continue;
    memory_->CopyRows(1, bytes, entry.layer->top_data(static_cast<int>(i)), bytes,
                      Grow(bytes, &own_[output]), bytes);
  }
}

}  // namespace caffe::inference
