#ifndef CAFFE_INFERENCE_BACKENDS_CUDA_CUDA_TARGET_HPP_
#define CAFFE_INFERENCE_BACKENDS_CUDA_CUDA_TARGET_HPP_

#include <vector>

#include "caffe/inference/backends/target.hpp"
#include "caffe/inference/graph/constants.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/kernels/cuda/channels_last.hpp"

namespace caffe::inference::cuda {

constexpr Layout::Kind kPlain = Layout::PLAIN;
constexpr Layout::Kind kLast = Layout::CHANNELS_LAST;

// The families of kernels.
const Implementation& Convolution();
const Implementation& InnerProduct();
const Implementation& Gemm();
const Implementation& Pooling();
const Implementation& AcrossChannels();
const Implementation& Elementwise();
const Implementation& IntegerOperation();
const Implementation& IntegerWeights();
const Implementation& Moving();
const Implementation& Reorder();
const Implementation& AnyLayer();

/// In channels-last values of this type channels are padded to a multiple of it: 16 bytes, or the
/// alignment that tensor cores prefer. The padding is finite but unspecified.
int ChannelMultiple(ElementType type);
/// `channels`, padded.
int PadChannels(int channels, ElementType type);

/// An operand with channels last, padding included; or a plain dense one as one pixel.
caffe::cuda::Pixels PixelsOf(const Operand& operand);
caffe::cuda::Planes PlanesOf(const Operand& operand);
/// Throws Error where a plain operand has gaps, or a number is too large for kernels.
int PixelCount(const Operand& operand);
int ChannelCount(const Operand& operand);

/// The operations on a node's sums; slopes of PRELU, one float for each output on the device, may
/// be null.
kernels::Activation ActivationOf(const NodePostOps& epilogue, const void* slopes);

/// `values`, padded with `fill` to `count`.
std::vector<float> Padded(std::vector<float> values, size_t count, float fill = 0);

}  // namespace caffe::inference::cuda

#endif  // CAFFE_INFERENCE_BACKENDS_CUDA_CUDA_TARGET_HPP_
