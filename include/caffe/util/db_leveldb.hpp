#ifndef CAFFE_UTIL_DB_LEVELDB_HPP_
#define CAFFE_UTIL_DB_LEVELDB_HPP_

#ifdef USE_LEVELDB

#include <leveldb/db.h>
#include <leveldb/write_batch.h>

#include <memory>
#include <string>
#include <utility>

#include "caffe/util/db.hpp"
#include "caffe/util/db_session.hpp"

namespace caffe::db {

using LevelDBSession = Session<leveldb::DB>;

class LevelDBCursor : public Cursor {
 public:
  explicit LevelDBCursor(std::shared_ptr<LevelDBSession> session);
  ~LevelDBCursor() override { session_->Release(this); }
  void SeekToFirst() override { iterator().SeekToFirst(); }
  void Next() override { iterator().Next(); }
  string key() override { return iterator().key().ToString(); }
  string value() override;
  bool valid() override;
  void SeekTo(const string& key) override { iterator().Seek(key); }

 private:
  leveldb::Iterator& iterator() const;

  const std::shared_ptr<LevelDBSession> session_;
  std::unique_ptr<leveldb::Iterator> iterator_;
};

class LevelDBTransaction : public Transaction {
 public:
  explicit LevelDBTransaction(std::shared_ptr<LevelDBSession> session)
      : session_(std::move(session)) {}
  void Put(const string& key, const string& value) override { batch_.Put(key, value); }
  void Commit() override;

 private:
  const std::shared_ptr<LevelDBSession> session_;
  leveldb::WriteBatch batch_;
};

/// A folder of LevelDB's files. LevelDB locks it even to read, so the folder has to be writable;
/// within a process all readers of one folder share it.
class LevelDB : public DB {
 public:
  void Open(const string& source, Mode mode) override;
  void Close() override { session_.Close(); }
  LevelDBCursor* NewCursor() override { return new LevelDBCursor(session_.Share()); }
  LevelDBTransaction* NewTransaction() override { return new LevelDBTransaction(session_.Share()); }

 private:
  OwnSession<leveldb::DB> session_;
};

}  // namespace caffe::db

#endif  // USE_LEVELDB

#endif  // CAFFE_UTIL_DB_LEVELDB_HPP_
