#ifndef CAFFE_LAYERS_PRIORS_HPP_
#define CAFFE_LAYERS_PRIORS_HPP_

#include <vector>

#include "caffe/blob.hpp"
#include "caffe/error.hpp"
#include "caffe/util/detection/box.hpp"

// What layers behind a single-shot detector read: bottoms 0 and 1, locations (N, priors * classes
// of locations * 4) and scores (N, priors * classes), bottom 2, priors (1, 2, priors * 4); and,
// behind the second stage of a RefineDet detector, of its first one bottoms `first`, probabilities
// (N, priors * 2) of background and object, and `first` + 1, locations (N, priors * 4).
namespace caffe {

/// The number of priors. Throws Error for other shapes; `layer` is the type of the one that reads.
template <typename Dtype>
int CountPriors(const char* layer, const std::vector<Blob<Dtype>*>& bottom) {
  Require(bottom[2]->num_axes() >= 3 && bottom[2]->shape(0) > 0 && bottom[2]->shape(1) == 2 &&
              bottom[2]->count(2) % 4 == 0,
          layer, " takes priors of shape (1, 2, priors * 4), not ",
          ShapeString(bottom[2]->shape()));
  return bottom[2]->count(2) / 4;
}

/// Throws Error unless there are locations and scores for so many priors and classes.
template <typename Dtype>
void CheckPredictions(const std::vector<Blob<Dtype>*>& bottom, int num_priors, int loc_classes,
                      int num_classes) {
  Require(int64_t(num_priors) * loc_classes * 4 == bottom[0]->count(1), num_priors, " priors and ",
          loc_classes, " classes of locations need ", int64_t(num_priors) * loc_classes * 4,
          " numbers an item, the locations have ", bottom[0]->count(1));
  Require(int64_t(num_priors) * num_classes == bottom[1]->count(1), num_priors,
          " priors and num_classes ", num_classes, " need ", int64_t(num_priors) * num_classes,
          " scores an item, not ", bottom[1]->count(1));
}

/// Throws Error for a first stage of other shapes.
template <typename Dtype>
void CheckFirstStage(const std::vector<Blob<Dtype>*>& bottom, size_t first, int num_priors) {
  const auto check = [&](size_t index, const char* what, int each) {
    Require(bottom[index]->shape(0) == bottom[0]->shape(0) &&
                bottom[index]->count(1) == int64_t(num_priors) * each,
            "the first stage's ", what, " (bottom ", index, ") must be of shape (",
            bottom[0]->shape(0), ", priors * ", each, "), with ", num_priors, " priors, not ",
            ShapeString(bottom[index]->shape()));
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

#endif  // CAFFE_LAYERS_PRIORS_HPP_
