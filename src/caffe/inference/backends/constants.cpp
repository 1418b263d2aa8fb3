#include "constants.hpp"

#include <algorithm>
#include <cstring>
#include <random>

#include "caffe/allocator.hpp"
#include "caffe/error.hpp"
#include "caffe/kernels/convert.hpp"
#include "element_types.hpp"

namespace caffe::inference {

Constant NewConstant(ElementType type, size_t count) {
  const size_t bytes = std::max<size_t>(1, count) * SizeOf(type);
  Allocator* owner = nullptr;
  void* memory = AllocateHost(bytes, &owner);
  std::memset(memory, 0, bytes);
  return {{static_cast<int>(count)},
          type,
          std::shared_ptr<const void>(memory, [bytes, owner](const void* p) {
            FreeHost(const_cast<void*>(p), bytes, owner);
          })};
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

void RequireParameter(const Node& node, size_t index, ElementType type, size_t count) {
  Require(index < node.parameters.size(), "parameter ", index, " is missing");
  const Constant& parameter = node.parameters[index];
  Require(parameter.type == type && parameter.count() == count, "parameter ", index, " has ",
          parameter.count(), " elements of type ", Name(parameter.type), ", not ", count, " of ",
          Name(type));
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

}  // namespace caffe::inference
