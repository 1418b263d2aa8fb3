#ifndef CAFFE_INFERENCE_SHAPE_PROFILE_HPP_
#define CAFFE_INFERENCE_SHAPE_PROFILE_HPP_

#include <map>
#include <string>

#include "caffe/operation.hpp"

namespace caffe::inference {

/// A range of input shapes, by the inputs' names: every extent lies between those of `min` and
/// `max`. Layers are timed at `opt`, memory is planned for `max`.
///
///     ShapeProfile profile;
///     profile.min["data"] = {1, 3, 224, 224};
///     profile.opt["data"] = {1, 3, 300, 300};
///     profile.max["data"] = {4, 3, 512, 512};
///
/// Defaults: `opt` is `max`, `max` is `opt`, `min` is `opt`; an input that is in none of the three
/// keeps the net's shape. The name of a net's only input may be "".
struct ShapeProfile {
  std::map<std::string, Shape> min, opt, max;
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_SHAPE_PROFILE_HPP_
