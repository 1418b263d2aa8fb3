#ifndef CAFFE_TOOLS_UNKNOWN_FIELDS_FLAG_HPP_
#define CAFFE_TOOLS_UNKNOWN_FIELDS_FLAG_HPP_

#include <gflags/gflags.h>

#include "caffe/io/proto_text.hpp"

DEFINE_bool(ignore_unknown_fields, false,
            "Warn of fields that this Caffe does not know instead of refusing the file.");

namespace caffe {

inline void ApplyUnknownFieldsFlag() { set_ignore_unknown_fields(FLAGS_ignore_unknown_fields); }

}  // namespace caffe

#endif  // CAFFE_TOOLS_UNKNOWN_FIELDS_FLAG_HPP_
