#ifndef CAFFE_UTIL_DB_LMDB_HPP_
#define CAFFE_UTIL_DB_LMDB_HPP_

#ifdef USE_LMDB

#include <lmdb.h>

#include <string>
#include <utility>
#include <vector>

#include "caffe/util/db.hpp"

namespace caffe {
namespace db {

class LMDBCursor : public Cursor {
 public:
  LMDBCursor(MDB_txn* txn, MDB_cursor* cursor, const string& source);
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

  MDB_txn* txn_;
  MDB_cursor* cursor_;
  MDB_val key_ = {}, value_ = {};
  bool valid_ = false;
  const string source_;
};

class LMDB;

class LMDBTransaction : public Transaction {
 public:
  explicit LMDBTransaction(LMDB* db) : db_(db) {}
  void Put(const string& key, const string& value) override { records_.emplace_back(key, value); }
  void Commit() override;

 private:
  LMDB* db_;
  vector<std::pair<string, string>> records_;
};

/// A directory with data.mdb. It grows as it is written, and is read where nothing can be written.
class LMDB : public DB {
 public:
  ~LMDB() override { Close(); }
  void Open(const string& source, Mode mode) override;
  void Close() override;
  LMDBCursor* NewCursor() override;
  LMDBTransaction* NewTransaction() override { return new LMDBTransaction(this); }

 private:
  friend class LMDBTransaction;
  /// Puts all records in one transaction; false if the map has to grow first.
  bool TryPut(const vector<std::pair<string, string>>& records);

  MDB_env* env_ = nullptr;
  MDB_dbi dbi_ = 0;
  string source_;
};

}  // namespace db
}  // namespace caffe

#endif  // USE_LMDB

#endif  // CAFFE_UTIL_DB_LMDB_HPP_
