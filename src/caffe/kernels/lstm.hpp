#ifndef CAFFE_KERNELS_LSTM_HPP_
#define CAFFE_KERNELS_LSTM_HPP_

#include <cstddef>

namespace caffe::kernels {

// One step of `n` sequences in a long short-term memory of `d` cells each. Arrays (n, d); gates
// (n, 4 d): for each sequence input gate, forget gate, output gate and candidate: i f o g. cont (n)
// multiplies f; it is 0 where a sequence begins. T: float, double.

/// Replaces the pre-activations in `gates` by i, f, o = sigmoid, g = tanh, f times cont. Then c = f
/// c_prev + i g, h = o tanh(c).
template <typename T>
void LstmStep(size_t n, size_t d, const T* cont, const T* c_prev, T* gates, T* c, T* h);

/// The gradients d_gates (of the pre-activations) and dc_prev from those of h and c. gates and c:
/// as LstmStep left them.
template <typename T>
void LstmStepGradient(size_t n, size_t d, const T* cont, const T* c_prev, const T* gates,
                      const T* c, const T* dh, const T* dc, T* d_gates, T* dc_prev);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_LSTM_HPP_
