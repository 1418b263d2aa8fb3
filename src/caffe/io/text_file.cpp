#include "caffe/io/text_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

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

void CheckTextFile(const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code unknown;
  const fs::file_type type = fs::status(file, unknown).type();
  Require(type != fs::file_type::character && type != fs::file_type::block, Error::File{file},
          ": is a device, not a text file");
  if (type != fs::file_type::regular) return;
  const uintmax_t size = fs::file_size(file, unknown);
  if (!unknown) limits::Check(limits::kReadBytes, size, Error::File{file}, ": the text");
}

}  // namespace caffe
