#ifndef CAFFE_KERNELS_TILE_SHAPE_HPP_
#define CAFFE_KERNELS_TILE_SHAPE_HPP_

namespace caffe::kernels {

/// How many tiles of pixels and of outputs AMX sums at a time. Four of pixels read each weight half
/// as often, for many outputs or few pixels; two by two read each pixel half as often.
enum class TileShape { FOUR_BY_ONE, TWO_BY_TWO };

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_TILE_SHAPE_HPP_
