#ifndef CAFFE_UTIL_GRAPHVIZ_HPP_
#define CAFFE_UTIL_GRAPHVIZ_HPP_

#include <string>

namespace caffe {

/// Has Graphviz turn a graph in its language (a file) into `format` ("svg", "plain"). False if it
/// is not installed or refuses.
bool RunGraphviz(const std::string& format, const std::string& input, const std::string& output);

}  // namespace caffe

#endif  // CAFFE_UTIL_GRAPHVIZ_HPP_
