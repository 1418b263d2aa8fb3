#include "implementation.hpp"

#include <algorithm>

#include "caffe/error.hpp"
#include "caffe/kernels/instruction_set.hpp"

namespace caffe {
namespace inference {
namespace cpu {

std::string ToString(const Format& format) {
  return std::string(Name(format.type)) + (format.blocked ? " blocked" : "");
}

int ChannelBlock() {
  return kernels::CpuInstructionSet() == kernels::InstructionSet::AVX512 ? 16 : 8;
}

bool Context::Stores(ElementType type) const {
  return std::find(storage.begin(), storage.end(), type) != storage.end();
}

const std::vector<const Implementation*>& Implementations() {
  static const std::vector<const Implementation*> all = {&WinogradConvolution(),
                                                         &PackedConvolution(),
                                                         &OneDnnConvolution(),
                                                         &Int8Winograd(),
                                                         &Int8Convolution(),
                                                         &InnerProduct(),
                                                         &Int8InnerProduct(),
                                                         &BlasInnerProduct(),
                                                         &Pooling(),
                                                         &Moving(),
                                                         &Reorder(),
                                                         &AnyLayer()};
  return all;
}

const Implementation& ImplementationOf(const std::string& name) {
  for (const Implementation* implementation : Implementations()) {
    if (implementation->name() == name) return *implementation;
  }
  Fail("there is no implementation '", name, "': was the plan built by another version?");
}

Operand Described(const Value& value, const Shape& shape) {
  Operand operand;
  operand.shape = shape;
  operand.type = value.type;
  operand.blocked = value.layout == Layout::CHANNELS_BLOCKED;
  operand.block = operand.blocked ? value.block : 1;
  operand.scale = value.affine.scale;
  size_t elements = CountOf(shape);
  if (operand.blocked) {
    const size_t channels = shape[1], block = operand.block;
    elements = channels == 0 ? 0 : elements / channels * ((channels + block - 1) / block * block);
  }
  operand.images = shape.size() < 2 ? 1 : static_cast<size_t>(shape[0]);
  operand.image = operand.images == 0 ? 0 : elements / operand.images;
  operand.stride = operand.image;
  return operand;
}

}  // namespace cpu
}  // namespace inference
}  // namespace caffe
