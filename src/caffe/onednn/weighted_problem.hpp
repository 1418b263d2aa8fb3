#ifndef CAFFE_ONEDNN_WEIGHTED_PROBLEM_HPP_
#define CAFFE_ONEDNN_WEIGHTED_PROBLEM_HPP_

#include "primitives.hpp"

namespace caffe::onednn {

/// The types of x, the weights and y, or of their gradients where a primitive writes these.
struct WeightedTypes {
  memory::data_type source = kFloat, weights = kFloat, target = kFloat;
};

/// The sizes of a weighted primitive as oneDNN sees them.
struct WeightedProblem {
  WeightedTypes types;
  Dims source_dims, target_dims, weights_dims;
  memory::desc plain_weights;   ///< Caffe's order, FLOAT
  memory::desc source, target;  ///< Any where oneDNN chooses
  bool chooses_layouts = true;
  Layout source_layout, target_layout;  ///< where it does not
  memory::desc weights;                 ///< as another primitive packs them, or Any
  /// As PackWeights packs them; of no axes: as the primitive reads them. Where it reads another
  /// order they are reordered in each pass.
  memory::desc packed_weights;
  bool takes_plain_loops = false;  ///< which are slow
  memory::desc residual;           ///< with Options::residual
  int outputs = 0;
  Dims strides, dilation, pad;  ///< of windows
};

/// `weights_dims` and windows of a convolution, or with `transposed` of its transpose; all in the
/// order that oneDNN chooses.
WeightedProblem WindowProblem(const kernels::ConvolutionShape& shape, int num, bool transposed,
                              const WeightedTypes& types = {});
/// False for what oneDNN does not compute: more than three spatial axes, nothing at all.
bool HasWindows(const kernels::ConvolutionShape& shape, int num);

}  // namespace caffe::onednn

#endif  // CAFFE_ONEDNN_WEIGHTED_PROBLEM_HPP_
