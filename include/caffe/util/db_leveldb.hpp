#ifndef CAFFE_UTIL_DB_LEVELDB_HPP_
#define CAFFE_UTIL_DB_LEVELDB_HPP_

#ifdef USE_LEVELDB

#include <leveldb/db.h>
#include <leveldb/write_batch.h>

#include <memory>
#include <string>
#include <utility>

#include "caffe/util/db.hpp"

namespace caffe {
namespace db {

class LevelDBCursor : public Cursor {
 public:
  LevelDBCursor(std::shared_ptr<leveldb::DB> db, const string& source);
  void SeekToFirst() override { iterator_->SeekToFirst(); }
  void Next() override { iterator_->Next(); }
  string key() override { return iterator_->key().ToString(); }
  string value() override { return iterator_->value().ToString(); }
  bool valid() override;
  void SeekTo(const string& key) override { iterator_->Seek(key); }

 private:
  std::shared_ptr<leveldb::DB> db_;  // outlives its iterator
  std::unique_ptr<leveldb::Iterator> iterator_;
  const string source_;
};

class LevelDBTransaction : public Transaction {
 public:
  LevelDBTransaction(std::shared_ptr<leveldb::DB> db, const string& source)
      : db_(std::move(db)), source_(source) {}
  void Put(const string& key, const string& value) override { batch_.Put(key, value); }
  void Commit() override;

 private:
  std::shared_ptr<leveldb::DB> db_;
  leveldb::WriteBatch batch_;
  const string source_;
};

/// A folder of LevelDB's files. LevelDB locks it even to read, so the folder has to be writable;
/// within a process all readers of one folder share it.
class LevelDB : public DB {
 public:
  void Open(const string& source, Mode mode) override;
  void Close() override { db_.reset(); }
  LevelDBCursor* NewCursor() override { return new LevelDBCursor(db_, source_); }
  LevelDBTransaction* NewTransaction() override { return new LevelDBTransaction(db_, source_); }

 private:
  std::shared_ptr<leveldb::DB> db_;
  string source_;
};

}  // namespace db
}  // namespace caffe

#endif  // USE_LEVELDB

#endif  // CAFFE_UTIL_DB_LEVELDB_HPP_
