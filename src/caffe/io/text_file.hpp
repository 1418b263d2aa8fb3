#ifndef CAFFE_IO_TEXT_FILE_HPP_
#define CAFFE_IO_TEXT_FILE_HPP_

#include <string>

namespace caffe {

/// The whole contents of a file. Throws Error with the path and the system's reason if it cannot be
/// read.
std::string ReadTextFile(const std::string& file);

/// Throws Error if `file`, which is to be read line by line, is a device, which may never end, or
/// larger than Limits::read_bytes. What is wrong with it otherwise, opening it says.
void CheckTextFile(const std::string& file);

}  // namespace caffe

#endif  // CAFFE_IO_TEXT_FILE_HPP_
