#ifndef CAFFE_TOOLS_CAFFE_NORMALIZATION_HPP_
#define CAFFE_TOOLS_CAFFE_NORMALIZATION_HPP_

#include "caffe/inference/network_definition.hpp"
#include "caffe/util/input_batches.hpp"

// Mean and scale as a part of an engine, which then takes pixels.

namespace caffe {

/// Images that are prepared as before, but for mean and scale.
PicturePreparation WithoutMeanAndScale(PicturePreparation preparation);

/// Makes the mean and scale that images get part of a net. Throws Error if there are none.
void NormalizePictures(const PicturePreparation& preparation, inference::NetworkDefinition* net);

}  // namespace caffe

#endif  // CAFFE_TOOLS_CAFFE_NORMALIZATION_HPP_
