#ifndef CAFFE_IO_CROP_PLACES_HPP_
#define CAFFE_IO_CROP_PLACES_HPP_

#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// Gives Crop layer `index` of a net the offsets at which its two bottoms show the same place, as
/// V1's CROP of the first fully convolutional nets found them by itself: both bottoms are followed
/// up, through convolutions, poolings and what keeps places, to a blob that they have in common.
/// Throws Error where there is none, or where no whole, positive offsets fit.
void AlignCrop(NetParameter* net, int index);

}  // namespace caffe

#endif  // CAFFE_IO_CROP_PLACES_HPP_
