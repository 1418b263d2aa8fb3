#ifndef CAFFE_INFERENCE_BACKENDS_CPU_CPU_TARGET_HPP_
#define CAFFE_INFERENCE_BACKENDS_CPU_CPU_TARGET_HPP_

#include "caffe/inference/backends/target.hpp"

namespace caffe::inference::cpu {

/// This machine's CPU, with the number of threads that OpenMP would use now; its kernels prefer
/// channels in blocks, or last.
const Target& CpuTarget();

constexpr Layout::Kind kPlain = Layout::PLAIN;
constexpr Layout::Kind kBlocked = Layout::CHANNELS_BLOCKED;
constexpr Layout::Kind kChannelsLast = Layout::CHANNELS_LAST;

/// Channels in a block, on the instruction set in use: 8 or 16. In channels last those of a pixel
/// are padded to a multiple of it: the bytes of the padding are 0 in both.
int ChannelBlock();

// The families of kernels.
const Implementation& OneDnnConvolution();
const Implementation& OneDnnBFloat16Convolution();
const Implementation& WinogradConvolution();
const Implementation& PackedConvolution();
const Implementation& PairConvolution();
const Implementation& ChannelsLastConvolution();
const Implementation& Int8Convolution();
const Implementation& Int8SmallPairs();
const Implementation& Int8Winograd();
const Implementation& Int8ChannelsLast();
const Implementation& SeparableBlock();
const Implementation& Int8Chain();
const Implementation& PackedChain();
const Implementation& Deconvolution();
const Implementation& PackedDeconvolution();
const Implementation& InnerProduct();
const Implementation& Int8InnerProduct();
const Implementation& BlasInnerProduct();
const Implementation& OneDnnBFloat16InnerProduct();
const Implementation& Pooling();
const Implementation& AcrossChannels();
const Implementation& Int8Lrn();
const Implementation& Int8Eltwise();
const Implementation& Int8Activation();
const Implementation& Crop();
const Implementation& Upsample();
const Implementation& IntegerOperation();
const Implementation& IntegerDefinition();
const Implementation& Moving();
const Implementation& Reorder();
const Implementation& AnyLayer();

}  // namespace caffe::inference::cpu

#endif  // CAFFE_INFERENCE_BACKENDS_CPU_CPU_TARGET_HPP_
