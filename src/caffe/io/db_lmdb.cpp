#ifdef USE_LMDB

#include "caffe/util/db_lmdb.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "caffe/core/limits.hpp"
#include "shared_databases.hpp"

namespace caffe::db {
namespace {

constexpr size_t kFirstMapSize = size_t(1) << 24;  // bytes; doubled when it is full

void Check(int status, const string& source, const char* doing) {
  Require(status == MDB_SUCCESS, Error::File{source}, ": LMDB cannot ", doing, ": ",
          mdb_strerror(status));
}

constexpr uint64_t kNearlyNothing = uint64_t(1) << 20;  // bytes; LMDB writes less than that at once

bool IsDeviceFull(const string& source) {
  struct statvfs space;
  return statvfs(source.c_str(), &space) == 0 &&
         uint64_t(space.f_bavail) * space.f_frsize < kNearlyNothing;
}

/// The bytes that a file of this process may have, if that of the database has as many; else 0.
uint64_t ReachedFileLimit(const string& source) {
  struct stat file;
  struct rlimit limit;
  const bool known = stat((source + "/data.mdb").c_str(), &file) == 0 &&
                     getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return known && uint64_t(file.st_size) + kNearlyNothing > limit.rlim_cur ? limit.rlim_cur : 0;
}

/// LMDB reports a short write as an input/output error.
void CheckWritten(int status, const string& source) {
  const bool stopped = status == EIO || status == ENOSPC;
  if (stopped && IsDeviceFull(source)) {
    Fail(Error::File{source},
         ": LMDB cannot write records: no space is left on the device: what was committed "
         "before is there; make room or choose another folder");
  }
  if (status == EIO || status == EFBIG) {
    const uint64_t limit = ReachedFileLimit(source);
    Require(limit == 0, Error::File{source},
            ": LMDB cannot write records: a file of this process may have ", limit,
            " bytes at most (ulimit -f)");
  }
  Check(status, source, "write records");
}

std::shared_ptr<MDB_env> NewEnvironment(const string& source) {
  MDB_env* env = nullptr;
  Check(mdb_env_create(&env), source, "start");
  return std::shared_ptr<MDB_env>(env, mdb_env_close);
}

[[noreturn]] void FailToOpen(int status, const string& source) {
  Fail(Error::File{source}, ": this LMDB cannot be opened: ", mdb_strerror(status),
       OtherKindHint(source, "lmdb"));
}

// The file is mapped, and reading a mapped page that the file has not kills the process.
void RequireWholeFile(MDB_env* env, const string& source) {
  MDB_envinfo info;
  MDB_stat stat;
  mdb_filehandle_t file;
  struct stat file_stat;
  Check(mdb_env_info(env, &info), source, "tell its size");
  Check(mdb_env_stat(env, &stat), source, "tell its size");
  Check(mdb_env_get_fd(env, &file), source, "tell its size");
  const bool known = fstat(file, &file_stat) == 0;
  Require(known, Error::File{source}, ": ", std::strerror(errno));
  const size_t needed = (info.me_last_pgno + 1) * stat.ms_psize;
  const size_t found = static_cast<size_t>(file_stat.st_size);
  Require(found >= needed, source, "/data.mdb is truncated: it has ", found, " bytes and needs ",
          needed, "; copy or make it again");
}

// LMDB maps its lock file, and touching a mapped page that the disk has no room for kills the
// process.
void ReserveLockFile(const string& source) {
  constexpr off_t kBytes = 8192;  // for LMDB's 126 readers
  const string path = source + "/lock.mdb";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0664);
  if (file < 0) return;  // LMDB says why, or does without it
  const bool reserved = fallocate(file, 0, 0, kBytes) == 0;
  const int reason = reserved ? 0 : errno;  // file systems may know no reservations
  close(file);
  Require(reason != ENOSPC && reason != EDQUOT, Error::File{path}, ": cannot be made (",
          std::strerror(reason), ")", Error::Remedy{"free space or write elsewhere"});
}

std::shared_ptr<MDB_env> OpenToRead(const string& source) {
  constexpr unsigned kFlags = MDB_RDONLY | MDB_NOTLS;
  if (access((source + "/data.mdb").c_str(), F_OK) == 0) ReserveLockFile(source);
  std::shared_ptr<MDB_env> env = NewEnvironment(source);
  int status = mdb_env_open(env.get(), source.c_str(), kFlags, 0664);
  if (status == EACCES || status == EROFS || status == EPERM) {
    // The lock file cannot be made in a read-only folder; no process writes there.
    env = NewEnvironment(source);
    status = mdb_env_open(env.get(), source.c_str(), kFlags | MDB_NOLOCK, 0664);
  }
  if (status != MDB_SUCCESS) FailToOpen(status, source);
  RequireWholeFile(env.get(), source);
  return env;
}

std::shared_ptr<MDB_env> OpenToWrite(const string& source) {
  std::shared_ptr<MDB_env> env = NewEnvironment(source);
  Check(mdb_env_set_mapsize(env.get(), kFirstMapSize), source, "set its size");
  ReserveLockFile(source);
  const int status = mdb_env_open(env.get(), source.c_str(), 0, 0664);
  if (status != MDB_SUCCESS) FailToOpen(status, source);
  return env;
}

}  // namespace

