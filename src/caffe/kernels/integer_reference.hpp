#ifndef CAFFE_KERNELS_INTEGER_REFERENCE_HPP_
#define CAFFE_KERNELS_INTEGER_REFERENCE_HPP_

#include <cstddef>
#include <cstdint>

#include "caffe/kernels/byte_sum.hpp"
#include "caffe/kernels/convolution.hpp"
#include "caffe/kernels/fixed_point.hpp"

// What layers with weights compute on 8-bit integers, with integers alone: the definitions that all
// other kernels must match bit for bit. X, W, Y: int8_t or uint8_t. Weights lie in Caffe's order,
// blobs as (N, C, spatial).
//
//     y = Rescaled(by, o, sum of x (w - weight_zero_point))
//
// or, of convolutions with a residual, residual->sum.Of(that, the residual's byte); the sum is
// taken over all inputs and kernel positions of output o; by.bias has the input's zero point folded
// in (FoldZeroPoint). Where there is no input under a kernel position (padding, the gaps of a
// deconvolution), x is by.input_zero_point. Sums have 64 bits; throws Error where one with its bias
// does not fit 32.
namespace caffe::kernels {

/// Weights (outputs, channels / group, kernel...).
template <typename X, typename W, typename Y>
void IntegerConvolution(const ConvolutionShape& shape, size_t num, const X* x, const W* weights,
                        int32_t weight_zero_point, const Rescaling& by, Y* y,
                        const Residual* residual = nullptr);

/// `shape` has the channels and extents of the layer's own input and output. Weights (channels,
/// outputs / group, kernel...).
template <typename X, typename W, typename Y>
void IntegerDeconvolution(const ConvolutionShape& shape, size_t num, const X* x, const W* weights,
                          int32_t weight_zero_point, const Rescaling& by, Y* y);

/// x (rows, inputs), weights (outputs, inputs), y (rows, outputs).
template <typename X, typename W, typename Y>
void IntegerInnerProduct(size_t rows, size_t inputs, size_t outputs, const X* x, const W* weights,
                         int32_t weight_zero_point, const Rescaling& by, Y* y);

/// Weights of a deconvolution as (outputs, channels / group, kernel...).
template <typename W>
void TransposeDeconvolution(const ConvolutionShape& shape, const W* weights, W* transposed);

/// bias - input_zero_point times the sum of an output's `count` weights minus their zero point
/// (equation 7 of the paper; with a weight zero point, all of it but the sums of x). Throws Error
/// where that does not fit 32 bits.
template <typename W>
int32_t FoldZeroPoint(size_t count, const W* weights, int32_t weight_zero_point,
                      int32_t input_zero_point, int32_t bias);

/// Throws Error, naming the number of inputs, if `largest`, the magnitude of a sum, does not fit 32
/// bits.
void RequireTotalFits(int64_t largest, size_t inputs);

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_INTEGER_REFERENCE_HPP_
