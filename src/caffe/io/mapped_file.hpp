#ifndef CAFFE_IO_MAPPED_FILE_HPP_
#define CAFFE_IO_MAPPED_FILE_HPP_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace caffe {

/// The bytes of a file, for reading: mapped, so that only what is looked at is loaded. What cannot
/// be mapped (a pipe) is read into memory.
class MappedFile {
 public:
  /// Throws Error with the system's reason if the file cannot be read, is a directory or is empty.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  const std::string& path() const { return path_; }

 private:
  void ReadAll(int descriptor);

  std::string path_;
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
  void* mapping_ = nullptr;
  std::vector<uint8_t> contents_;  // of what could not be mapped
};

/// What the first bytes of a file show it to be, for messages: "an image (PNG)", "an HDF5 file",
/// "text", ... Empty when they show nothing.
std::string DescribeContents(const uint8_t* data, size_t size);

/// True for the first bytes of an HDF5 file.
bool IsHdf5(const uint8_t* data, size_t size);
/// The same of a file; false also for one that cannot be read, and for pipes.
bool IsHdf5File(const std::string& path);

/// The offset of the first byte that no text file has (NUL and most control characters), or `size`.
size_t FindBinaryByte(const uint8_t* data, size_t size);

/// Why a file is no text, for messages: "it looks like an HDF5 file", "byte 7 is no text"; empty if
/// it is text.
std::string WhyNoText(const MappedFile& file);

}  // namespace caffe

#endif  // CAFFE_IO_MAPPED_FILE_HPP_
