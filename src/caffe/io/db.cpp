#include "caffe/util/db.hpp"

#include <memory>

#include "caffe/util/db_leveldb.hpp"
#include "caffe/util/db_lmdb.hpp"
#include "shared_databases.hpp"

namespace caffe::db {

uint64_t DB::Count() {
  const std::unique_ptr<Cursor> cursor(NewCursor());
  uint64_t count = 0;
  for (; cursor->valid(); cursor->Next()) ++count;
  return count;
}

DB* GetDB(DataParameter::DB backend) {
  return GetDB(backend == DataParameter_DB_LMDB ? "lmdb" : "leveldb");
}

DB* GetDB(const string& backend) {
  if (backend == "lmdb") {
#ifdef USE_LMDB
    return new LMDB();
#else
    Fail("this libcaffe was built without LMDB", Error::Remedy{"build with USE_LMDB=ON"});
#endif
  }
  if (backend == "leveldb") {
#ifdef USE_LEVELDB
    return new LevelDB();
#else
    Fail("this libcaffe was built without LevelDB", Error::Remedy{"build with USE_LEVELDB=ON"});
#endif
  }
  Fail("unknown database backend '", backend, "': valid are lmdb and leveldb");
}

string OtherKindHint(const string& source, const string& wanted) {
  const std::filesystem::path path(source);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return " (there is no such folder)";
  if (!std::filesystem::is_directory(path, ignored)) {
    return " (it is a file; a database is the folder around its files)";
  }
  const bool lmdb = std::filesystem::exists(path / "data.mdb", ignored);
  const bool leveldb = std::filesystem::exists(path / "CURRENT", ignored);
  if (wanted == "leveldb" && lmdb) return " (it is an LMDB: choose that as the backend)";
  if (wanted == "lmdb" && leveldb) return " (it is a LevelDB: choose that as the backend)";
  if (!lmdb && !leveldb) return " (there is no database in this folder)";
  return "";
}

}  // namespace caffe::db
