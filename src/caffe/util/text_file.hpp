#ifndef CAFFE_UTIL_TEXT_FILE_HPP_
#define CAFFE_UTIL_TEXT_FILE_HPP_

#include <fstream>
#include <string>

namespace caffe {

/// The whole text of a file, without a byte order mark. Throws Error with the path and the system's
/// reason if it cannot be read.
std::string ReadTextFile(const std::string& file);

/// A file to be read piece by piece: no device, no folder, and not larger than the limits allow.
/// A byte order mark is passed already.
/// Throws Error, the file and `why`, if it cannot be opened. Reads that fail, and memory that ends
/// in them, are exceptions: a stream would say that it is at its end.
std::ifstream OpenTextFile(const std::string& file,
                           const char* why = "there is no such file, or it cannot be read");

}  // namespace caffe

#endif  // CAFFE_UTIL_TEXT_FILE_HPP_
