#ifndef CAFFE_UTIL_DB_LEVELDB_HPP_
#define CAFFE_UTIL_DB_LEVELDB_HPP_

#ifdef USE_LEVELDB

#include <leveldb/db.h>
#include <leveldb/write_batch.h>

#include <memory>
#include <string>

#include "caffe/util/db.hpp"

namespace caffe {
namespace db {

class LevelDBCursor : public Cursor {
 public:
  explicit LevelDBCursor(leveldb::Iterator* iter) : iter_(iter) { SeekToFirst(); }
  void SeekToFirst() override { iter_->SeekToFirst(); }
  void Next() override { iter_->Next(); }
  string key() override { return iter_->key().ToString(); }
  string value() override { return iter_->value().ToString(); }
  bool valid() override { return iter_->Valid(); }
  void SeekTo(const string& key) override { iter_->Seek(key); }

 private:
  std::unique_ptr<leveldb::Iterator> iter_;
};

class LevelDBTransaction : public Transaction {
 public:
  LevelDBTransaction(leveldb::DB* db, const string& source) : db_(db), source_(source) {}
  void Put(const string& key, const string& value) override { batch_.Put(key, value); }
  void Commit() override;

 private:
  leveldb::DB* db_;
  leveldb::WriteBatch batch_;
  const string source_;
};

class LevelDB : public DB {
 public:
  void Open(const string& source, Mode mode) override;
  void Close() override { db_.reset(); }
  LevelDBCursor* NewCursor() override {
    return new LevelDBCursor(db_->NewIterator(leveldb::ReadOptions()));
  }
  LevelDBTransaction* NewTransaction() override {
    return new LevelDBTransaction(db_.get(), source_);
  }

 private:
  std::unique_ptr<leveldb::DB> db_;
  string source_;
};

}  // namespace db
}  // namespace caffe

#endif  // USE_LEVELDB

#endif  // CAFFE_UTIL_DB_LEVELDB_HPP_