LMDBCursor::LMDBCursor(std::shared_ptr<LMDBSession> session) : session_(std::move(session)) {
  const string& source = session_->source();
  Check(mdb_txn_begin(session_->handle(), nullptr, MDB_RDONLY, &txn_), source, "begin to read");
  MDB_dbi records = 0;
  int status = mdb_dbi_open(txn_, nullptr, 0, &records);
  if (status == MDB_SUCCESS) status = mdb_cursor_open(txn_, records, &cursor_);
  if (status != MDB_SUCCESS) mdb_txn_abort(txn_);
  Check(status, source, "make a cursor");
  session_->Attach(this, [this] {
    mdb_cursor_close(cursor_);
    mdb_txn_abort(txn_);
  });
  try {
    SeekToFirst();
  } catch (const Error&) {
    session_->Release(this);
    throw;
  }
}

string LMDBCursor::StringOf(const MDB_val& bytes) const {
  session_->handle();  // throws where the map is gone
  limits::Check(limits::kRecordBytes, bytes.mv_size, Error::File{session_->source()}, ": a record");
  return string(static_cast<const char*>(bytes.mv_data), bytes.mv_size);
}

bool LMDBCursor::valid() {
  session_->handle();  // throws where there is nothing left to be valid
  return valid_;
}

void LMDBCursor::Seek(MDB_cursor_op op) {
  session_->handle();
  const int status = mdb_cursor_get(cursor_, &key_, &value_, op);
  valid_ = status == MDB_SUCCESS;
  if (status != MDB_NOTFOUND) Check(status, session_->source(), "read a record");
}

void LMDBCursor::SeekTo(const string& key) {
  if (key.empty()) return SeekToFirst();  // LMDB has no empty keys
  key_.mv_data = const_cast<char*>(key.data());
  key_.mv_size = key.size();
  Seek(MDB_SET_RANGE);
}

bool LMDBTransaction::TryPut() {
  MDB_env* env = session_->handle();
  const string& source = session_->source();
  MDB_txn* txn = nullptr;
  Check(mdb_txn_begin(env, nullptr, 0, &txn), source, "begin a transaction");
  MDB_dbi dbi = 0;
  int status = mdb_dbi_open(txn, nullptr, 0, &dbi);
  size_t i = 0;
  for (; i < records_.size() && status == MDB_SUCCESS; ++i) {
    MDB_val key = {records_[i].first.size(), const_cast<char*>(records_[i].first.data())};
    MDB_val value = {records_[i].second.size(), const_cast<char*>(records_[i].second.data())};
    status = mdb_put(txn, dbi, &key, &value, 0);
  }
  if (status == MDB_SUCCESS) {
    status = mdb_txn_commit(txn);
  } else {
    mdb_txn_abort(txn);
  }
  if (status == MDB_MAP_FULL) return false;
  if (status == MDB_BAD_VALSIZE) {
    Fail(Error::File{source}, ": the key '", records_[i - 1].first,
         "' is empty or too long: LMDB's keys have 1 to ", mdb_env_get_maxkeysize(env), " bytes");
  }
  CheckWritten(status, source);
  return true;
}

void LMDBTransaction::Commit() {
  while (!TryPut()) {
    MDB_env* env = session_->handle();
    MDB_envinfo info;
    Check(mdb_env_info(env, &info), session_->source(), "tell its size");
    Check(mdb_env_set_mapsize(env, info.me_mapsize * 2), session_->source(), "grow");
  }
  records_.clear();
}

void LMDB::Open(const string& source, Mode mode) {
  Close();
  if (mode == NEW) {
    const bool made = mkdir(source.c_str(), 0755) == 0;
    Require(made, Error::File{source}, ": the database cannot be made: ", std::strerror(errno),
            errno == EEXIST   ? " (remove it first)"
            : errno == ENOENT ? " (make the directory that it is to be in first)"
                              : "");
  }
  if (mode == READ) {
    static SharedDatabases<MDB_env> readers("data.mdb");
    session_.Open(readers.Open(source, OpenToRead), source);
  } else {
    session_.Open(OpenToWrite(source), source);
  }
}

uint64_t LMDB::Count() {
  const std::shared_ptr<LMDBSession> session = session_.Share();
  MDB_stat stat;
  Check(mdb_env_stat(session->handle(), &stat), session->source(), "count its records");
  return stat.ms_entries;
}

}  // namespace caffe::db

#endif  // USE_LMDB
