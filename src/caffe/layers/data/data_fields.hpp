#ifndef CAFFE_LAYERS_DATA_FIELDS_HPP_
#define CAFFE_LAYERS_DATA_FIELDS_HPP_

#include <cstdint>
#include <limits>
#include <string>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// The batch_size of `message` ("data_param"); Error where it is not positive or no int holds it.
inline int CheckedBatchSize(const char* message, uint32_t batch_size) {
  constexpr uint32_t kMost = std::numeric_limits<int>::max();
  Require(batch_size > 0, Error::Field{message}, ": batch_size must be positive, got 0");
  Require(batch_size <= kMost, Error::Field{message}, ": batch_size ", batch_size, " is too large",
          Error::Remedy{Join("give up to ", kMost)});
  return static_cast<int>(batch_size);
}

/// Warns of fields that `param`, the message `name` of a layer, has from the time before
/// transform_param. In nets of that time they are moved when the file is read (upgrade_v1.cpp);
/// elsewhere they are ignored, as in BVLC Caffe.
template <typename Param>
void WarnOfOldTransformation(const LayerParameter& layer, const char* name, const Param& param) {
  std::string fields;
  const auto add = [&fields](bool given, const char* field) {
    if (given) fields += (fields.empty() ? "" : ", ") + std::string(field);
  };
  add(param.has_scale(), "scale");
  add(param.has_mean_file(), "mean_file");
  add(param.has_crop_size(), "crop_size");
  add(param.has_mirror(), "mirror");
  LOG_IF(WARNING, !fields.empty() && Caffe::root_solver())
      << "layer '" << layer.name() << "': " << name
      << ": ignored as in BVLC Caffe, which reads them in transform_param: " << fields;
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_DATA_FIELDS_HPP_
