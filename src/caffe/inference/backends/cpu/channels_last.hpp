#ifndef CAFFE_INFERENCE_BACKENDS_CPU_CHANNELS_LAST_HPP_
#define CAFFE_INFERENCE_BACKENDS_CPU_CHANNELS_LAST_HPP_

#include <cstddef>

#include "caffe/inference/backends/step.hpp"
#include "caffe/kernels/channels_last.hpp"
#include "caffe/kernels/image_strides.hpp"

// Kernels for channels in blocks take values with channels last, too: positions of an image are
// planes of one block, or pixels are images of one position.
namespace caffe::inference::cpu {

/// A dense value as planes with so many channels at each position: all of an image's, padding
/// included, with channels last; else those of a block, or one.
struct Lanes {
  size_t planes = 0;
  int lanes = 1;
};
Lanes LanesOf(const Operand& operand);

/// The shape of a value whose kernel sees one position at a time: with channels last (pixels,
/// channels, 1, 1), which is in blocks of channels, else its own.
Shape ShapeByPosition(const Operand& operand);

/// How kernels find the pixels of values with channels last. Throws Error unless they have as many
/// channels.
kernels::ChannelsLast PixelsOf(const Operand& x, const Operand& y);

/// Where the images, or with channels last the pixels, of a convolution's operands begin.
/// `residual` has no data where there is none.
kernels::ImageStrides StridesOf(const Operand& x, const Operand& y, const Operand& residual);

/// Clears the padding of the pixels of a value with channels last.
void ClearPadding(const Operand& operand);

}  // namespace caffe::inference::cpu

#endif  // CAFFE_INFERENCE_BACKENDS_CPU_CHANNELS_LAST_HPP_
