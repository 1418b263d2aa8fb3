#ifndef CAFFE_KERNELS_IMAGE_STRIDES_HPP_
#define CAFFE_KERNELS_IMAGE_STRIDES_HPP_

#include <cstddef>

namespace caffe::kernels {

/// Elements from one image to the next where images are parts of larger ones, so that a Concat or
/// Slice along channels is done by writing or reading in place. 0: images are contiguous. A stride
/// is at least an image's size, else functions that take it throw Error.
///
/// Channels last: elements from one pixel to the next, a multiple of the block of channels, to
/// which the channels of a pixel are padded. An image's stride is then that of its pixels times
/// their number. x, y and the residual are all in blocks or all channels last, except that the
/// input of a convolution may be a plain image.
///
/// Channels in blocks: elements from one block of channels to the next, where rows are parts of
/// higher images. Only Int8Convolution takes them.
struct ImageStrides {
  size_t x = 0, y = 0, residual = 0;
  size_t x_pixel = 0, y_pixel = 0, residual_pixel = 0;  ///< 0: channels in blocks
  size_t x_plane = 0, y_plane = 0;  ///< the latter of the residual, too; 0: rows are whole images
};

}  // namespace caffe::kernels

#endif  // CAFFE_KERNELS_IMAGE_STRIDES_HPP_
