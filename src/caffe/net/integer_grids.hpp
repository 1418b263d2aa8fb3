#ifndef CAFFE_INTEGER_GRIDS_HPP_
#define CAFFE_INTEGER_GRIDS_HPP_

#include "caffe/kernels/fake_quantization.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// Throws Error that names the field of quantized_training, its value and what is valid.
void CheckQuantizedTraining(const QuantizedTrainingParameter& param);

/// The integers that a blob with values from `minimum` to `maximum` lies in, with b
/// activation_bits. AFFINE and PAPER: 0 to 2^b - 1 with a zero point. SYMMETRIC: up to +-(2^(b-1) -
/// 1), or, where `minimum` is not negative, 0 to 2^b - 1.
kernels::IntegerGrid BlobGrid(const QuantizedTrainingParameter& param, double minimum,
                              double maximum);

/// The same for weights, with b weight_bits: of one output channel for AFFINE and SYMMETRIC, up to
/// +-(2^(b-1) - 1); of the whole tensor for PAPER, 1 to 2^b - 1 with a zero point.
kernels::IntegerGrid WeightGrid(const QuantizedTrainingParameter& param, double minimum,
                                double maximum);

/// True where all output channels have one grid.
inline bool HasOneWeightGrid(const QuantizedTrainingParameter& param) {
  return param.scheme() == QuantizedTrainingParameter_Scheme_PAPER;
}

}  // namespace caffe

#endif  // CAFFE_INTEGER_GRIDS_HPP_
