#ifndef CAFFE_IO_ATOMIC_FILE_HPP_
#define CAFFE_IO_ATOMIC_FILE_HPP_

#include <cstddef>
#include <string>
#include <vector>

namespace caffe {

/// Writes a file so that a kill or a full disk at any moment leaves either what was there before or
/// the complete new contents: a temporary file in the same directory, synced, then renamed.
///
///     AtomicFile file("lenet.caffemodel");
///     file.Write(bytes, size);
///     file.Commit();
///
/// A process that is killed leaves its temporary file; the next commit of the same file, as of a
/// training that was resumed, removes it once it is a minute old. (A writer that is alive holds a
/// lock on its own, see flock(2).)
///
/// A path that exists and is no regular file (a pipe, /dev/stdout) is written directly.
class AtomicFile {
 public:
  /// Throws Error if the file cannot be created.
  explicit AtomicFile(const std::string& path);
  /// Without a Commit the temporary file is removed and the old one stays.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Appends `size` bytes. Throws Error with the path and the system's reason.
  void Write(const void* bytes, size_t size);
  /// Makes the new contents the file's contents. Throws Error; then the old file is untouched.
  void Commit();

  const std::string& path() const { return path_; }
  /// Bytes appended so far.
  size_t size() const { return size_; }

 private:
  void Flush();
  void WriteThrough(const char* bytes, size_t size);

  std::string path_;
  std::string temporary_;  // empty when written directly
  int descriptor_ = -1;
  size_t size_ = 0;
  std::vector<char> buffer_;
};

/// Throws the Error of a file that cannot be written, for the reason in errno: "FILE: WHAT
/// (reason)" and what may help.
[[noreturn]] void FailToWrite(const std::string& path, const char* what);

}  // namespace caffe

#endif  // CAFFE_IO_ATOMIC_FILE_HPP_
