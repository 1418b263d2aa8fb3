#ifndef CAFFE_KERNELS_CONVOLUTION_HPP_
#define CAFFE_KERNELS_CONVOLUTION_HPP_

#include <cstddef>
#include <vector>

#include "caffe/element_type.hpp"

namespace caffe::kernels {

/// The sizes of a convolution over any number of spatial axes. Input (channels, input...), output
/// (outputs, output...) per image; weights (outputs, channels / group, kernel...).
struct ConvolutionShape {
  int channels = 0;
  int outputs = 0;
  int group = 1;
  std::vector<int> input, output, kernel, stride, pad, dilation;

  int axes() const { return static_cast<int>(input.size()); }
  size_t input_spatial() const;   ///< positions of the input
  size_t output_spatial() const;  ///< positions of the output
  size_t kernel_size() const;     ///< positions of the kernel
  size_t input_size() const { return channels * input_spatial(); }
  size_t output_size() const { return outputs * output_spatial(); }
  /// Rows of the column matrix of one group: channels / group * kernel_size().
  size_t column_rows() const { return channels / group * kernel_size(); }
  size_t weight_count() const { return outputs * column_rows(); }
  /// True if the column matrix is the image itself: kernel and stride 1, no padding on either side.
  bool is_pointwise() const;
  /// True if each of several channels is a group, with one output.
  bool is_depthwise() const { return group > 1 && group == channels && group == outputs; }
};

/// column[(c, kernel position), output position] = the input value under the kernel position there,
/// 0 in the padding; for `channels` channels. T and C: float, double or float16, both the same; or
/// float16 and float.
template <typename T, typename C>
void Im2col(const ConvolutionShape& shape, int channels, const T* image, C* column);

/// The columns of Im2col whose position on the first output axis lies in [begin, end), with
/// contiguous rows.
template <typename T, typename C>
void Im2colBand(const ConvolutionShape& shape, int channels, int begin, int end, const T* image,
                C* column);

/// The transpose of Im2col: image = the sum of the column values that each input value went to,
/// plus start[channel] if that is given. Sums are float for float16, rounded once. C and T: the
/// same, or float and float16.
template <typename C, typename T>
void Col2im(const ConvolutionShape& shape, int channels, const C* column, T* image,
            const AccumulatorType<T>* start = nullptr);

// The three products. W is the type of the weights, X that of the input. Groups of one channel are
// summed directly, others by column matrices and matrix products. All cores are used, however few
// images or groups there are.

/// y = conv(x, w) + bias for `num` images; bias may be null.
template <typename W, typename X>
void ConvolutionForward(const ConvolutionShape& shape, int num, const X* x, const W* weights,
                        const W* bias, X* y);

/// dx = the gradient with respect to x, plus bias[channel] if that is given: the value of a
/// deconvolution.
template <typename W, typename X>
void ConvolutionBackwardData(const ConvolutionShape& shape, int num, const X* dy, const W* weights,
                             const W* bias, X* dx);

/// d_weights += the gradient with respect to the weights; X is the type of x, D of dy.
template <typename X, typename D>
void ConvolutionBackwardWeights(const ConvolutionShape& shape, int num, const X* x, const D* dy,
                                AccumulatorType<D>* d_weights);

/// The same three by their definition, one product at a time: the oracle of the tests.
template <typename W, typename X>
void ReferenceConvolutionForward(const ConvolutionShape& shape, int num, const X* x,
                                 const W* weights, const W* bias, X* y);
template <typename W, typename X>
void ReferenceConvolutionBackwardData(const ConvolutionShape& shape, int num, const X* dy,
                                      const W* weights, const W* bias, X* dx);
template <typename X, typename D>
void ReferenceConvolutionBackwardWeights(const ConvolutionShape& shape, int num, const X* x,
                                         const D* dy, AccumulatorType<D>* d_weights);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_CONVOLUTION_HPP_
