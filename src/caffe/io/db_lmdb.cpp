#ifdef USE_LMDB

#include "caffe/util/db_lmdb.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace caffe {
namespace db {
namespace {

constexpr size_t kFirstMapSize = size_t(1) << 24;  // bytes; doubled when it is full

void Check(int status, const string& source, const char* doing) {
  Require(status == MDB_SUCCESS, source, ": LMDB cannot ", doing, ": ", mdb_strerror(status));
}

}  // namespace

LMDBCursor::LMDBCursor(MDB_txn* txn, MDB_cursor* cursor, const string& source)
    : txn_(txn), cursor_(cursor), source_(source) {
  SeekToFirst();
}

LMDBCursor::~LMDBCursor() {
  mdb_cursor_close(cursor_);
  mdb_txn_abort(txn_);
}

void LMDBCursor::Seek(MDB_cursor_op op) {
  const int status = mdb_cursor_get(cursor_, &key_, &value_, op);
  valid_ = status != MDB_NOTFOUND;
  if (valid_) Check(status, source_, "read a record");
}

void LMDBCursor::SeekTo(const string& key) {
  key_.mv_data = const_cast<char*>(key.data());
  key_.mv_size = key.size();
  Seek(MDB_SET_RANGE);
}

bool LMDB::TryPut(const vector<std::pair<string, string>>& records) {
  MDB_txn* txn = nullptr;
  Check(mdb_txn_begin(env_, nullptr, 0, &txn), source_, "begin a transaction");
  int status = mdb_dbi_open(txn, nullptr, 0, &dbi_);
  for (size_t i = 0; i < records.size() && status == MDB_SUCCESS; ++i) {
    MDB_val key = {records[i].first.size(), const_cast<char*>(records[i].first.data())};
    MDB_val value = {records[i].second.size(), const_cast<char*>(records[i].second.data())};
    status = mdb_put(txn, dbi_, &key, &value, 0);
  }
  if (status == MDB_SUCCESS) {
    status = mdb_txn_commit(txn);
  } else {
    mdb_txn_abort(txn);
  }
  if (status == MDB_MAP_FULL) return false;
  Check(status, source_, "write records");
  return true;
}

void LMDBTransaction::Commit() {
  while (!db_->TryPut(records_)) {
    MDB_envinfo info;
    mdb_env_info(db_->env_, &info);
    Check(mdb_env_set_mapsize(db_->env_, info.me_mapsize * 2), db_->source_, "grow");
  }
  records_.clear();
}

void LMDB::Open(const string& source, Mode mode) {
  source_ = source;
  if (mode == NEW) {
    Require(mkdir(source.c_str(), 0744) == 0, source, ": the database cannot be made: ",
            std::strerror(errno), errno == EEXIST ? " (remove it first)" : "");
  }
  Check(mdb_env_create(&env_), source, "start");
  Check(mdb_env_set_mapsize(env_, kFirstMapSize), source, "set its size");
  const unsigned reading = MDB_RDONLY | MDB_NOTLS;
  int status = mdb_env_open(env_, source.c_str(), mode == READ ? reading : 0, 0664);
  if (mode == READ && (status == EACCES || status == EROFS)) {
    // The lock file cannot be made in a folder that is only for reading; nobody writes there.
    status = mdb_env_open(env_, source.c_str(), reading | MDB_NOLOCK, 0664);
  }
  Require(status == MDB_SUCCESS, source, ": this LMDB cannot be opened: ", mdb_strerror(status),
          status == ENOENT ? " (the source is a folder with a data.mdb)" : "");
}

void LMDB::Close() {
  if (env_) mdb_env_close(env_);
  env_ = nullptr;
}

LMDBCursor* LMDB::NewCursor() {
  MDB_txn* txn = nullptr;
  MDB_cursor* cursor = nullptr;
  Check(mdb_txn_begin(env_, nullptr, MDB_RDONLY, &txn), source_, "begin to read");
  Check(mdb_dbi_open(txn, nullptr, 0, &dbi_), source_, "open its records");
  Check(mdb_cursor_open(txn, dbi_, &cursor), source_, "make a cursor");
  return new LMDBCursor(txn, cursor, source_);
}

}  // namespace db
}  // namespace caffe

#endif  // USE_LMDB
