#ifndef CAFFE_UTIL_DB_LMDB_HPP_
#define CAFFE_UTIL_DB_LMDB_HPP_

#ifdef USE_LMDB

#include <lmdb.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "caffe/util/db.hpp"
#include "caffe/util/db_session.hpp"

namespace caffe::db {

using LMDBSession = Session<MDB_env>;

/// Reads one snapshot of the database: what is written later is seen by later cursors only.
class LMDBCursor : public Cursor {
 public:
  explicit LMDBCursor(std::shared_ptr<LMDBSession> session);
  ~LMDBCursor() override { session_->Release(this); }
  void SeekToFirst() override { Seek(MDB_FIRST); }
  void Next() override { Seek(MDB_NEXT); }
  string key() override { return StringOf(key_); }
  string value() override { return StringOf(value_); }
  bool valid() override;
  void SeekTo(const string& key) override;

 private:
  void Seek(MDB_cursor_op op);
  /// A copy of bytes of the map, which Close() takes away.
  string StringOf(const MDB_val& bytes) const;

  const std::shared_ptr<LMDBSession> session_;
  MDB_txn* txn_ = nullptr;
  MDB_cursor* cursor_ = nullptr;
  MDB_val key_ = {}, value_ = {};
  bool valid_ = false;
};

/// Collects records and writes them in one LMDB transaction, growing the map where it is full.
class LMDBTransaction : public Transaction {
 public:
  explicit LMDBTransaction(std::shared_ptr<LMDBSession> session) : session_(std::move(session)) {}
  void Put(const string& key, const string& value) override { records_.emplace_back(key, value); }
  void Commit() override;

 private:
  /// Writes all records; false, and nothing is written, if the map has to grow first.
  bool TryPut();

  const std::shared_ptr<LMDBSession> session_;
  vector<std::pair<string, string>> records_;
};

/// A folder with data.mdb. It grows as it is written, and can be read where nothing can be
/// written. Within a process all readers of one folder share its map.
class LMDB : public DB {
 public:
  void Open(const string& source, Mode mode) override;
  void Close() override { session_.Close(); }
  LMDBCursor* NewCursor() override { return new LMDBCursor(session_.Share()); }
  LMDBTransaction* NewTransaction() override { return new LMDBTransaction(session_.Share()); }
  uint64_t Count() override;

 private:
  OwnSession<MDB_env> session_;
};

}  // namespace caffe::db

#endif  // USE_LMDB

#endif  // CAFFE_UTIL_DB_LMDB_HPP_
