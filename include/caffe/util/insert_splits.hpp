#ifndef CAFFE_UTIL_INSERT_SPLITS_HPP_
#define CAFFE_UTIL_INSERT_SPLITS_HPP_

#include <string>

#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// Copies `param` with a Split layer after each top that more than one bottom (or a bottom and a
/// loss weight) uses, so that each top has one consumer. Throws Error for a bottom that no layer
/// before it makes.
void InsertSplits(const NetParameter& param, NetParameter* param_split);

/// The Split for top number blob_idx, `blob_name`, of layer `layer_name`, with split_count tops. A
/// loss weight other than 0 goes to the first top.
void ConfigureSplitLayer(const std::string& layer_name, const std::string& blob_name,
                         const int blob_idx, const int split_count, const float loss_weight,
                         LayerParameter* split_layer_param);

/// "<blob>_<layer>_<blob_idx>_split".
std::string SplitLayerName(const std::string& layer_name, const std::string& blob_name,
                           const int blob_idx);
/// The same followed by "_<split_idx>".
std::string SplitBlobName(const std::string& layer_name, const std::string& blob_name,
                          const int blob_idx, const int split_idx);

}  // namespace caffe

#endif  // CAFFE_UTIL_INSERT_SPLITS_HPP_
