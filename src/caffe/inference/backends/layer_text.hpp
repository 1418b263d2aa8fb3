#ifndef CAFFE_INFERENCE_BACKENDS_LAYER_TEXT_HPP_
#define CAFFE_INFERENCE_BACKENDS_LAYER_TEXT_HPP_

#include <string>

#include "caffe/proto/caffe.pb.h"

namespace caffe::inference {

/// All fields of a layer that can change what it computes and how long that takes, in the order of
/// their numbers, on a line: the same for the same fields, on every machine and with every version
/// of protobuf. Without names, blobs, fillers and what only training reads.
std::string CanonicalText(const LayerParameter& layer);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BACKENDS_LAYER_TEXT_HPP_
