#include "byte_step.hpp"

#include <algorithm>

#include "caffe/error.hpp"

namespace caffe::inference::cpu {

void ByteStep::Bind(const Binding& binding) {
  x_ = binding.inputs;
  y_ = binding.outputs[0];
  for (const Operand& x : x_) {
    Require(IsInteger(x) && IsInteger(y_) && x.layout == y_.layout && x.images == y_.images,
            "its blobs are in a layout that the kernel does not take");
  }
}

void ByteStep::Run(void*) {
  const bool dense =
      y_.dense() && std::all_of(x_.begin(), x_.end(), [](const Operand& x) { return x.dense(); });
  std::vector<const void*> x(x_.size());
  for (size_t n = 0; n < (dense ? std::min<size_t>(1, y_.images) : y_.images); ++n) {
    for (size_t i = 0; i < x.size(); ++i) x[i] = x_[i].as<const char>() + n * x_[i].stride;
    Compute(x, y_.as<char>() + n * y_.stride, dense ? y_.images : 1);
  }
}

}  // namespace caffe::inference::cpu
