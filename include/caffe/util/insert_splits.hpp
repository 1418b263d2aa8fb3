#ifndef CAFFE_UTIL_INSERT_SPLITS_HPP_
#define CAFFE_UTIL_INSERT_SPLITS_HPP_

#include <string>

#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// Copies a net with a Split layer added for every blob that is read more than once, so that each
/// reader has a blob, and so a gradient, of its own. A loss weight counts as a reader. No fields
/// but name, type, bottom, top and loss_weight are set. Throws Error for a bottom that no layer
/// before makes.
void InsertSplits(const NetParameter& param, NetParameter* param_split);

/// The Split layer of top number `blob_idx` of layer `layer_name`, reading `blob_name`.
void ConfigureSplitLayer(const std::string& layer_name, const std::string& blob_name,
                         const int blob_idx, const int split_count, const float loss_weight,
                         LayerParameter* split_layer_param);

/// "<blob>_<layer>_<index>_split".
std::string SplitLayerName(const std::string& layer_name, const std::string& blob_name,
                           const int blob_idx);

/// "<blob>_<layer>_<index>_split_<n>".
std::string SplitBlobName(const std::string& layer_name, const std::string& blob_name,
                          const int blob_idx, const int split_idx);

}  // namespace caffe

#endif  // CAFFE_UTIL_INSERT_SPLITS_HPP_
