#include "constants.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "caffe/allocator.hpp"
#include "caffe/core/dispatch_float.hpp"
#include "caffe/error.hpp"
#include "caffe/kernels/convert.hpp"

namespace caffe::inference {

Constant NewConstant(ElementType type, size_t count) {
  const size_t bytes = std::max<size_t>(1, count) * SizeOf(type);
  Allocator* owner = nullptr;
  void* const memory = AllocateHost(bytes, &owner);
  const std::shared_ptr<void> data(memory, [bytes, owner](void* p) { FreeHost(p, bytes, owner); });
  std::memset(memory, 0, bytes);
  return {{static_cast<int>(count)}, type, data};
}

namespace {

template <typename Function>
void ForEachConstant(const Node& node, Function&& f) {
  for (const Constant& parameter : node.parameters) f(parameter);
  for (const Epilogue& step : node.epilogue) {
    for (const Constant& parameter : step.parameters) f(parameter);
  }
}

}  // namespace

size_t WeightBytes(const Node& node) {
  size_t bytes = 0;
  ForEachConstant(node, [&](const Constant& constant) { bytes += BytesOf(constant); });
  return bytes;
}

size_t WeightBytes(const std::vector<const Graph*>& graphs) {
  std::set<const void*> counted;
  size_t bytes = 0;
  const auto add = [&](const void* data, size_t size) {
    if (counted.insert(data).second) bytes += size;
  };
  for (const Graph* graph : graphs) {
    for (const Node& node : graph->nodes) {
      ForEachConstant(node, [&](const Constant& c) { add(c.data.get(), BytesOf(c)); });
    }
    for (const Value& value : graph->values) {
      if (value.is_constant()) add(value.data.get(), BytesOf(value));
    }
  }
  return bytes;
}

std::vector<float> RoundedTo(ElementType type, const Constant& constant) {
  std::vector<float> values = constant.ToVector();
  if (type == ElementType::FLOAT) return values;
  DispatchFloat(type, [&](auto narrow) {
    std::vector<decltype(narrow)> rounded(values.size());
    kernels::Convert(values.size(), values.data(), rounded.data());
    kernels::Convert(values.size(), rounded.data(), values.data());
  });
  return values;
}

void RequireParameter(const std::vector<Constant>& parameters, size_t index, ElementType type,
                      size_t count) {
  Require(index < parameters.size(), "parameter ", index, " is missing");
  const Constant& parameter = parameters[index];
  Require(parameter.type == type && parameter.count() == count, "parameter ", index, " has ",
          parameter.count(), " elements of type ", Name(parameter.type), ", not ", count, " of ",
          Name(type));
}

std::vector<kernels::Multiplier> MultipliersOf(const std::vector<Constant>& parameters,
                                               size_t index, size_t count) {
  const int32_t* values = ParameterOf<int32_t>(parameters, index, ElementType::INT32, 2 * count);
  std::vector<kernels::Multiplier> multipliers;
  for (size_t i = 0; i < count; ++i) multipliers.push_back({values[2 * i], values[2 * i + 1]});
  for (const kernels::Multiplier& multiplier : multipliers) {
    Require(multiplier.shift >= -31 && multiplier.shift <= 30, "parameter ", index,
            " has a multiplier with shift ", multiplier.shift);
  }
  return multipliers;
}

}  // namespace caffe::inference
