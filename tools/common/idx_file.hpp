#ifndef CAFFE_TOOLS_IDX_FILE_HPP_
#define CAFFE_TOOLS_IDX_FILE_HPP_

#include <zlib.h>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "caffe/error.hpp"

namespace caffe {

/// The numbers that idx files begin with (http://yann.lecun.com/exdb/mnist).
constexpr uint32_t kIdxLabels = 2049, kIdxImages = 2051;

/// An idx file, gzipped or not: zlib reads files that are not compressed as they are.
class IdxFile {
 public:
  /// Throws Error if the file cannot be read or does not begin with `magic`.
  IdxFile(const std::string& path, uint32_t magic)
      : path_(path), file_(gzopen(path.c_str(), "rb"), gzclose) {
    Require(file_ != nullptr, Error::File{path}, ": there is no such file, or it cannot be read");
    const uint32_t found = Number();
    Require(found == magic, Error::File{path}, ": the file begins with ", found,
            " where an idx file of this kind ", "begins with ", magic);
  }

  uint32_t Number() {
    unsigned char bytes[4];
    Read(bytes, 4);
    return uint32_t(bytes[0]) << 24 | uint32_t(bytes[1]) << 16 | uint32_t(bytes[2]) << 8 | bytes[3];
  }
  void Read(void* bytes, unsigned size) {
    Require(gzread(file_.get(), bytes, size) == static_cast<int>(size), Error::File{path_},
            ": the file ends too early");
  }

 private:
  const std::string path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
};

/// A file of images behind its first number.
struct IdxImages {
  explicit IdxImages(const std::string& path)
      : file(path, kIdxImages), count(file.Number()), rows(file.Number()), columns(file.Number()) {
    Require(rows > 0 && columns > 0 && rows <= 4096 && columns <= 4096, Error::File{path},
            ": images of ", rows, " x ", columns, " cannot be right");
  }
  /// The next image, rows * columns bytes.
  std::string Next() {
    std::string pixels(size_t(rows) * columns, '\0');
    file.Read(&pixels[0], static_cast<unsigned>(pixels.size()));
    return pixels;
  }

  IdxFile file;
  const uint32_t count, rows, columns;
};

}  // namespace caffe

#endif  // CAFFE_TOOLS_IDX_FILE_HPP_
