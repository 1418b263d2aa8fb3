#ifndef CAFFE_NET_SHARES_BOTTOM_HPP_
#define CAFFE_NET_SHARES_BOTTOM_HPP_

#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// True for layers whose tops are the bottom's memory, as in Caffe: what works in place on one of
/// these blobs changes all.
inline bool SharesBottom(const LayerParameter& layer) {
  const std::string& type = layer.type();
  return type == "Split" || type == "Flatten" || type == "Reshape" ||
         (type == "Concat" && layer.bottom_size() == 1);
}

}  // namespace caffe

#endif  // CAFFE_NET_SHARES_BOTTOM_HPP_
