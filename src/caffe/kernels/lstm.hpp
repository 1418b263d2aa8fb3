#ifndef CAFFE_KERNELS_LSTM_HPP_
#define CAFFE_KERNELS_LSTM_HPP_

#include <cstddef>

namespace caffe::kernels {

// One step of `n` sequences in a long short-term memory of `d` cells each. Arrays (n, d); gates
// (n, 4 d): for each sequence those of input, forgetting, output and the candidate, i f o g. cont
// (n) multiplies f; it is 0 where a sequence begins. T: float, double.

/// gates: from what goes into the gates to i, f, o = sigmoid, g = tanh, f times cont. Then
/// c = f c_prev + i g, h = o tanh(c).
template <typename T>
void LstmStep(size_t n, size_t d, const T* cont, const T* c_prev, T* gates, T* c, T* h);

/// The gradients d_gates (of what goes into the gates) and dc_prev for those of h and c. gates and
/// c: as LstmStep left them.
template <typename T>
void LstmStepGradient(size_t n, size_t d, const T* cont, const T* c_prev, const T* gates,
                      const T* c, const T* dh, const T* dc, T* d_gates, T* dc_prev);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_LSTM_HPP_
