#ifndef CAFFE_PYTHON_LAYER_FORWARD_HPP_
#define CAFFE_PYTHON_LAYER_FORWARD_HPP_

// Where Caffe before 2016 had this header.

#include "caffe/layers/python_layer.hpp"

#endif  // CAFFE_PYTHON_LAYER_FORWARD_HPP_
