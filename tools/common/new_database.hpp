#ifndef CAFFE_TOOLS_COMMON_NEW_DATABASE_HPP_
#define CAFFE_TOOLS_COMMON_NEW_DATABASE_HPP_

#include <cstdint>
#include <memory>
#include <string>

#include "caffe/util/db.hpp"

namespace caffe {

/// `number` with leading zeros, `digits` of them at least: keys in this form are in the numbers'
/// order.
std::string NumberKey(int64_t number, size_t digits);

/// A database in the making. It is written under another name and gets its own when it is
/// complete; what fails on the way leaves nothing, and what a killed program left under that other
/// name is replaced.
class NewDatabase {
 public:
  /// Throws Error if there is something at `path`, or another program is making it.
  NewDatabase(const std::string& path, const std::string& backend);
  ~NewDatabase();
  NewDatabase(const NewDatabase&) = delete;
  NewDatabase& operator=(const NewDatabase&) = delete;

  void Put(const std::string& key, const std::string& value);
  int64_t count() const { return count_; }
  void Finish();

 private:
  /// A lock on the folder, held while it is written: a descriptor, or -1 if another program has it.
  int Lock() const;
  void Unlock();
  /// Removes the folder, whose lock is held.
  void RemovePart();
  void RemoveAbandoned();
  void Commit();

  const std::string path_, part_;
  std::unique_ptr<db::DB> db_;
  std::unique_ptr<db::Transaction> transaction_;
  int lock_ = -1;
  int64_t count_ = 0;
  size_t bytes_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_TOOLS_COMMON_NEW_DATABASE_HPP_
