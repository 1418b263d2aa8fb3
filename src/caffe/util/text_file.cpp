#include "caffe/util/text_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "caffe/core/limits.hpp"
#include "caffe/error.hpp"

namespace caffe {

std::string ReadTextFile(const std::string& file) {
  Require(!std::filesystem::is_directory(file), Error::File{file}, ": is a folder, not a file");
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  Require(stream.good(), Error::File{file}, ": cannot be read: ", std::strerror(errno));
  std::string text;
  char block[1 << 16];
  while (stream.read(block, sizeof(block)) || stream.gcount() > 0) {
    text.append(block, static_cast<size_t>(stream.gcount()));
    // Devices do not end.
    limits::Check(limits::kReadBytes, text.size(), Error::File{file}, ": the text");
  }
  Require(!stream.bad(), Error::File{file}, ": cannot be read: ", std::strerror(errno));
  return text;
}

std::ifstream OpenTextFile(const std::string& file, const char* why) {
  limits::CheckTextFile(file);
  std::ifstream stream(file);
  Require(stream.good(), Error::File{file}, ": ", why);
  stream.exceptions(std::ios::badbit);
  return stream;
}

}  // namespace caffe
