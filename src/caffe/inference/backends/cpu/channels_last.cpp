#include "channels_last.hpp"

#include <algorithm>
#include <cstring>

#include "caffe/error.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/parallel.hpp"

namespace caffe::inference::cpu {

Lanes LanesOf(const Operand& operand) {
  const size_t images = operand.shape[0];
  if (operand.channels_last()) return {images, static_cast<int>(operand.image)};
  return {images * kernels::CeilDiv(operand.shape[1], operand.block), operand.block};
}

Shape ShapeByPosition(const Operand& operand) {
  if (!operand.channels_last()) return operand.shape;
  return {static_cast<int>(operand.images), operand.shape[1], 1, 1};
}

kernels::ChannelsLast PixelsOf(const Operand& x, const Operand& y) {
  Require(x.channels_last() && y.channels_last() && x.image == y.image,
          "its blobs are in a layout that the kernel does not take");
  return {x.image, x.stride, y.stride};
}

kernels::ImageStrides StridesOf(const Operand& x, const Operand& y, const Operand& residual) {
  kernels::ImageStrides strides;
  const auto set = [](const Operand& operand, size_t* image, size_t* pixel) {
    if (operand.channels_last()) {
      *pixel = operand.dense() ? operand.image : operand.stride;
    } else if (!operand.dense()) {
      *image = operand.stride;
    }
  };
  set(x, &strides.x, &strides.x_pixel);
  set(y, &strides.y, &strides.y_pixel);
  if (residual.data) set(residual, &strides.residual, &strides.residual_pixel);
  return strides;
}

void ClearPadding(const Operand& operand) {
  const size_t size = SizeOf(operand.type), used = operand.shape[1];
  if (used >= operand.image) return;
  const size_t grain = std::max<size_t>(1, (1 << 14) / operand.image);
  kernels::ParallelFor(operand.images, grain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      std::memset(operand.as<char>() + (i * operand.stride + used) * size, 0,
                  (operand.image - used) * size);
    }
  });
}

}  // namespace caffe::inference::cpu
