#ifndef CAFFE_TOOLS_NEW_DATABASE_HPP_
#define CAFFE_TOOLS_NEW_DATABASE_HPP_

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "caffe/common.hpp"
#include "caffe/util/db.hpp"

namespace caffe {

/// `number` with leading zeros, `digits` of them at least: keys in this form are in the numbers'
/// order.
inline std::string NumberKey(int64_t number, size_t digits) {
  const std::string text = std::to_string(number);
  return std::string(digits - std::min(digits, text.size()), '0') + text;
}

/// A database in the making. It is written under another name and gets its own when it is
/// complete; what fails on the way leaves nothing, and what a killed program left under that other
/// name is replaced.
class NewDatabase {
 public:
  /// Throws Error if there is something at `path`, or another program is making it.
  NewDatabase(const std::string& path, const std::string& backend)
      : path_(path), part_(path + ".unfinished"), db_(db::GetDB(backend)) {
    Require(!std::filesystem::exists(path), Error::File{path},
            ": there is a database of this name; remove it first or choose another name");
    RemoveAbandoned();
    db_->Open(part_, db::NEW);
    lock_ = Lock();
    Require(lock_ >= 0, part_, ": another program is making this database");
    transaction_.reset(db_->NewTransaction());
  }
  ~NewDatabase() {
    if (!db_) return;
    transaction_.reset();
    db_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(part_, ignored);
    Unlock();
  }
  NewDatabase(const NewDatabase&) = delete;
  NewDatabase& operator=(const NewDatabase&) = delete;

  void Put(const std::string& key, const std::string& value) {
    transaction_->Put(key, value);
    bytes_ += value.size();
    if (++count_ % 1000 == 0 || bytes_ > kCommitBytes) Commit();
  }
  int64_t count() const { return count_; }

  void Finish() {
    Commit();
    transaction_.reset();
    db_->Close();
    std::error_code error;
    std::filesystem::rename(part_, path_, error);
    Require(!error, Error::File{path_},
            ": the database cannot be given its name: ", error.message());
    db_.reset();
    Unlock();
  }

 private:
  /// A lock on the folder, held while it is written: a descriptor, or -1 if another program has it.
  int Lock() const {
    const int folder = open(part_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || flock(folder, LOCK_EX | LOCK_NB) == 0) return folder;
    close(folder);
    return -1;
  }
  void Unlock() {
    if (lock_ >= 0) close(lock_);
    lock_ = -1;
  }
  void RemoveAbandoned() {
    namespace fs = std::filesystem;
    if (!fs::exists(part_)) return;
    const fs::path folder = part_;
    const bool is_database = fs::is_directory(folder) &&
                             (fs::exists(folder / "data.mdb") || fs::exists(folder / "CURRENT"));
    Require(is_database, part_, ": is in the way",
            Error::Remedy{"remove it or choose another name"});
    lock_ = Lock();
    Require(lock_ >= 0, part_, ": another program is making this database");
    fs::remove_all(folder);
    LOG(WARNING) << "Removed " << part_ << ", which a program that was killed had left";
    Unlock();
  }

  static constexpr size_t kCommitBytes = size_t(64) << 20;

  void Commit() {
    transaction_->Commit();
    transaction_.reset(db_->NewTransaction());
    bytes_ = 0;
  }

  const std::string path_, part_;
  std::unique_ptr<db::DB> db_;
  std::unique_ptr<db::Transaction> transaction_;
  int lock_ = -1;
  int64_t count_ = 0;
  size_t bytes_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_TOOLS_NEW_DATABASE_HPP_
