#ifndef CAFFE_KERNELS_CUDA_SHAPES_HPP_
#define CAFFE_KERNELS_CUDA_SHAPES_HPP_

#include <vector>

#include "caffe/device.hpp"
#include "caffe/element_type.hpp"
#include "caffe/kernels/strided_copy.hpp"

namespace caffe::cuda {

// Rearranging elements of device memory. T: float, double, float16.

/// Copies `rows` pieces of `length` elements from each x_stride to each y_stride.
template <typename T>
void CopyRows(Stream& stream, int rows, int length, const T* x, int x_stride, T* y, int y_stride);

/// kernels::CopyStrided: y[i . y_strides] = x[i . x_strides] for all indices i within `shape`.
template <typename T>
void CopyStrided(Stream& stream, const std::vector<int>& shape, const T* x,
                 const kernels::Strides& x_strides, T* y, const kernels::Strides& y_strides);

/// y(outer, tile, inner) = x(outer, inner) for each tile.
template <typename T>
void Tile(Stream& stream, int outer, int tiles, int inner, const T* x, T* y);
/// dx(outer, inner) = the sum of dy over the tiles.
template <typename D>
void TileGradient(Stream& stream, int outer, int tiles, int inner, const D* dy, D* dx);

/// Row i of y = row indices[i] of the `items` rows of x, all of `length`; where that is not a whole
/// number in [0, items), the row is NaN. Index is float, double or int.
template <typename T, typename Index>
void GatherRows(Stream& stream, int rows, int length, int items, const Index* indices, const T* x,
                T* y);

/// Sorts `rows` rows by the item that each belongs to: those of item i are order[begin[i]], ...,
/// order[begin[i + 1] - 1], in ascending order. `order` has `rows` and `begin` items + 1 elements
/// of device memory. A row whose index is not a whole number in [0, items) belongs to none.
template <typename Index>
void GroupRows(Stream& stream, int rows, int items, const Index* indices, int* order, int* begin);

/// Row i of dx = the sum of the rows of dy that belong to item i.
template <typename D>
void SumGroups(Stream& stream, int items, int length, const int* order, const int* begin,
               const D* dy, D* dx);

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_SHAPES_HPP_
