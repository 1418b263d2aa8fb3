#include "caffe/util/text_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "caffe/core/limits.hpp"
#include "caffe/error.hpp"

namespace caffe {
namespace {

/// Some editors begin a text with UTF-8's.
void SkipByteOrderMark(std::istream* stream) {
  constexpr int kMark[] = {0xEF, 0xBB, 0xBF};
  int found = 0;
  for (; found < 3 && stream->peek() == kMark[found]; ++found) stream->get();
  if (found == 3 || stream->bad()) return;
  stream->clear();
  for (; found > 0; --found) stream->unget();
}

}  // namespace

std::string ReadTextFile(const std::string& file) {
  Require(!std::filesystem::is_directory(file), Error::File{file}, ": is a folder, not a file");
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  Require(stream.good(), Error::File{file}, ": cannot be read: ", std::strerror(errno));
  SkipByteOrderMark(&stream);
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
  SkipByteOrderMark(&stream);
  return stream;
}

}  // namespace caffe
