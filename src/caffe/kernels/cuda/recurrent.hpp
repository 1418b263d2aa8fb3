#ifndef CAFFE_KERNELS_CUDA_RECURRENT_HPP_
#define CAFFE_KERNELS_CUDA_RECURRENT_HPP_

#include "caffe/device.hpp"

namespace caffe::cuda {

// Steps of recurrent layers on device memory. T is float or double.

/// kernels::LstmStep and LstmStepGradient. d_gates is clamped to [-bound, bound] if bound is
/// positive.
template <typename T>
void LstmStep(Stream& stream, int n, int d, const T* cont, const T* c_prev, T* gates, T* c, T* h);
template <typename T>
void LstmStepGradient(Stream& stream, int n, int d, const T* cont, const T* c_prev, const T* gates,
                      const T* c, const T* dh, const T* dc, T bound, T* d_gates, T* dc_prev);

template <typename T>
void Tanh(Stream& stream, int n, const T* x, T* y);
/// dx = dy (1 - y^2).
template <typename T>
void TanhGradient(Stream& stream, int n, const T* y, const T* dy, T* dx);

/// y (n, d) = cont (n) times x, added to y if `add`.
template <typename T>
void TimesCont(Stream& stream, int n, int d, const T* cont, const T* x, bool add, T* y);
/// cont[i] = 1 where a sequence continues: where given[i] is not 0 or, if given is null, from step
/// 1 on.
template <typename T>
void MakeCont(Stream& stream, int steps, int n, const T* given, T* cont);

/// Each row of y = row, or += row if `add`.
template <typename T>
void SpreadRow(Stream& stream, int rows, int columns, const T* row, bool add, T* y);
/// sum[c] = the sum over the rows of x, accumulated if `add`.
template <typename T>
void SumOfRows(Stream& stream, int rows, int columns, const T* x, bool add, T* sum);

}  // namespace caffe::cuda

#endif  // CAFFE_KERNELS_CUDA_RECURRENT_HPP_
