#include "caffe/io/atomic_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "caffe/error.hpp"

namespace caffe {

namespace {

constexpr size_t kBufferSize = 1 << 20;

/// The file behind symbolic links, so that a rename replaces the file and not the link.
std::string Resolve(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

std::string Directory(const std::string& path) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  return directory.empty() ? "." : directory;
}

/// A name in the same directory that no other writer of this machine uses.
std::string TemporaryName(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  return Join(path, ".tmp.", getpid(), ".", counter++);
}

/// Cuts ".123" off the end; false if there is no such end.
bool CutNumber(std::string* name) {
  const size_t dot = name->rfind('.');
  if (dot == std::string::npos || dot + 1 == name->size()) return false;
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  if (!std::all_of(name->begin() + dot + 1, name->end(), is_digit)) return false;
  name->resize(dot);
  return true;
}

/// True if TemporaryName may have given this name, in a process of any number.
bool IsTemporaryName(std::string name, const std::string& target) {
  return CutNumber(&name) && CutNumber(&name) && name == target + ".tmp";
}

/// Whether the writer of a temporary file is gone: one that lives holds a lock, wherever its
/// process runs. A file that was just created may not be locked yet.
bool IsAbandoned(const std::filesystem::path& file) {
  std::error_code error;
  const auto age =
      std::filesystem::file_time_type::clock::now() - std::filesystem::last_write_time(file, error);
  if (error || age < std::chrono::minutes(1)) return false;
  const int descriptor = open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool is_unlocked = flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  close(descriptor);
  return is_unlocked;
}

/// Removes what writers of this file left behind that were killed. Not with a directory_iterator:
/// that of libstdc++ 12 ends the process where memory is refused.
void RemoveAbandoned(const std::string& path) {
  const std::string target = std::filesystem::path(path).filename().string();
  const std::filesystem::path folder = Directory(path);
  const auto close = [](DIR* entries) { closedir(entries); };
  const std::unique_ptr<DIR, decltype(close)> entries(opendir(folder.c_str()), close);
  while (const dirent* const entry = entries ? readdir(entries.get()) : nullptr) {
    if (!IsTemporaryName(entry->d_name, target)) continue;
    const std::filesystem::path file = folder / entry->d_name;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(std::filesystem::symlink_status(file, ignored)) &&
        IsAbandoned(file)) {
      std::filesystem::remove(file, ignored);
    }
  }
}

/// Makes the rename itself survive a power failure. A file system that cannot is not an error.
void SyncDirectory(const std::string& path) {
  const int directory = open(Directory(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  fsync(directory);
  close(directory);
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : path_(Resolve(path)) {
  struct stat status;
  const bool exists = stat(path_.c_str(), &status) == 0;
  Require(!exists || !S_ISDIR(status.st_mode), Error::File{path_},
          ": is a directory; name a file to write");
  if (exists && !S_ISREG(status.st_mode)) {
    descriptor_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    temporary_ = TemporaryName(path_);
    descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                       exists ? status.st_mode & 0777 : 0666);
  }
  if (descriptor_ < 0) {
    temporary_.clear();
    FailToWrite(path_, "cannot be written");
  }
  if (!temporary_.empty()) flock(descriptor_, LOCK_EX | LOCK_NB);
  buffer_.reserve(kBufferSize);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void FailToWrite(const std::string& path, const char* what) {
  const int reason = errno;
  std::string advice;
  if (reason == ENOSPC || reason == EDQUOT || reason == EFBIG) {
    advice = "; free space or write elsewhere";
  } else if (std::error_code none;
             reason == ENOENT && !std::filesystem::exists(Directory(path), none)) {
    advice = "; create the directory " + Directory(path) + " first";
  }
  Fail(Error::File{path}, ": ", what, " (", std::strerror(reason), ")", advice);
}

void AtomicFile::Write(const void* bytes, size_t size) {
  const char* begin = static_cast<const char*>(bytes);
  size_ += size;
  if (buffer_.size() + size > kBufferSize) Flush();
  if (size > kBufferSize) return WriteThrough(begin, size);
  buffer_.insert(buffer_.end(), begin, begin + size);
}

void AtomicFile::Flush() {
  WriteThrough(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void AtomicFile::WriteThrough(const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t written = write(descriptor_, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) FailToWrite(path_, "writing failed");
    bytes += written;
    size -= static_cast<size_t>(written);
  }
}

void AtomicFile::Commit() {
  Flush();
  if (!temporary_.empty() && fsync(descriptor_) != 0) FailToWrite(path_, "writing failed");
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (close(descriptor) != 0) FailToWrite(path_, "writing failed");
  if (temporary_.empty()) return;
  if (rename(temporary_.c_str(), path_.c_str()) != 0) FailToWrite(path_, "cannot be replaced");
  temporary_.clear();
  SyncDirectory(path_);
  RemoveAbandoned(path_);
}

}  // namespace caffe
