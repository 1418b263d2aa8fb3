#ifndef CAFFE_LAYERS_PARAMETER_BLOBS_HPP_
#define CAFFE_LAYERS_PARAMETER_BLOBS_HPP_

#include <algorithm>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/error.hpp"
#include "caffe/filler.hpp"

namespace caffe {

/// A parameter blob that a layer needs: its shape, and what fills it where the layer makes it.
struct ParameterBlob {
  Shape shape;
  FillerParameter filler;
};

inline FillerParameter ConstantOf(float value) {
  FillerParameter filler;
  filler.set_type("constant");
  filler.set_value(value);
  return filler;
}

/// `filler` where the net has one, else a constant.
inline FillerParameter FillerOr(bool is_given, const FillerParameter& filler, float otherwise) {
  return is_given ? filler : ConstantOf(otherwise);
}

/// Whether blobs of these shapes hold the same elements: old files give all blobs four axes.
inline bool AreSameButForOnes(const Shape& a, const Shape& b) {
  const auto without_ones = [](Shape shape) {
    shape.erase(std::remove(shape.begin(), shape.end(), 1), shape.end());
    return shape;
  };
  return without_ones(a) == without_ones(b);
}

/// The parameters of a layer that is set up: makes and fills them where `blobs` is empty; those
/// that it was given (by a net, an engine or an earlier set-up) must fit. Throws Error where they
/// do not.
template <typename Dtype>
void MakeOrCheckParameters(const std::vector<ParameterBlob>& wanted,
                           vector<shared_ptr<Blob<Dtype>>>* blobs) {
  if (blobs->empty()) {
    for (const ParameterBlob& parameter : wanted) {
      blobs->push_back(shared_ptr<Blob<Dtype>>(new Blob<Dtype>(parameter.shape)));
      FillBlob(parameter.filler, blobs->back().get());
    }
    return;
  }
  Require(blobs->size() == wanted.size(), "the layer has ", wanted.size(), " parameter blob(s), ",
          blobs->size(), " are given");
  for (size_t i = 0; i < wanted.size(); ++i) {
    Require(AreSameButForOnes((*blobs)[i]->shape(), wanted[i].shape), "parameter blob ", i,
            " has shape ", ShapeString((*blobs)[i]->shape()), " where ",
            ShapeString(wanted[i].shape), " is needed");
  }
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_PARAMETER_BLOBS_HPP_
