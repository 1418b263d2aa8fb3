#ifdef USE_LEVELDB

#include "caffe/util/db_leveldb.hpp"

namespace caffe {
namespace db {

void LevelDBTransaction::Commit() {
  const leveldb::Status status = db_->Write(leveldb::WriteOptions(), &batch_);
  Require(status.ok(), source_, ": LevelDB cannot write records: ", status.ToString());
  batch_.Clear();
}

void LevelDB::Open(const string& source, Mode mode) {
  source_ = source;
  leveldb::Options options;
  options.block_size = 65536;
  options.write_buffer_size = 268435456;
  options.max_open_files = 100;
  options.error_if_exists = mode == NEW;
  options.create_if_missing = mode != READ;
  leveldb::DB* db = nullptr;
  const leveldb::Status status = leveldb::DB::Open(options, source, &db);
  Require(status.ok(), source, ": this LevelDB cannot be opened: ", status.ToString(),
          mode == NEW ? " (remove an old one first)" : "");
  db_.reset(db);
}

}  // namespace db
}  // namespace caffe

#endif  // USE_LEVELDB
