#include "convolution.hpp"
#include "onednn_algorithm.hpp"

namespace caffe::algorithms {
namespace {

/// Of `images` of `num` at a time.
OneDnnSizes SizesOf(const kernels::ConvolutionShape& shape, int num, int images, bool transposed) {
  OneDnnSizes sizes;
  sizes.inputs = images * shape.input_size();
  sizes.outputs = images * shape.output_size();
  if (transposed) std::swap(sizes.inputs, sizes.outputs);
  sizes.weights = shape.weight_count();
  sizes.weights_of_an_output = shape.column_rows();
  sizes.images = images;
  sizes.pieces = num / images;
  return sizes;
}

}  // namespace

AlgorithmPtr OneDnnConvolution(const kernels::ConvolutionShape& shape, int num, bool transposed,
                               const OneDnnOptions& options) {
  if (num == 0) return nullptr;
  const int images = options.images > 0 ? options.images : num;
  const auto make =
      transposed ? onednn::Deconvolution::Make
                 : static_cast<decltype(&onednn::Deconvolution::Make)>(onednn::Convolution::Make);
  return OneDnnAlgorithm(make(shape, images, options), SizesOf(shape, num, images, transposed),
                         options);
}

AlgorithmPtr OneDnnConvolution(const kernels::ConvolutionShape& shape, int num,
                               const onednn::WeightedPrimitive::Options& options,
                               const onednn::ConvolutionPlaces& places) {
  const auto make = [&](int images, const onednn::ConvolutionPlaces& at) {
    return OneDnnAlgorithm(onednn::Convolution::Make(shape, images, options, at),
                           SizesOf(shape, num, images, false), options);
  };
  if (num > 0) {
    if (const AlgorithmPtr all = make(num, places)) return all;
  }
  onednn::ConvolutionPlaces one = places;
  one.strides = {};
  const AlgorithmPtr each = make(1, one);
  const bool of_packed_size = num == places.packed_num && shape.input == places.packed_shape.input;
  if (each || num == 0 || of_packed_size) return each;
  onednn::ConvolutionPlaces repacking = places;
  repacking.repacks = true;
  return make(num, repacking);
}

}  // namespace caffe::algorithms
