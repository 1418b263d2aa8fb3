#ifndef CAFFE_IO_TEXT_FILE_HPP_
#define CAFFE_IO_TEXT_FILE_HPP_

#include <string>

namespace caffe {

/// The whole contents of a file. Throws Error with the path and the system's reason if it cannot be
/// read.
std::string ReadTextFile(const std::string& file);

}  // namespace caffe

#endif  // CAFFE_IO_TEXT_FILE_HPP_
