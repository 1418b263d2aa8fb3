#include "reference_runner.hpp"

#include <algorithm>
#include <chrono>

#include "caffe/allocator.hpp"
#include "caffe/blob.hpp"
#include "caffe/core/error_context.hpp"
#include "caffe/error.hpp"
#include "caffe/kernels/parallel.hpp"

namespace caffe::inference {
namespace {

/// Zeros, aligned as every tensor is.
std::shared_ptr<float> Allocate(size_t count) {
  const size_t bytes = std::max<size_t>(1, count) * sizeof(float);
  Allocator* owner = nullptr;
  float* memory = static_cast<float*>(AllocateHost(bytes, &owner));
  std::shared_ptr<float> result(memory, [bytes, owner](float* p) { FreeHost(p, bytes, owner); });
  std::fill_n(memory, count, 0.f);
  return result;
}

}  // namespace

ReferenceRunner::ReferenceRunner(std::shared_ptr<const Graph> graph)
    : graph_(std::move(graph)),
      dependent_(HaveDataDependentShapes(*graph_)),
      shapes_(ShapesOf(*graph_)),
      own_(graph_->values.size()),
      own_count_(graph_->values.size(), 0) {
  for (const Value& value : graph_->values) {
    Require(value.type == ElementType::FLOAT && value.layout == Layout::PLAIN, "value '",
            value.name, "' is ", Name(value.type), ": the reference backend runs plain FLOAT");
  }
  for (const Node& node : graph_->nodes) steps_.emplace_back(node);
  arena_ = Allocate(graph_->arena_bytes / sizeof(float));
  SetInputShapes(InputShapes(*graph_, BatchOf(*graph_)));
}

std::vector<Shape> ReferenceRunner::InputShapesOf(const Node& node) const {
  std::vector<Shape> shapes;
  for (const int input : node.inputs) shapes.push_back(shapes_[input]);
  return shapes;
}

void ReferenceRunner::SetInputShapes(const std::vector<Shape>& shapes) {
  const std::vector<Shape> before = shapes_;
  try {
    Shapes(shapes);
    Place();
  } catch (...) {
    shapes_ = before;
    std::vector<Shape> inputs;
    for (const int input : graph_->inputs) inputs.push_back(shapes_[input]);
    Shapes(inputs);
    Place();
    throw;
  }
}

void ReferenceRunner::Shapes(const std::vector<Shape>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) shapes_[graph_->inputs[i]] = inputs[i];
  for (size_t i = 0; i < graph_->nodes.size(); ++i) {
    const Node& node = graph_->nodes[i];
    const std::vector<Shape> tops = steps_[i].Reshape(InputShapesOf(node));
    for (size_t j = 0; j < tops.size(); ++j) shapes_[node.outputs[j]] = tops[j];
  }
}

// The place of every value in the present shapes.
void ReferenceRunner::Place() {
  regions_.resize(graph_->values.size());
  for (size_t i = 0; i < regions_.size(); ++i) {
    const Value& value = graph_->values[i];
    if (dependent_[i]) continue;
    const auto region = RegionOf(*graph_, i, shapes_);
    Require(region.has_value() && CountOf(shapes_[i]) <= CountOf(value.shape) &&
                region->end() <= CountOf(graph_->values[region->root].shape),
            "value '", value.name, "' of shape ", ShapeString(shapes_[i]),
            " does not fit where shape ", ShapeString(value.shape), " was planned");
    regions_[i] = *region;
    if (value.view.base < 0 && value.arena_offset < 0 && !value.is_constant()) OwnMemory(i);
  }
}

float* ReferenceRunner::OwnMemory(int value) {
  const size_t count = std::max(CountOf(shapes_[value]),
                                dependent_[value] ? 0 : CountOf(graph_->values[value].shape));
  if (!own_[value] || own_count_[value] < count) {
    own_[value] = Allocate(count);
    own_count_[value] = count;
  }
  return own_[value].get();
}

float* ReferenceRunner::RootMemory(int root) const {
  const Value& value = graph_->values[root];
  if (value.is_constant()) {
    return const_cast<float*>(static_cast<const float*>(value.data.get()));
  }
  if (value.arena_offset >= 0) return arena_.get() + value.arena_offset / sizeof(float);
  return own_[root].get();
}

float* ReferenceRunner::data(int value) {
  if (dependent_[value]) return OwnMemory(value);
  const Region& region = regions_[value];
  CHECK(region.contiguous()) << "value " << graph_->values[value].name << " lies in runs";
  return RootMemory(region.root) + region.offset;
}

// A Concat (Slice) of which some values are views: its layer writes these again, in place.
bool ReferenceRunner::LiesInOutput(const Node& node, int input) const {
  const auto root = [this](int value) { return RootOf(*graph_, value); };
  return std::any_of(node.outputs.begin(), node.outputs.end(),
                     [&](int output) { return root(output) == root(input); });
}

