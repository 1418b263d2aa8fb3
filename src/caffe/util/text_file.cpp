#include "caffe/util/text_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "caffe/core/limits.hpp"
#include "caffe/error.hpp"

namespace caffe {
namespace {

/// Some editors begin a text with UTF-8's. Only one that has come as a whole is passed: a stream
/// can go back no further than what it has read last.
void SkipByteOrderMark(std::istream* stream) {
  constexpr int kMark[] = {0xEF, 0xBB, 0xBF};
  if (stream->peek() != kMark[0]) {
    if (!stream->bad()) stream->clear();
    return;
  }
  if (stream->rdbuf()->in_avail() < 3) return;
  int found = 0;
  for (; found < 3 && stream->peek() == kMark[found]; ++found) stream->get();
  for (; found > 0 && found < 3; --found) stream->unget();
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
