#ifndef CAFFE_MACROS_HPP_
#define CAFFE_MACROS_HPP_

// NVCaffe's header of this name: the macros of common.hpp, and one of its own.

#include "caffe/common.hpp"

#define DISABLE_COPY_MOVE_AND_ASSIGN(classname) DISABLE_COPY_AND_ASSIGN(classname)

#endif  // CAFFE_MACROS_HPP_
