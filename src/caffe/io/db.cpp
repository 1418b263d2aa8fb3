#include "caffe/util/db.hpp"

#include "caffe/util/db_leveldb.hpp"
#include "caffe/util/db_lmdb.hpp"

namespace caffe {
namespace db {

DB* GetDB(DataParameter::DB backend) {
  return GetDB(backend == DataParameter_DB_LMDB ? "lmdb" : "leveldb");
}

DB* GetDB(const string& backend) {
  if (backend == "lmdb") {
#ifdef USE_LMDB
    return new LMDB();
#else
    Fail("this libcaffe was built without LMDB: build with USE_LMDB=ON");
#endif
  }
  if (backend == "leveldb") {
#ifdef USE_LEVELDB
    return new LevelDB();
#else
    Fail("this libcaffe was built without LevelDB: build with USE_LEVELDB=ON");
#endif
  }
  Fail("unknown database backend '", backend, "': valid are lmdb and leveldb");
}

}  // namespace db
}  // namespace caffe
