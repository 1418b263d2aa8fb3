#ifndef CAFFE_LAYERS_FIRST_STAGE_HPP_
#define CAFFE_LAYERS_FIRST_STAGE_HPP_

#include <vector>

#include "caffe/blob.hpp"
#include "caffe/error.hpp"
#include "caffe/util/detection/box.hpp"

// What the layers behind the second stage of a RefineDet detector need of its first one: bottoms
// `first`, probabilities (N, priors * 2) of background and object, and `first` + 1, locations (N,
// priors * 4).
namespace caffe {

/// Throws Error for other shapes.
template <typename Dtype>
void CheckFirstStage(const std::vector<Blob<Dtype>*>& bottom, size_t first, int num_priors) {
  const auto check = [&](size_t index, const char* what, int each) {
    Require(bottom[index]->shape(0) == bottom[0]->shape(0) &&
                bottom[index]->count(1) == int64_t(num_priors) * each,
            "the first stage's ", what, " (bottom ", index, ") must be of shape (",
            bottom[0]->shape(0), ", priors * ", each, "), with ", num_priors, " priors, not ",
            bottom[index]->shape_string());
  };
  check(first, "probabilities", 2);
  check(first + 1, "locations", 4);
}

/// The prior where the first stage's locations of its item move it.
template <typename Dtype>
Prior MovedPrior(const Prior& prior, const BoxCode& code, const Dtype* locations, int index) {
  const Dtype* l = locations + size_t(index) * 4;
  Prior moved = prior;
  moved.box = Decode(prior, code, {float(l[0]), float(l[1]), float(l[2]), float(l[3])});
  return moved;
}

/// True for a prior that the first stage thinks to be background.
template <typename Dtype>
bool IsBackground(const Dtype* probabilities, int index, float objectness_score) {
  return probabilities[2 * size_t(index) + 1] < static_cast<Dtype>(objectness_score);
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_FIRST_STAGE_HPP_
