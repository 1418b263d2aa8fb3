#ifndef CAFFE_KERNELS_FUSED_FUNCTION_HPP_
#define CAFFE_KERNELS_FUSED_FUNCTION_HPP_

namespace caffe {
namespace kernels {

/// What a kernel can do to its results while they are in registers or in the first cache, beside a
/// PointwiseActivation: y = f(activation(...)). Functions with an exponential are off by some units
/// in the last place of a float at most.
struct FusedFunction {
  enum Kind {
    NONE,
    PRELU,    ///< x for x > 0, slopes[o] x otherwise
    ELU,      ///< x for x > 0, alpha (exp(x) - 1) otherwise
    SIGMOID,  ///< 1 / (1 + exp(-x))
    SWISH,    ///< x / (1 + exp(-alpha x))
    TANH
  };
  Kind kind = NONE;
  float alpha = 0;
  const float* slopes = nullptr;  ///< one an output, and any up to the next multiple of 16
};

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_FUSED_FUNCTION_HPP_
