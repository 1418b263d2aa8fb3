#include "target.hpp"

#include <algorithm>
#include <random>

#include "caffe/core/unsupported.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/kernels/convert.hpp"

namespace caffe::inference {

std::string ToString(const Format& format) {
  const char* const layouts[] = {"", " channels last", " blocked"};
  return std::string(Name(format.type)) + layouts[format.layout];
}

bool LoweringContext::Stores(ElementType type) const {
  return std::find(storage.begin(), storage.end(), type) != storage.end();
}

void LoweringContext::Note(const std::string& reason) const {
  if (reasons) reasons->push_back(reason);
}

std::vector<Candidate> LoweringContext::None(const std::string& reason) const {
  Note(reason);
  return {};
}

std::string LoweringContext::WhyNotInt8(int value) const {
  if (!Stores(ElementType::INT8)) return "computes in INT8, which is not asked for";
  if (ranges[value].known()) return "";
  return "needs the range of '" + graph.values[value].name + "' for INT8, which is not known";
}

std::string Candidate::FullName() const {
  const std::string name = implementation->name();
  return variant.empty() ? name : name + ":" + variant;
}

std::string VariantOf(const Node& node) {
  const size_t colon = node.implementation.find(':');
  return colon == std::string::npos ? "" : node.implementation.substr(colon + 1);
}

void PackParameters(const Implementation& implementation, const Graph& graph, Node* node) {
  node->parameters = implementation.Pack(graph, *node);
  for (Epilogue& step : node->epilogue) {  // the node has them now
    if (MultipliesWeights(step)) step.parameters.clear();
  }
}

std::vector<Constant> Implementation::Pack(const Graph&, const Node& node) const {
  return node.parameters;
}

bool HaveRanges(const LoweringContext& context, const Node& node) {
  for (const std::vector<int>* values : {&node.inputs, &node.outputs}) {
    for (const int value : *values) {
      const std::string reason = context.WhyNotInt8(value);
      if (reason.empty()) continue;
      context.Note(reason);
      return false;
    }
  }
  return context.Stores(ElementType::INT8);
}

Candidate Formats(const Implementation& implementation, const Node& node, ElementType math,
                  const Format& input, const Format& output) {
  Candidate candidate;
  candidate.implementation = &implementation;
  candidate.math = math;
  candidate.inputs.assign(node.inputs.size(), input);
  candidate.operands.assign(node.epilogue.size(), output);
  candidate.outputs.assign(node.outputs.size(), output);
  return candidate;
}

Operand Described(const Value& value, const Shape& shape) {
  Operand operand;
  operand.shape = shape;
  operand.type = value.type;
  operand.layout = value.layout;
  operand.block = value.layout == Layout::PLAIN ? 1 : value.block;
  operand.scale = value.affine.scale;
  operand.zero_point = value.affine.zero_point;
  Value described = value;
  described.shape = shape;
  const size_t elements = BytesOf(described) / SizeOf(value.type);
  if (value.layout == Layout::CHANNELS_LAST) {
    operand.images = shape[1] == 0 ? 0 : CountOf(shape) / shape[1];
  } else {
    operand.images = shape.size() < 2 ? 1 : static_cast<size_t>(shape[0]);
  }
  operand.image = operand.images == 0 ? 0 : elements / operand.images;
  operand.stride = operand.image;
  return operand;
}

bool HasLayout(const Target& target, Layout::Kind layout) {
  const std::vector<Layout::Kind>& all = target.layouts();
  return layout == Layout::PLAIN || std::find(all.begin(), all.end(), layout) != all.end();
}

const Implementation& ImplementationOf(const Target& target, const std::string& name) {
  const std::string family = name.substr(0, name.find(':'));
  std::vector<const Implementation*> all = target.implementations();
  const std::vector<const Implementation*> joining = target.joining();
  all.insert(all.end(), joining.begin(), joining.end());
  for (const Implementation* implementation : all) {
    if (implementation->name() != family) continue;
    Require(name == family || implementation->has_variants(), "implementation '", family,
            "' has no variants, and '", name,
            "' names one: was the plan built by another version?");
    return *implementation;
  }
  Fail("there is no implementation '", family, "': was the plan built by another version?");
}

void FillLikeActivations(ElementType type, size_t count, void* elements) {
  std::minstd_rand random(1);
  if (SizeOf(type) == 1) {
    uint8_t* const integers = static_cast<uint8_t*>(elements);
    for (size_t i = 0; i < count; ++i) integers[i] = random() >> 8 & 0x3f;
    return;
  }
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random() % 2048) / 1024 - 1;
  kernels::Convert(count, ElementType::FLOAT, values.data(), 1, 0, type, elements, 1, 0);
}

void RequireWorkspace(size_t scratch_bytes, size_t max_workspace) {
  if (max_workspace == 0 || scratch_bytes <= max_workspace) return;
  throw LacksMemory(Join("needs ", scratch_bytes, " bytes of scratch memory, and may take ",
                         max_workspace, " (max_workspace)"));
}

bool RoundsInputs(const Target& target, const Graph& graph, const Node& node) {
  const auto& all = target.implementations();
  return std::any_of(all.begin(), all.end(), [&](const Implementation* implementation) {
    return implementation->RoundsInputs(graph, node);
  });
}

void SetFormat(const Target& target, const Format& format, const Range& range, Value* value) {
  value->type = format.type;
  value->affine = AffineParameters();
  if (format.type == ElementType::INT8) {
    if (range.is_unsigned) value->type = ElementType::UINT8;
    value->affine = {range.scale, range.zero_point};
  }
  value->layout = format.layout;
  value->block = format.layout == Layout::PLAIN ? 1 : target.block(value->type);
}

}  // namespace caffe::inference
