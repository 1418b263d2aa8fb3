#ifndef CAFFE_IO_STAGED_FILE_HPP_
#define CAFFE_IO_STAGED_FILE_HPP_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace caffe {

/// A file that changes step by step, anywhere in it: what is written stays in memory until a
/// Commit. One that finds no room, or fails once, leaves the file as the Commit before has left it.
///
/// A kill in the middle of a Commit may leave a part of it: AtomicFile is for files that are
/// written in one go.
class StagedFile {
 public:
  /// Creates the file, or empties it. Throws Error, also if another process has it locked
  /// (flock(2)).
  explicit StagedFile(const std::string& path);
  ~StagedFile();
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;

  /// What has been written, committed or not; zeros where nothing has. Throws Error.
  void Read(uint64_t offset, void* bytes, size_t size) const;
  void Write(uint64_t offset, const void* bytes, size_t size);
  /// What a smaller size cuts off is undefined if the file grows again.
  void Resize(uint64_t size) { size_ = size; }
  uint64_t size() const { return size_; }

  /// Brings all of it into the file. Throws Error with the path and the system's reason.
  void Commit();

 private:
  struct Page {
    std::vector<char> bytes;
    uint64_t begin, end;  // what of it has been written, as places in the file
  };

  void ReadCommitted(uint64_t offset, char* bytes, size_t size) const;
  void Append();
  void Overwrite();

  const std::string path_;
  int descriptor_ = -1;
  uint64_t committed_ = 0;  // the file's size
  uint64_t size_ = 0;       // what it is to be
  std::map<uint64_t, Page> staged_;
};

}  // namespace caffe

#endif  // CAFFE_IO_STAGED_FILE_HPP_
