#ifndef CAFFE_KERNELS_CONVOLUTION_HPP_
#define CAFFE_KERNELS_CONVOLUTION_HPP_

#include <cstddef>
#include <vector>

#include "caffe/element_type.hpp"

namespace caffe {
namespace kernels {

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
  /// True if the column matrix is the image itself: kernel and stride 1, no padding.
  bool is_pointwise() const;
};

/// column[(c, kernel position), output position] = the input value that the kernel position meets
/// there, 0 in the padding; for `channels` channels. T: float, double, float16.
template <typename T>
void Im2col(const ConvolutionShape& shape, int channels, const T* image, T* column);

/// The transpose of Im2col: image = the sum of the column values that each input value went to.
template <typename T>
void Col2im(const ConvolutionShape& shape, int channels, const T* column, T* image);

/// y = conv(x, w) + bias for `num` images; bias may be null. Column matrix and matrix product,
/// several images at once on several threads.
template <typename T>
void ConvolutionForward(const ConvolutionShape& shape, int num, const T* x, const T* weights,
                        const T* bias, T* y);

/// dx = the gradient with respect to x; T is the type of the weights, D of the gradients.
template <typename T, typename D>
void ConvolutionBackwardData(const ConvolutionShape& shape, int num, const D* dy, const T* weights,
                             D* dx);

/// d_weights += the gradient with respect to the weights. The sum over images is added up in parts
/// that depend on the number of threads only.
template <typename T, typename D>
void ConvolutionBackwardWeights(const ConvolutionShape& shape, int num, const T* x, const D* dy,
                                AccumulatorType<D>* d_weights);

/// The same three by their definition, one product at a time: the oracle of the tests.
template <typename T>
void ReferenceConvolutionForward(const ConvolutionShape& shape, int num, const T* x,
                                 const T* weights, const T* bias, T* y);
template <typename T, typename D>
void ReferenceConvolutionBackwardData(const ConvolutionShape& shape, int num, const D* dy,
                                      const T* weights, D* dx);
template <typename T, typename D>
void ReferenceConvolutionBackwardWeights(const ConvolutionShape& shape, int num, const T* x,
                                         const D* dy, AccumulatorType<D>* d_weights);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_CONVOLUTION_HPP_
