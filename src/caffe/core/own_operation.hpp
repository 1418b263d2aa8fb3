#ifndef CAFFE_OWN_OPERATION_HPP_
#define CAFFE_OWN_OPERATION_HPP_

#include <string>

#include "caffe/operation.hpp"

namespace caffe {

/// The library's row of a type that it has, also where a program's layer has taken its place.
const Operation& OwnOperation(const std::string& type);

}  // namespace caffe

#endif  // CAFFE_OWN_OPERATION_HPP_
