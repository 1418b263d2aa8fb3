#include "row_chain.hpp"

namespace caffe::kernels {

ChainRows RowsUnder(const ConvolutionShape& shape, const ChainRows& outputs) {
  const int first = outputs.begin * shape.stride[0] - shape.pad[0];
  const int last = (outputs.end - 1) * shape.stride[0] - shape.pad[0] +
                   (shape.kernel[0] - 1) * shape.dilation[0];
  const int begin = std::clamp(first, 0, shape.input[0] - 1);
  return {begin, std::clamp(last + 1, begin + 1, shape.input[0])};
}

ConvolutionShape OfRows(ConvolutionShape shape, const ChainRows& inputs, const ChainRows& outputs) {
  shape.pad[0] += inputs.begin - outputs.begin * shape.stride[0];
  shape.input[0] = inputs.count();
  shape.output[0] = outputs.count();
  return shape;
}

bool Follows(const ConvolutionShape& next, const ConvolutionShape& before) {
  return next.channels == before.outputs && next.input == before.output;
}

size_t PixelBetween(const ConvolutionShape& shape, size_t element, bool read_in_place) {
  const size_t line = 64 / element, channels = RoundUp(shape.outputs, 16);
  return read_in_place && channels > line ? RoundUp(channels, line) : channels;
}

}  // namespace caffe::kernels
