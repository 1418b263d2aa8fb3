#ifndef CAFFE_NET_CHECKS_HPP_
#define CAFFE_NET_CHECKS_HPP_

#include <string>
#include <vector>

#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// "layer 'conv1' (Convolution)", for messages.
std::string Describe(const LayerParameter& layer);

/// Throws Error unless the layers of `net` (filtered, no splits yet) can be connected: there are
/// some; every bottom is made by a layer before its reader; every top is made once; layers that
/// work in place may, and no other layer reads what they overwrite; propagate_down fits.
/// `unfiltered` is the net before layers were left out, for better messages.
void CheckConnections(const NetParameter& net, const NetParameter& unfiltered);

/// Throws Error if lr_mult, decay_mult or loss_weight is infinite or no number.
void CheckMultipliers(const LayerParameter& layer);

/// Throws Error with the remedy if two layers have one name, "of which <what is not possible>".
void RequireDistinctNames(const std::vector<std::string>& layers, const std::string& of_which,
                          const std::string& remedy);
/// HDF5 files keep a layer's parameters under its name: throws Error if two layers have one name.
void RequireNamesForHdf5(const std::vector<std::string>& layers);

}  // namespace caffe

#endif  // CAFFE_NET_CHECKS_HPP_
