#ifndef CAFFE_UTIL_DB_LMDB_HPP_
#define CAFFE_UTIL_DB_LMDB_HPP_

#ifdef USE_LMDB

#include <lmdb.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "caffe/util/db.hpp"

namespace caffe {
namespace db {

/// Reads one snapshot of the database: what is written later is seen by later cursors only.
class LMDBCursor : public Cursor {
 public:
  LMDBCursor(std::shared_ptr<MDB_env> env, const string& source);
  ~LMDBCursor() override;
  void SeekToFirst() override { Seek(MDB_FIRST); }
  void Next() override { Seek(MDB_NEXT); }
  string key() override { return string(static_cast<const char*>(key_.mv_data), key_.mv_size); }
  string value() override {
    return string(static_cast<const char*>(value_.mv_data), value_.mv_size);
  }
  bool valid() override { return valid_; }
  void SeekTo(const string& key) override;

 private:
  void Seek(MDB_cursor_op op);

  std::shared_ptr<MDB_env> env_;
  MDB_txn* txn_ = nullptr;
  MDB_cursor* cursor_ = nullptr;
  MDB_val key_ = {}, value_ = {};
  bool valid_ = false;
  const string source_;
};

/// Collects records and writes them in one LMDB transaction, growing the map where it is full.
class LMDBTransaction : public Transaction {
 public:
  LMDBTransaction(std::shared_ptr<MDB_env> env, const string& source)
      : env_(std::move(env)), source_(source) {}
  void Put(const string& key, const string& value) override { records_.emplace_back(key, value); }
  void Commit() override;

 private:
  /// Writes all records; false, and nothing is written, if the map has to grow first.
  bool TryPut();

  std::shared_ptr<MDB_env> env_;
  vector<std::pair<string, string>> records_;
  const string source_;
};

/// A folder with data.mdb. It grows as it is written, and can be read where nothing can be
/// written. Within a process all readers of one folder share its map.
class LMDB : public DB {
 public:
  void Open(const string& source, Mode mode) override;
  void Close() override { env_.reset(); }
  LMDBCursor* NewCursor() override { return new LMDBCursor(env_, source_); }
  LMDBTransaction* NewTransaction() override { return new LMDBTransaction(env_, source_); }

 private:
  std::shared_ptr<MDB_env> env_;
  string source_;
};

}  // namespace db
}  // namespace caffe

#endif  // USE_LMDB

#endif  // CAFFE_UTIL_DB_LMDB_HPP_
