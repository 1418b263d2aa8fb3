#ifdef USE_LEVELDB

#include "caffe/util/db_leveldb.hpp"

#include <filesystem>

#include "caffe/core/limits.hpp"
#include "shared_databases.hpp"

namespace caffe::db {
namespace {

/// What to do where it cannot be opened. Of a database that is open elsewhere LevelDB says no more
/// than that its file LOCK cannot be locked.
string OpeningHint(const leveldb::Status& status, const string& source, Mode mode) {
  if (status.IsIOError() && status.ToString().find(": lock ") != string::npos) {
    return " (it is open elsewhere, in another process or in this one by a net that is still "
           "there: close it there, or give a copy of the folder)";
  }
  return mode == NEW ? " (remove an old one first)" : OtherKindHint(source, "leveldb");
}

std::shared_ptr<leveldb::DB> OpenLevelDB(const string& source, Mode mode) {
  leveldb::Options options;
  options.block_size = 65536;
  options.write_buffer_size = 268435456;
  options.max_open_files = 100;
  options.error_if_exists = mode == NEW;
  options.create_if_missing = mode != READ;
  // LevelDB makes a folder, a lock and a log even when it is only to read.
  if (mode == READ) {
    std::error_code ignored;
    const bool found = std::filesystem::exists(source + "/CURRENT", ignored);
    Require(found, Error::File{source}, ": this LevelDB cannot be opened",
            OtherKindHint(source, "leveldb"));
  }
  leveldb::DB* db = nullptr;
  const leveldb::Status status = leveldb::DB::Open(options, source, &db);
  Require(status.ok(), Error::File{source}, ": this LevelDB cannot be opened: ", status.ToString(),
          OpeningHint(status, source, mode));
  return std::shared_ptr<leveldb::DB>(db);
}

}  // namespace

LevelDBCursor::LevelDBCursor(std::shared_ptr<LevelDBSession> session)
    : session_(std::move(session)),
      iterator_(session_->handle()->NewIterator(leveldb::ReadOptions())) {
  session_->Attach(this, [this] { iterator_.reset(); });
  SeekToFirst();
}

leveldb::Iterator& LevelDBCursor::iterator() const {
  session_->handle();  // throws where the iterator is gone
  return *iterator_;
}

string LevelDBCursor::value() {
  const leveldb::Slice value = iterator().value();
  limits::Check(limits::kRecordBytes, value.size(), Error::File{session_->source()}, ": a record");
  return value.ToString();
}

bool LevelDBCursor::valid() {
  if (iterator().Valid()) return true;
  Require(iterator_->status().ok(), Error::File{session_->source()},
          ": LevelDB cannot read a record: ", iterator_->status().ToString());
  return false;
}

void LevelDBTransaction::Commit() {
  const leveldb::Status status = session_->handle()->Write(leveldb::WriteOptions(), &batch_);
  Require(status.ok(), Error::File{session_->source()},
          ": LevelDB cannot write records: ", status.ToString());
  batch_.Clear();
}

void LevelDB::Open(const string& source, Mode mode) {
  Close();
  if (mode == READ) {
    static SharedDatabases<leveldb::DB> readers("LOCK");
    session_.Open(readers.Open(source, [](const string& path) { return OpenLevelDB(path, READ); }),
                  source);
  } else {
    session_.Open(OpenLevelDB(source, mode), source);
  }
}

}  // namespace caffe::db

#endif  // USE_LEVELDB
