#include "byte_step.hpp"

#include <algorithm>

#include "caffe/error.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/parallel.hpp"
#include "copy_rows.hpp"

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
  if (!dense && y_.channels_last()) return RunPixels();
  std::vector<const void*> x(x_.size());
  for (size_t n = 0; n < (dense ? std::min<size_t>(1, y_.images) : y_.images); ++n) {
    for (size_t i = 0; i < x.size(); ++i) x[i] = x_[i].as<const char>() + n * x_[i].stride;
    Compute(x, y_.as<char>() + n * y_.stride, dense ? y_.images : 1);
  }
}

// Pixels are short: those with gaps are copied to and from the cache, many at a time.
void ByteStep::RunPixels() {
  constexpr size_t kBytes = 1 << 13;
  const size_t many = std::max<size_t>(1, kBytes / std::max<size_t>(1, y_.image));
  kernels::ParallelFor(kernels::CeilDiv(y_.images, many), 1, [&](size_t begin, size_t end) {
    std::vector<std::vector<char>> copies(x_.size());
    std::vector<char> made(y_.dense() ? 0 : many * y_.image);
    std::vector<const void*> x(x_.size());
    for (size_t part = begin; part < end; ++part) {
      const size_t first = part * many, some = std::min(many, y_.images - first);
      for (size_t i = 0; i < x.size(); ++i) {
        const char* from = x_[i].as<const char>() + first * x_[i].stride;
        x[i] = from;
        if (x_[i].dense()) continue;
        copies[i].resize(many * x_[i].image);
        CopyRows(some, x_[i].image, from, x_[i].stride, copies[i].data(), x_[i].image);
        x[i] = copies[i].data();
      }
      char* const to = y_.as<char>() + first * y_.stride;
      Compute(x, y_.dense() ? to : made.data(), some);
      if (!y_.dense()) CopyRows(some, y_.image, made.data(), y_.image, to, y_.stride);
    }
  });
}

}  // namespace caffe::inference::cpu
