#ifndef CAFFE_IO_RAW_TYPE_HPP_
#define CAFFE_IO_RAW_TYPE_HPP_

#include "caffe/element_type.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// BlobProto.raw_data_type of raw elements of `type`; FLOAT for those that no file holds as they
/// are.
inline Type RawType(ElementType type) {
  switch (type) {
    case ElementType::DOUBLE:
      return caffe::DOUBLE;
    case ElementType::FLOAT16:
      return caffe::FLOAT16;
    case ElementType::INT32:
      return caffe::INT;
    case ElementType::UINT32:
      return caffe::UINT;
    default:
      return caffe::FLOAT;
  }
}

}  // namespace caffe

#endif  // CAFFE_IO_RAW_TYPE_HPP_
