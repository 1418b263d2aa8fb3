#ifndef CAFFE_INFERENCE_BACKENDS_CPU_TILE_VARIANTS_HPP_
#define CAFFE_INFERENCE_BACKENDS_CPU_TILE_VARIANTS_HPP_

#include <string>
#include <vector>

#include "caffe/kernels/convolution.hpp"
#include "caffe/kernels/tile_shape.hpp"

// Variants of convolutions with channels last: how many of AMX's tiles are summed at a time.
namespace caffe::inference::cpu {

std::vector<std::string> AllTileVariants();
/// The variants that differ for a convolution: one where each channel is a group.
std::vector<std::string> TileVariants(const kernels::ConvolutionShape& shape);
/// Throws Error for the name of no variant.
kernels::TileShape TileShapeOf(const std::string& variant);

}  // namespace caffe::inference::cpu

#endif  // CAFFE_INFERENCE_BACKENDS_CPU_TILE_VARIANTS_HPP_
