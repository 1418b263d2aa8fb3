#ifndef CAFFE_DIVIDE_BATCHES_HPP_
#define CAFFE_DIVIDE_BATCHES_HPP_

#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// Leaves out what the net's state excludes, and divides the batch_size of the layers that read
/// data by `ranks`. Throws Error with the layer and the field where it does not divide.
void DivideBatches(int ranks, NetParameter* net);

}  // namespace caffe

#endif  // CAFFE_DIVIDE_BATCHES_HPP_
