#ifndef CAFFE_UTIL_IM2COL_HPP_
#define CAFFE_UTIL_IM2COL_HPP_

namespace caffe {

// An image as the column matrix by which convolutions multiply their weights, and back: for float
// and double. Row (channel, kernel position), column output position; rows are contiguous. All
// memory is the caller's, and sizes are not checked.

/// Writes the value under each kernel position, 0 in the padding; for any number of spatial axes.
/// im_shape: channels, then the image's extents; col_shape: rows, then the output's extents; the
/// others have one number per spatial axis.
template <typename Dtype>
void im2col_nd_cpu(const Dtype* data_im, const int num_spatial_axes, const int* im_shape,
                   const int* col_shape, const int* kernel_shape, const int* pad, const int* stride,
                   const int* dilation, Dtype* data_col);

/// The same for one image of channels x height x width. The output's extents follow from it: on
/// each axis (input + 2 pad - dilation (kernel - 1) - 1) / stride + 1.
template <typename Dtype>
void im2col_cpu(const Dtype* data_im, const int channels, const int height, const int width,
                const int kernel_h, const int kernel_w, const int pad_h, const int pad_w,
                const int stride_h, const int stride_w, const int dilation_h, const int dilation_w,
                Dtype* data_col);

/// The transpose of im2col_nd_cpu: each value of the image becomes the sum of the column values it
/// went to, whatever it was before.
template <typename Dtype>
void col2im_nd_cpu(const Dtype* data_col, const int num_spatial_axes, const int* im_shape,
                   const int* col_shape, const int* kernel_shape, const int* pad, const int* stride,
                   const int* dilation, Dtype* data_im);

/// The transpose of im2col_cpu.
template <typename Dtype>
void col2im_cpu(const Dtype* data_col, const int channels, const int height, const int width,
                const int kernel_h, const int kernel_w, const int pad_h, const int pad_w,
                const int stride_h, const int stride_w, const int dilation_h, const int dilation_w,
                Dtype* data_im);

}  // namespace caffe

#endif  // CAFFE_UTIL_IM2COL_HPP_
