#ifndef CAFFE_ALGORITHMS_ONEDNN_ALGORITHM_HPP_
#define CAFFE_ALGORITHMS_ONEDNN_ALGORITHM_HPP_

#include <memory>

#include "algorithm.hpp"
#include "caffe/onednn/onednn.hpp"

namespace caffe::algorithms {

/// What a primitive of oneDNN computes at a time.
struct OneDnnSizes {
  size_t inputs = 0, outputs = 0;  ///< elements of x and of y
  size_t weights = 0;
  size_t weights_of_an_output = 0;
  int images = 1;
  int pieces = 1;  ///< how many times it runs: images past `images` are the next piece
};

/// `primitive`, made with `options`, for layers and engines, null for null: on elements of its
/// types where they lie; others are converted piece by piece, so that what is converted stays in
/// the cache.
AlgorithmPtr OneDnnAlgorithm(std::unique_ptr<const onednn::WeightedPrimitive> primitive,
                             const OneDnnSizes& sizes,
                             const onednn::WeightedPrimitive::Options& options);

}  // namespace caffe::algorithms

#endif  // CAFFE_ALGORITHMS_ONEDNN_ALGORITHM_HPP_
