#include "test_data.hpp"

namespace caffe {

std::filesystem::path SourceFolder() { return CAFFE_SOURCE_DIR; }

}  // namespace caffe
