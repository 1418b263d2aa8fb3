#ifndef CAFFE_VERSION_HPP_
#define CAFFE_VERSION_HPP_

namespace caffe {

/// The library's version, "1.0.0".
const char* Version();

}  // namespace caffe

#endif  // CAFFE_VERSION_HPP_
