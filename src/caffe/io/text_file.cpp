#include "caffe/io/text_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "caffe/error.hpp"

namespace caffe {

std::string ReadTextFile(const std::string& file) {
  Require(!std::filesystem::is_directory(file), Error::File{file}, ": is a folder, not a file");
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  Require(stream.good(), Error::File{file}, ": cannot be read: ", std::strerror(errno));
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  Require(!stream.bad(), Error::File{file}, ": cannot be read: ", std::strerror(errno));
  return text;
}

}  // namespace caffe
