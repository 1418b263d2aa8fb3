#include "caffe/io/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "caffe/core/limits.hpp"
#include "caffe/error.hpp"

namespace caffe {

namespace {

/// Closes a descriptor when the scope ends.
class FileHandle {
 public:
  explicit FileHandle(const std::string& path)
      : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    Require(descriptor_ >= 0, Error::File{path}, ": cannot be opened (", std::strerror(errno), ")");
  }
  ~FileHandle() { close(descriptor_); }
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

struct Signature {
  const char* bytes;
  size_t size;
  const char* meaning;
};

constexpr Signature kHdf5 = {"\x89HDF\r\n\x1a\n", 8, "an HDF5 file"};

constexpr Signature kSignatures[] = {
    kHdf5,
    {"\x89PNG", 4, "an image (PNG)"},
    {"\xff\xd8\xff", 3, "an image (JPEG)"},
    {"PK\x03\x04", 4, "a zip archive"},
    {"\x1f\x8b", 2, "compressed with gzip"},
    {"version https://git-lfs", 23, "a Git LFS pointer: fetch the file itself with git lfs pull"},
    {"<!DOCTYPE", 9, "a web page: the download went wrong"},
    {"<!doctype", 9, "a web page: the download went wrong"},
    {"<html", 5, "a web page: the download went wrong"},
};

}  // namespace

MappedFile::MappedFile(const std::string& path) : path_(path) {
  const FileHandle file(path);
  struct stat status;
  const bool known = fstat(file.get(), &status) == 0;
  Require(known, Error::File{path}, ": cannot be read (", std::strerror(errno), ")");
  Require(!S_ISDIR(status.st_mode), Error::File{path}, ": is a directory; name a file");
  if (S_ISREG(status.st_mode) && status.st_size > 0) {
    size_ = static_cast<size_t>(status.st_size);
    void* mapping = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (mapping != MAP_FAILED) {
      mapping_ = mapping;
      data_ = static_cast<const uint8_t*>(mapping);
      return;
    }
  }
  ReadAll(file.get());
  Require(size_ > 0, Error::File{path}, ": the file is empty");
}

MappedFile::~MappedFile() {
  if (mapping_) munmap(mapping_, size_);
}

void MappedFile::ReadAll(int descriptor) {
  constexpr size_t kChunk = 1 << 20;
  for (;;) {
    const size_t end = contents_.size();
    contents_.resize(end + kChunk);
    const ssize_t count = read(descriptor, contents_.data() + end, kChunk);
    const int reason = errno;
    contents_.resize(end + std::max<ssize_t>(count, 0));
    if (count == 0) break;
    limits::Check(limits::kReadBytes, contents_.size(), Error::File{path_}, ": what is read");
    if (count < 0 && reason != EINTR)
      Fail(Error::File{path_}, ": reading failed (", strerror(reason), ")");
  }
  data_ = contents_.data();
  size_ = contents_.size();
}

namespace {

bool BeginsWith(const Signature& signature, const uint8_t* data, size_t size) {
  return size >= signature.size && std::memcmp(data, signature.bytes, signature.size) == 0;
}

}  // namespace

bool IsHdf5(const uint8_t* data, size_t size) { return BeginsWith(kHdf5, data, size); }

// What a pipe holds can be read once.
bool IsHdf5File(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  uint8_t begin[8] = {};
  std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(begin), sizeof(begin));
  return IsHdf5(begin, sizeof(begin));
}

std::string DescribeContents(const uint8_t* data, size_t size) {
  for (const Signature& signature : kSignatures) {
    if (BeginsWith(signature, data, size)) return signature.meaning;
  }
  return FindBinaryByte(data, std::min<size_t>(size, 4096)) == std::min<size_t>(size, 4096) ? "text"
                                                                                            : "";
}

size_t FindBinaryByte(const uint8_t* data, size_t size) {
  const uint8_t* found = std::find_if(data, data + size, [](uint8_t byte) {
    return (byte < 32 && !(byte >= '\t' && byte <= '\r')) || byte == 127;
  });
  return static_cast<size_t>(found - data);
}

std::string WhyNoText(const MappedFile& file) {
  const size_t binary = FindBinaryByte(file.data(), file.size());
  if (binary == file.size()) return "";
  const std::string seen = DescribeContents(file.data(), file.size());
  return seen.empty() || seen == "text" ? Join("byte ", binary, " is no text")
                                        : "it looks like " + seen;
}

}  // namespace caffe
