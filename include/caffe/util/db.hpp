#ifndef CAFFE_UTIL_DB_HPP_
#define CAFFE_UTIL_DB_HPP_

#include <cstdint>
#include <string>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe::db {

enum Mode { READ, WRITE, NEW };

/// A place in a database, whose records are in the order of their keys.
class Cursor {
 public:
  Cursor() {}
  virtual ~Cursor() {}
  virtual void SeekToFirst() = 0;
  virtual void Next() = 0;
  virtual string key() = 0;
  virtual string value() = 0;
  /// False behind the last record.
  virtual bool valid() = 0;
  /// Goes to the first record whose key is not less than `key`.
  virtual void SeekTo(const string& key) {
    SeekToFirst();
    while (valid() && this->key() < key) Next();
  }

  DISABLE_COPY_AND_ASSIGN(Cursor);
};

class Transaction {
 public:
  Transaction() {}
  virtual ~Transaction() {}
  virtual void Put(const string& key, const string& value) = 0;
  /// Writes what was put; a transaction that is not committed leaves the database as it was.
  virtual void Commit() = 0;

  DISABLE_COPY_AND_ASSIGN(Transaction);
};

/// A database of records by key. All functions throw Error with the path and the remedy.
class DB {
 public:
  DB() {}
  virtual ~DB() {}
  /// NEW makes a database where there is none.
  virtual void Open(const string& source, Mode mode) = 0;
  /// Frees the database for others, what is left of its cursors and transactions notwithstanding:
  /// they throw Error when they are used again.
  virtual void Close() = 0;
  virtual Cursor* NewCursor() = 0;
  virtual Transaction* NewTransaction() = 0;
  /// How many records there are. This one reads them all.
  virtual uint64_t Count();

  DISABLE_COPY_AND_ASSIGN(DB);
};

DB* GetDB(DataParameter::DB backend);
/// `backend` is "lmdb" or "leveldb".
DB* GetDB(const string& backend);

}  // namespace caffe::db

#endif  // CAFFE_UTIL_DB_HPP_