/// A value's elements one after another: where they lie, or a copy.
const float* ReferenceRunner::Read(int value, std::vector<float>* copy) const {
  if (dependent_[value]) return own_[value].get();
  const Region& region = regions_[value];
  const float* from = RootMemory(region.root) + region.offset;
  if (region.contiguous()) return from;
  copy->resize(region.outer * region.run);
  for (size_t i = 0; i < region.outer; ++i) {
    std::copy_n(from + i * region.stride, region.run, copy->data() + i * region.run);
  }
  return copy->data();
}

/// Memory to write a value's elements to one after another; Write then puts them in their place.
float* ReferenceRunner::Where(int value, std::vector<float>* copy) {
  if (dependent_[value]) return OwnMemory(value);
  const Region& region = regions_[value];
  if (region.contiguous()) return RootMemory(region.root) + region.offset;
  copy->resize(region.outer * region.run);
  return copy->data();
}

void ReferenceRunner::Write(int value, const float* from) {
  if (dependent_[value] || regions_[value].contiguous()) return;
  const Region& region = regions_[value];
  float* to = RootMemory(region.root) + region.offset;
  for (size_t i = 0; i < region.outer; ++i) {
    std::copy_n(from + i * region.run, region.run, to + i * region.stride);
  }
}

void ReferenceRunner::Run(const AfterNode& after) {
  const kernels::FlushDenormals flush_denormals;
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (IsFree(*graph_, graph_->nodes[i])) continue;
    const auto begin = std::chrono::steady_clock::now();
    WithMemoryErrors([&] { return DescribeLayer(graph_->nodes[i]); }, [&] { RunNode(i); });
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    if (after) after(static_cast<int>(i), took.count());
  }
}

std::vector<float> ReferenceRunner::Floats(int value) {
  std::vector<float> copy;
  const float* from = Read(value, &copy);
  if (from == copy.data()) return copy;
  return {from, from + CountOf(shapes_[value])};
}

size_t ReferenceRunner::activation_bytes() const {
  size_t bytes = graph_->arena_bytes;
  for (const size_t count : own_count_) bytes += count * sizeof(float);
  for (const auto& copy : copies_) bytes += copy.capacity() * sizeof(float);
  for (const NodeChain& step : steps_) bytes += step.bytes();
  return bytes;
}

void ReferenceRunner::RunNode(size_t index) {
  const Node& node = graph_->nodes[index];
  NodeChain& step = steps_[index];
  const bool reshapes =
      std::any_of(node.inputs.begin(), node.inputs.end(), [&](int i) { return dependent_[i]; });
  if (reshapes) {
    const std::vector<Shape> tops = step.Reshape(InputShapesOf(node));
    for (size_t i = 0; i < tops.size(); ++i) shapes_[node.outputs[i]] = tops[i];
  }
  RunStep(node, &step);
}

void ReferenceRunner::RunStep(const Node& node, NodeChain* step) {
  const size_t inputs = node.inputs.size(), outputs = node.outputs.size();
  const size_t steps = node.epilogue.size();
  if (copies_.size() < inputs + outputs + steps) copies_.resize(inputs + outputs + steps);
  std::vector<const float*> bottoms;
  for (size_t i = 0; i < inputs; ++i) {
    bottoms.push_back(Read(node.inputs[i], &copies_[i]));
    if (bottoms[i] == copies_[i].data() || !LiesInOutput(node, node.inputs[i])) continue;
    copies_[i].assign(bottoms[i], bottoms[i] + CountOf(shapes_[node.inputs[i]]));
    bottoms[i] = copies_[i].data();
  }
  std::vector<NodeChain::Operand> operands(steps);
  for (size_t i = 0; i < steps; ++i) {
    const int operand = node.epilogue[i].operand;
    if (operand < 0) continue;
    operands[i] = {shapes_[operand], Read(operand, &copies_[inputs + outputs + i])};
  }
  const bool shapes_known = ShapesAreKnown(node);
  std::vector<float*> tops;
  for (size_t i = 0; i < outputs; ++i) {
    tops.push_back(shapes_known ? Where(node.outputs[i], &copies_[inputs + i]) : nullptr);
  }
  step->Run(bottoms, operands, tops);
  if (!shapes_known) {
    for (size_t i = 0; i < outputs; ++i) {
      shapes_[node.outputs[i]] = step->main().top_shape(i);
      std::copy_n(step->main().top_data(i), CountOf(shapes_[node.outputs[i]]),
                  OwnMemory(node.outputs[i]));
    }
    return;
  }
  for (size_t i = 0; i < outputs; ++i) Write(node.outputs[i], tops[i]);
}

}  // namespace caffe::inference
