#ifndef CAFFE_TEST_NPY_HPP_
#define CAFFE_TEST_NPY_HPP_

#include "caffe/io/npy.hpp"

#endif  // CAFFE_TEST_NPY_HPP_
