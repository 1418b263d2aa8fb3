#ifndef CAFFE_GRADIENT_BUCKETS_HPP_
#define CAFFE_GRADIENT_BUCKETS_HPP_

#include <cstddef>
#include <vector>

#include "caffe/net.hpp"

namespace caffe {

/// A run of a net's gradient arena, all of whose gradients go to the other ranks in one message.
struct GradientBucket {
  size_t offset = 0, count = 0;  ///< elements
  int ready_at = 0;              ///< when the backward pass has reached this layer
};

/// The trained parameters of `net`, from its last layer to its first as the backward pass reaches
/// them, in about `buckets` runs: each ends with the parameter by which it has reached that part of
/// all elements. None of their `ready_at` works in place. 0: a run for each parameter. Throws Error
/// for a negative number. No runs if the net has no arena.
template <typename Dtype>
std::vector<GradientBucket> GradientBuckets(const Net<Dtype>& net, int buckets);

}  // namespace caffe

#endif  // CAFFE_GRADIENT_BUCKETS_HPP_
