#include "caffe/version.hpp"

namespace caffe {

const char* Version() { return CAFFE_VERSION; }

}  // namespace caffe
