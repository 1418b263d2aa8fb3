#include "caffe/io/staged_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "caffe/error.hpp"
#include "caffe/io/atomic_file.hpp"

namespace caffe {
namespace {

constexpr uint64_t kPageBytes = 256 << 10;

/// Calls part(page, begin, end) for each page's part of the bytes from `begin` to `end`.
template <typename Part>
void ForEachPage(uint64_t begin, uint64_t end, const Part& part) {
  while (begin < end) {
    const uint64_t page = begin / kPageBytes;
    const uint64_t stop = std::min(end, (page + 1) * kPageBytes);
    part(page, begin, stop);
    begin = stop;
  }
}

bool WriteAt(int descriptor, uint64_t offset, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t written = pwrite(descriptor, bytes, size, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    offset += written;
    bytes += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

/// Runs `undo`, which may fail as well, and keeps the first failure's errno.
template <typename Undo>
void AfterFailure(const Undo& undo) {
  const int reason = errno;
  undo();
  errno = reason;
}

}  // namespace

StagedFile::StagedFile(const std::string& path) : path_(path) {
  descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) FailToWrite(path_, "cannot be created");
  // File systems without locks are not an error.
  const bool in_use = flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (!in_use && ftruncate(descriptor_, 0) == 0) return;
  AfterFailure([&] { close(descriptor_); });
  Require(!in_use, Error::File{path_}, ": is in use by another layer or program",
          Error::Remedy{"end it, or name another file"});
  FailToWrite(path_, "cannot be emptied");
}

StagedFile::~StagedFile() { close(descriptor_); }

void StagedFile::ReadCommitted(uint64_t offset, char* bytes, size_t size) const {
  const size_t there = std::min<uint64_t>(size, committed_ - std::min(committed_, offset));
  std::fill(bytes + there, bytes + size, 0);
  for (size_t done = 0; done < there;) {
    const ssize_t count =
        pread(descriptor_, bytes + done, there - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    Require(count >= 0, Error::File{path_}, ": reading failed (", std::strerror(errno), ")");
    Require(count > 0, Error::File{path_}, ": another program has cut it off");
    done += static_cast<size_t>(count);
  }
}

void StagedFile::Read(uint64_t offset, void* bytes, size_t size) const {
  char* to = static_cast<char*>(bytes);
  ForEachPage(offset, offset + size, [&](uint64_t page, uint64_t begin, uint64_t end) {
    const auto staged = staged_.find(page);
    if (staged == staged_.end()) {
      ReadCommitted(begin, to, end - begin);
    } else {
      std::copy_n(staged->second.bytes.data() + begin % kPageBytes, end - begin, to);
    }
    to += end - begin;
  });
}

void StagedFile::Write(uint64_t offset, const void* bytes, size_t size) {
  const char* from = static_cast<const char*>(bytes);
  ForEachPage(offset, offset + size, [&](uint64_t page, uint64_t begin, uint64_t end) {
    auto staged = staged_.find(page);
    if (staged == staged_.end()) {
      Page loaded = {std::vector<char>(kPageBytes), begin, end};
      if (end - begin < kPageBytes)
        ReadCommitted(page * kPageBytes, loaded.bytes.data(), kPageBytes);
      staged = staged_.emplace(page, std::move(loaded)).first;
    }
    Page& target = staged->second;
    target.begin = std::min(target.begin, begin);
    target.end = std::max(target.end, end);
    std::copy_n(from, end - begin, target.bytes.data() + begin % kPageBytes);
    from += end - begin;
  });
  if (size > 0) size_ = std::max(size_, offset + size);
}

// All of the new bytes, zeros among them: behind this, nothing needs room any more.
void StagedFile::Append() {
  const std::vector<char> zeros(kPageBytes);
  ForEachPage(committed_, size_, [&](uint64_t page, uint64_t begin, uint64_t end) {
    const auto staged = staged_.find(page);
    const std::vector<char>& bytes = staged == staged_.end() ? zeros : staged->second.bytes;
    if (WriteAt(descriptor_, begin, bytes.data() + begin % kPageBytes, end - begin)) return;
    AfterFailure([&] { return ftruncate(descriptor_, static_cast<off_t>(committed_)); });
    FailToWrite(path_, "writing failed");
  });
}

void StagedFile::Overwrite() {
  const uint64_t size = std::min(committed_, size_);
  std::vector<std::pair<uint64_t, std::vector<char>>> before;
  for (const auto& [number, page] : staged_) {
    if (page.begin >= size) break;
    std::vector<char> old(std::min(page.end, size) - page.begin);
    ReadCommitted(page.begin, old.data(), old.size());
    before.emplace_back(page.begin, std::move(old));
    const char* const bytes = page.bytes.data() + page.begin % kPageBytes;
    if (WriteAt(descriptor_, page.begin, bytes, before.back().second.size())) continue;
    AfterFailure([&] {
      for (const auto& [begin, kept] : before) {
        WriteAt(descriptor_, begin, kept.data(), kept.size());
      }
      return ftruncate(descriptor_, static_cast<off_t>(committed_));
    });
    FailToWrite(path_, "writing failed");
  }
}

void StagedFile::Commit() {
  Append();
  Overwrite();
  if (size_ < committed_ && ftruncate(descriptor_, static_cast<off_t>(size_)) != 0) {
    FailToWrite(path_, "writing failed");
  }
  committed_ = size_;
  staged_.clear();
}

}  // namespace caffe
