#ifndef CAFFE_CPP17_HPP_
#define CAFFE_CPP17_HPP_

// Said once, in front of the errors of all that an older standard lacks.
#if __cplusplus < 201703L
#error \
    "Caffe's headers need C++17: compile with -std=c++17, and remove an older -std from the flags"
#endif

#endif  // CAFFE_CPP17_HPP_
