#ifdef USE_LEVELDB

#include "caffe/util/db_leveldb.hpp"

#include <filesystem>

#include "shared_databases.hpp"

namespace caffe {
namespace db {
namespace {

std::shared_ptr<leveldb::DB> OpenLevelDB(const string& source, Mode mode) {
  leveldb::Options options;
  options.block_size = 65536;
  options.write_buffer_size = 268435456;
  options.max_open_files = 100;
  options.error_if_exists = mode == NEW;
  options.create_if_missing = mode != READ;
  // LevelDB makes a folder even when it is only to read one.
  if (mode == READ) {
    std::error_code ignored;
    const bool folder = std::filesystem::is_directory(source, ignored);
    Require(folder, source, ": this LevelDB cannot be opened", OtherKindHint(source, "leveldb"));
  }
  leveldb::DB* db = nullptr;
  const leveldb::Status status = leveldb::DB::Open(options, source, &db);
  Require(status.ok(), source, ": this LevelDB cannot be opened: ", status.ToString(),
          mode == NEW ? " (remove an old one first)" : OtherKindHint(source, "leveldb"));
  return std::shared_ptr<leveldb::DB>(db);
}

}  // namespace

LevelDBCursor::LevelDBCursor(std::shared_ptr<leveldb::DB> db, const string& source)
    : db_(std::move(db)), source_(source) {
  CHECK(db_) << "the database is not open";
  iterator_.reset(db_->NewIterator(leveldb::ReadOptions()));
  SeekToFirst();
}

bool LevelDBCursor::valid() {
  if (iterator_->Valid()) return true;
  Require(iterator_->status().ok(), source_,
          ": LevelDB cannot read a record: ", iterator_->status().ToString());
  return false;
}

void LevelDBTransaction::Commit() {
  const leveldb::Status status = db_->Write(leveldb::WriteOptions(), &batch_);
  Require(status.ok(), source_, ": LevelDB cannot write records: ", status.ToString());
  batch_.Clear();
}

void LevelDB::Open(const string& source, Mode mode) {
  Close();
  source_ = source;
  if (mode == READ) {
    static SharedDatabases<leveldb::DB> readers;
    db_ = readers.Open(source, [](const string& path) { return OpenLevelDB(path, READ); });
  } else {
    db_ = OpenLevelDB(source, mode);
  }
}

}  // namespace db
}  // namespace caffe

#endif  // USE_LEVELDB
