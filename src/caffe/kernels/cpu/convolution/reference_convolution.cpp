#include "caffe/kernels/convolution.hpp"

#include "caffe/kernels/instances.hpp"

namespace caffe::kernels {
namespace {

/// A position in a row-major array of any number of axes.
class Odometer {
 public:
  explicit Odometer(const std::vector<int>& extents)
      : extents_(extents), position_(extents.size(), 0) {}
  int operator[](size_t axis) const { return position_[axis]; }
  void Next() {
    for (int axis = static_cast<int>(extents_.size()) - 1;
         axis >= 0 && ++position_[axis] == extents_[axis]; --axis) {
      position_[axis] = 0;
    }
  }

 private:
  const std::vector<int>& extents_;
  std::vector<int> position_;
};

/// The input position for output position o and kernel position k; false in the padding.
bool InputPosition(const ConvolutionShape& s, const Odometer& o, const Odometer& k,
                   size_t* position) {
  *position = 0;
  for (int axis = 0; axis < s.axes(); ++axis) {
    const int i = o[axis] * s.stride[axis] - s.pad[axis] + k[axis] * s.dilation[axis];
    if (i < 0 || i >= s.input[axis]) return false;
    *position = *position * s.input[axis] + i;
  }
  return true;
}

/// Calls f(x index, weight index, y index) for every product of the convolution.
template <typename Function>
void ForEachProduct(const ConvolutionShape& s, int num, Function&& f) {
  const size_t inputs = s.input_spatial(), outputs = s.output_spatial();
  const size_t kernels = s.kernel_size();
  const int group_channels = s.channels / s.group, group_outputs = s.outputs / s.group;
  for (int n = 0; n < num; ++n) {
    for (int out = 0; out < s.outputs; ++out) {
      const int first_channel = out / group_outputs * group_channels;
      Odometer o(s.output);
      for (size_t p = 0; p < outputs; ++p, o.Next()) {
        for (int c = 0; c < group_channels; ++c) {
          Odometer k(s.kernel);
          for (size_t q = 0; q < kernels; ++q, k.Next()) {
            size_t position;
            if (!InputPosition(s, o, k, &position)) continue;
            f((size_t(n) * s.channels + first_channel + c) * inputs + position,
              (size_t(out) * group_channels + c) * kernels + q,
              (size_t(n) * s.outputs + out) * outputs + p);
          }
        }
      }
    }
  }
}

}  // namespace

template <typename W, typename X>
void ReferenceConvolutionForward(const ConvolutionShape& s, int num, const X* x, const W* weights,
                                 const W* bias, X* y) {
  const size_t count = num * s.output_size();
  std::vector<double> sums(count, 0);
  ForEachProduct(s, num, [&](size_t i, size_t w, size_t o) {
    sums[o] += static_cast<double>(x[i]) * static_cast<double>(weights[w]);
  });
  for (size_t o = 0; o < count; ++o) {
    const size_t channel = o / s.output_spatial() % s.outputs;
    y[o] = static_cast<X>(sums[o] + (bias ? static_cast<double>(bias[channel]) : 0.));
  }
}

template <typename W, typename X>
void ReferenceConvolutionBackwardData(const ConvolutionShape& s, int num, const X* dy,
                                      const W* weights, const W* bias, X* dx) {
  const size_t count = num * s.input_size();
  std::vector<double> sums(count, 0);
  ForEachProduct(s, num, [&](size_t i, size_t w, size_t o) {
    sums[i] += static_cast<double>(dy[o]) * static_cast<double>(weights[w]);
  });
  for (size_t i = 0; i < count; ++i) {
    const size_t channel = i / s.input_spatial() % s.channels;
    dx[i] = static_cast<X>(sums[i] + (bias ? static_cast<double>(bias[channel]) : 0.));
  }
}

template <typename X, typename D>
void ReferenceConvolutionBackwardWeights(const ConvolutionShape& s, int num, const X* x,
                                         const D* dy, AccumulatorType<D>* d_weights) {
  std::vector<double> sums(s.weight_count(), 0);
  ForEachProduct(s, num, [&](size_t i, size_t w, size_t o) {
    sums[w] += static_cast<double>(dy[o]) * static_cast<double>(x[i]);
  });
  for (size_t w = 0; w < sums.size(); ++w) {
    d_weights[w] = static_cast<AccumulatorType<D>>(d_weights[w] + sums[w]);
  }
}

#define CAFFE_REFERENCE(A, B)                                                                      \
  template void ReferenceConvolutionForward(const ConvolutionShape&, int, const B*, const A*,      \
                                            const A*, B*);                                         \
  template void ReferenceConvolutionBackwardData(const ConvolutionShape&, int, const B*, const A*, \
                                                 const A*, B*);                                    \
  template void ReferenceConvolutionBackwardWeights(const ConvolutionShape&, int, const A*,        \
                                                    const B*, AccumulatorType<B>*);
CAFFE_FOR_EACH_PAIR(CAFFE_REFERENCE)
#undef CAFFE_REFERENCE

}  // namespace caffe::kernels
