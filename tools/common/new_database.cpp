#include "new_database.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <filesystem>

#include "caffe/common.hpp"

namespace caffe {
namespace {

constexpr size_t kCommitBytes = size_t(64) << 20;

}  // namespace

std::string NumberKey(int64_t number, size_t digits) {
  const std::string text = std::to_string(number);
  return std::string(digits - std::min(digits, text.size()), '0') + text;
}

NewDatabase::NewDatabase(const std::string& path, const std::string& backend)
    : path_(path), part_(path + ".unfinished"), db_(db::GetDB(backend)) {
  Require(!std::filesystem::exists(path), Error::File{path},
          ": there is a database of this name; remove it first or choose another name");
  RemoveAbandoned();
  try {
    db_->Open(part_, db::NEW);
  } catch (const std::exception&) {
    db_.reset();
    lock_ = Lock();  // not had where another program has just made the folder
    if (lock_ >= 0) RemovePart();
    throw;
  }
  lock_ = Lock();
  Require(lock_ >= 0, part_, ": another program is making this database");
  transaction_.reset(db_->NewTransaction());
}

NewDatabase::~NewDatabase() {
  if (!db_) return;
  transaction_.reset();
  db_.reset();
  RemovePart();
}

void NewDatabase::RemovePart() {
  std::error_code ignored;
  std::filesystem::remove_all(part_, ignored);
  Unlock();
}

void NewDatabase::Put(const std::string& key, const std::string& value) {
  transaction_->Put(key, value);
  bytes_ += value.size();
  if (++count_ % 1000 == 0 || bytes_ > kCommitBytes) Commit();
}

void NewDatabase::Finish() {
  Commit();
  transaction_.reset();
  db_->Close();
  std::error_code error;
  std::filesystem::rename(part_, path_, error);
  Require(!error, Error::File{path_}, ": the database cannot be given its name: ", error.message());
  db_.reset();
  Unlock();
}

int NewDatabase::Lock() const {
  const int folder = open(part_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0 || flock(folder, LOCK_EX | LOCK_NB) == 0) return folder;
  close(folder);
  return -1;
}

void NewDatabase::Unlock() {
  if (lock_ >= 0) close(lock_);
  lock_ = -1;
}

void NewDatabase::RemoveAbandoned() {
  namespace fs = std::filesystem;
  if (!fs::exists(part_)) return;
  const fs::path folder = part_;
  const bool is_database = fs::is_directory(folder) &&
                           (fs::exists(folder / "data.mdb") || fs::exists(folder / "CURRENT"));
  Require(is_database, part_, ": is in the way", Error::Remedy{"remove it or choose another name"});
  lock_ = Lock();
  Require(lock_ >= 0, part_, ": another program is making this database");
  fs::remove_all(folder);
  LOG(WARNING) << "Removed " << part_ << ", which a program that was killed had left";
  Unlock();
}

void NewDatabase::Commit() {
  transaction_->Commit();
  transaction_.reset(db_->NewTransaction());
  bytes_ = 0;
}

}  // namespace caffe
