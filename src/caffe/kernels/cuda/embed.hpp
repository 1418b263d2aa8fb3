#ifndef CAFFE_KERNELS_CUDA_EMBED_HPP_
#define CAFFE_KERNELS_CUDA_EMBED_HPP_

#include "caffe/device.hpp"
#include "caffe/element_type.hpp"

namespace caffe::cuda {

// On device memory: tables of `rows` x `columns`, and `count` indices, whole numbers in [0, rows).
// An exception would have to wait for the GPU, so an invalid index gives a row of NaN and has no
// gradient.

/// y[i] = table[indices[i]] + bias; bias may be null.
template <typename T, typename Index>
void LookUp(Stream& stream, int count, int rows, int columns, const Index* indices, const T* table,
            const T* bias, T* y);

/// d_table[indices[i]] += dy[i]: in the order of i, so that the sums are the same in each run.
template <typename D, typename Index>
void LookUpGradient(Stream& stream, int count, int rows, int columns, const Index* indices,
                    const D* dy, AccumulatorType<D>* d_table);

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_EMBED_HPP_
