#ifndef CAFFE_KERNELS_TILE_INNER_PRODUCT_HPP_
#define CAFFE_KERNELS_TILE_INNER_PRODUCT_HPP_

#include <cstddef>
#include <memory>

#include "caffe/kernels/post_ops.hpp"

namespace caffe::kernels {

/// y (rows, outputs) = x (rows, inputs) W^T in tiles of AMX, and its gradients, for few rows:
/// weights (outputs, inputs) of float16 as Caffe stores them are read once, or their gradients read
/// and written once. x, y, dx and dy are float16 or float. Errors are bounded as WeightsGradient
/// says.
class TileInnerProduct {
 public:
  /// Null where the processor has no tiles, or unless inputs and outputs are multiples of 32.
  static std::shared_ptr<const TileInnerProduct> Make(int inputs, int outputs);
  virtual ~TileInnerProduct() = default;

  /// Bytes that each of the functions needs, aligned to 64, with the threads that OpenMP would use
  /// now.
  virtual size_t scratch_bytes(int rows) const = 0;
  /// y = x W^T + bias, one number an output, or null. False, with y undefined, if a number of x or
  /// of the weights is infinite or NaN.
  virtual bool Forward(int rows, const Numbers& x, const Numbers& weights, const float* bias,
                       void* scratch, const Destination& y) const = 0;
  /// dx = dy W; false, with dx undefined, if a number of dy is infinite or NaN.
  virtual bool Data(int rows, const Numbers& dy, const Numbers& weights, void* scratch,
                    const Destination& dx) const = 0;
  /// d_weights += dy^T x.
  virtual void Weights(int rows, const Numbers& x, const Numbers& dy, void* scratch,
                       float* d_weights) const = 0;
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_TILE_INNER_PRODUCT_HPP_
