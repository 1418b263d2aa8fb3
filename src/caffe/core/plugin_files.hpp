#ifndef CAFFE_PLUGIN_FILES_HPP_
#define CAFFE_PLUGIN_FILES_HPP_

#include <string>
#include <vector>

namespace caffe {

/// Where a library `name` that libcaffe loads when it is first needed may lie: the file that the
/// environment variable `variable` names, if it is set; else next to libcaffe, or wherever the
/// system looks for libraries.
std::vector<std::string> PluginFiles(const char* variable, const char* name);

}  // namespace caffe

#endif  // CAFFE_PLUGIN_FILES_HPP_
