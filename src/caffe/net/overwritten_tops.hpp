#ifndef CAFFE_NET_OVERWRITTEN_TOPS_HPP_
#define CAFFE_NET_OVERWRITTEN_TOPS_HPP_

#include <vector>

#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// Logs a warning for each layer with an activation whose gradient is computed from its top, where
/// layers that follow in place have overwritten that with other numbers and so make the gradient
/// wrong, silently and as in Caffe. Layers that need no gradient are not looked at.
void WarnOfOverwrittenTops(const std::vector<LayerParameter>& layers,
                           const std::vector<bool>& need_backward);

}  // namespace caffe

#endif  // CAFFE_NET_OVERWRITTEN_TOPS_HPP_
