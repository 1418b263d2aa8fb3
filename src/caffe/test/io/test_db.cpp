#include "caffe/util/db.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>

#include "caffe/test/support/limits_scope.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

using std::unique_ptr;

vector<string> Backends() {
  vector<string> backends;
#ifdef USE_LMDB
  backends.push_back("lmdb");
#endif
#ifdef USE_LEVELDB
  backends.push_back("leveldb");
#endif
  return backends;
}

unique_ptr<db::DB> Open(const string& backend, const string& path, db::Mode mode) {
  unique_ptr<db::DB> db(db::GetDB(backend));
  db->Open(path, mode);
  return db;
}

void Write(const string& backend, const string& path, const map<string, string>& records) {
  unique_ptr<db::DB> db = Open(backend, path, db::NEW);
  unique_ptr<db::Transaction> transaction(db->NewTransaction());
  for (const auto& record : records) transaction->Put(record.first, record.second);
  transaction->Commit();
}

map<string, string> ReadAll(db::DB* db) {
  map<string, string> records;
  unique_ptr<db::Cursor> cursor(db->NewCursor());
  for (; cursor->valid(); cursor->Next()) records[cursor->key()] = cursor->value();
  return records;
}

string OpenError(const string& backend, const string& path, db::Mode mode) {
  return ErrorOf([&] { Open(backend, path, mode); });
}

class DatabaseTest : public ::testing::TestWithParam<string> {};
INSTANTIATE_TEST_SUITE_P(Backends, DatabaseTest, ::testing::ValuesIn(Backends()),
                         [](const auto& info) { return info.param; });

// A build may have neither.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DatabaseTest);

TEST_P(DatabaseTest, ReadsBackWhatWasWritten) {
  const string path = NewFileName();
  const map<string, string> records = {{"b", string("\0binary\xff", 8)}, {"a", ""}, {"c", "3"}};
  Write(GetParam(), path, records);
  EXPECT_EQ(ReadAll(Open(GetParam(), path, db::READ).get()), records);
  EXPECT_EQ(Open(GetParam(), path, db::READ)->Count(), 3u);
}

// As a net in a notebook does that lives until its name gets another one. LevelDB lets nothing else
// open a folder of the same name.
TEST_P(DatabaseTest, NeverReadsTheOldDatabaseWhereItWasMadeAgain) {
  const string path = NewFileName();
  Write(GetParam(), path, {{"a", "old"}});
  unique_ptr<db::DB> old = Open(GetParam(), path, db::READ);
  std::filesystem::remove_all(path);
  if (GetParam() == "leveldb") {
    Write(GetParam(), path + "_made", {{"a", "new"}});
    std::filesystem::rename(path + "_made", path);
    ExpectContains(OpenError(GetParam(), path, db::READ), "it is open elsewhere");
    old.reset();
  } else {
    Write(GetParam(), path, {{"a", "new"}});
  }
  const map<string, string> expected = {{"a", "new"}};
  EXPECT_EQ(ReadAll(Open(GetParam(), path, db::READ).get()), expected);
}

TEST_P(DatabaseTest, RefusesRecordsThatAreTooLarge) {
  const string path = NewFileName();
  Write(GetParam(), path, {{"a", "12345"}, {"b", "123456"}});
  const LimitsScope scope("record_bytes=5");
  const unique_ptr<db::DB> db = Open(GetParam(), path, db::READ);
  const unique_ptr<db::Cursor> cursor(db->NewCursor());
  EXPECT_EQ(cursor->value(), "12345");
  cursor->Next();
  ExpectContains(ErrorOf([&] { cursor->value(); }),
                 path + ": a record asks for 6 bytes, and the limit (record_bytes) is 5 bytes");
}

TEST_P(DatabaseTest, GoesThroughTheKeysInTheirOrder) {
  const string path = NewFileName();
  Write(GetParam(), path, {{"10", "x"}, {"2", "y"}, {"1", "z"}});
  unique_ptr<db::DB> db = Open(GetParam(), path, db::READ);
  unique_ptr<db::Cursor> cursor(db->NewCursor());
  string keys;
  for (; cursor->valid(); cursor->Next()) keys += cursor->key() + " ";
  EXPECT_EQ(keys, "1 10 2 ");
  cursor->SeekToFirst();
  EXPECT_EQ(cursor->value(), "z");
  cursor->SeekTo("11");
  EXPECT_EQ(cursor->key(), "2");
  cursor->SeekTo("3");
  EXPECT_FALSE(cursor->valid());
  cursor->SeekTo("");
  EXPECT_EQ(cursor->key(), "1");
}

TEST_P(DatabaseTest, KeepsNothingOfATransactionThatIsNotCommitted) {
  const string path = NewFileName();
  unique_ptr<db::DB> db = Open(GetParam(), path, db::NEW);
  { unique_ptr<db::Transaction>(db->NewTransaction())->Put("a", "1"); }
  EXPECT_TRUE(ReadAll(db.get()).empty());
}

TEST_P(DatabaseTest, AddsToADatabaseThatIsThere) {
  const string path = NewFileName();
  Write(GetParam(), path, {{"a", "1"}});
  unique_ptr<db::DB> db = Open(GetParam(), path, db::WRITE);
  unique_ptr<db::Transaction> transaction(db->NewTransaction());
  transaction->Put("b", "2");
  transaction->Commit();
  EXPECT_EQ(ReadAll(db.get()).size(), 2u);
}

TEST_P(DatabaseTest, GrowsAsNeeded) {
  const string path = NewFileName();
  unique_ptr<db::DB> db = Open(GetParam(), path, db::NEW);
  const string megabyte(1 << 20, 'x');
  for (int commit = 0; commit < 2; ++commit) {
    unique_ptr<db::Transaction> transaction(db->NewTransaction());
    for (int i = 0; i < 20; ++i) transaction->Put(Join(commit, "-", i), megabyte);
    transaction->Commit();
  }
  EXPECT_EQ(ReadAll(db.get()).size(), 40u);
}

TEST_P(DatabaseTest, IsReadSeveralTimesAtOnce) {
  const string path = NewFileName();
  Write(GetParam(), path, {{"a", "1"}, {"b", "2"}});
  unique_ptr<db::DB> first = Open(GetParam(), path, db::READ);
  unique_ptr<db::DB> second =
      Open(GetParam(), path + "/../" + path.substr(path.rfind('/') + 1), db::READ);
  unique_ptr<db::Cursor> a(first->NewCursor()), b(second->NewCursor());
  a->Next();
  first.reset();
  EXPECT_EQ(a->key(), "b");
  EXPECT_EQ(b->key(), "a");
}

// As programs do that keep a scoped_ptr<Transaction> over Close() and the next Open().
TEST_P(DatabaseTest, IsFreeForOthersAfterCloseWhateverIsLeftOfIt) {
  const string path = NewFileName();
  unique_ptr<db::DB> db = Open(GetParam(), path, db::NEW);
  unique_ptr<db::Transaction> transaction(db->NewTransaction());
  transaction->Put("a", "1");
  transaction->Commit();
  unique_ptr<db::Cursor> cursor(db->NewCursor());
  db->Close();
  for (const db::Mode mode : {db::WRITE, db::READ}) {
    unique_ptr<db::DB> other = Open(GetParam(), path, mode);
    EXPECT_EQ(ReadAll(other.get()).size(), 1u);
    other->Close();
  }
  db->Open(path, db::READ);
  EXPECT_EQ(ReadAll(db.get()).size(), 1u);
}

TEST_P(DatabaseTest, WhatIsLeftOfAClosedOneSaysSo) {
  const string path = NewFileName(), closed = path + ": the database was closed";
  unique_ptr<db::DB> db = Open(GetParam(), path, db::NEW);
  unique_ptr<db::Transaction> transaction(db->NewTransaction());
  transaction->Put("a", "1");
  transaction->Commit();
  transaction->Put("b", "2");
  unique_ptr<db::Cursor> cursor(db->NewCursor());
  db->Close();
  ExpectContains(ErrorOf([&] { transaction->Commit(); }), closed);
  ExpectContains(ErrorOf([&] { cursor->Next(); }), closed);
  ExpectContains(ErrorOf([&] { cursor->SeekTo("a"); }), closed);
  ExpectContains(ErrorOf([&] { cursor->valid(); }), closed);
  ExpectContains(ErrorOf([&] { cursor->key(); }), closed);
  ExpectContains(ErrorOf([&] { cursor->value(); }), closed);
  ExpectContains(ErrorOf([&] { unique_ptr<db::Cursor>(db->NewCursor()); }), "not open");
  ExpectContains(ErrorOf([&] { unique_ptr<db::Transaction>(db->NewTransaction()); }), "not open");
}

TEST_P(DatabaseTest, ClosingOneReaderLeavesTheOthers) {
  const string path = NewFileName();
  Write(GetParam(), path, {{"a", "1"}, {"b", "2"}});
  unique_ptr<db::DB> first = Open(GetParam(), path, db::READ);
  unique_ptr<db::DB> second = Open(GetParam(), path, db::READ);
  unique_ptr<db::Cursor> cursor(second->NewCursor());
  first->Close();
  cursor->Next();
  EXPECT_EQ(cursor->value(), "2");
}

TEST_P(DatabaseTest, RefusesToReplaceOne) {
  const string path = NewFileName();
  Write(GetParam(), path, {{"a", "1"}});
  const string error = OpenError(GetParam(), path, db::NEW);
  ExpectContains(error, path);
  ExpectContains(error, "remove");
}

TEST_P(DatabaseTest, SaysThatThereIsNone) {
  const string path = NewFileName();
  const string error = OpenError(GetParam(), path, db::READ);
  ExpectContains(error, path);
  ExpectContains(error, "there is no such folder");
  ExpectContains(OpenError(GetParam(), NewFile("text"), db::READ), "it is a file");
}

/// Writes a record of a mebibyte after the other, each in a transaction of its own, until that
/// fails; at most 64.
string ErrorOfFilling(const string& backend, const string& path) {
  return ErrorOf([&] {
    unique_ptr<db::DB> db = Open(backend, path, db::NEW);
    for (int i = 0; i < 64; ++i) {
      unique_ptr<db::Transaction> transaction(db->NewTransaction());
      transaction->Put(Join("key", 100 + i), string(1 << 20, 'x'));
      transaction->Commit();
    }
  });
}

// Needs a file system that the test may fill.
TEST_P(DatabaseTest, SaysThatTheDeviceIsFullAndKeepsWhatWasCommitted) {
  const string folder = NewFolder();
  if (mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=8m") != 0) {
    GTEST_SKIP() << "this user cannot mount a small file system";
  }
  const string path = folder + "/db";
  string message, kept;
  try {
    message = ErrorOfFilling(GetParam(), path);
    if (GetParam() == "lmdb") {
      unique_ptr<db::DB> db = Open("lmdb", path, db::READ);
      kept = ReadAll(db.get()).begin()->first;
    }
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
  EXPECT_EQ(umount(folder.c_str()), 0);
  ExpectContains(message, path);
  EXPECT_TRUE(std::regex_search(message, std::regex("[Nn]o space (is )?left on (the )?device")))
      << message;
  if (GetParam() == "lmdb") {
    EXPECT_EQ(kept, "key100");
  }
}

TEST(DatabaseBackendTest, NamesTheKnownOnes) {
  const string error = ErrorOf([] { unique_ptr<db::DB>(db::GetDB("sqlite")); });
  ExpectContains(error, "sqlite");
  ExpectContains(error, "lmdb and leveldb");
}

#if defined(USE_LMDB) && defined(USE_LEVELDB)
TEST(DatabaseBackendTest, SaysWhenItIsTheOther) {
  const string lmdb = NewFileName(), leveldb = NewFileName();
  Write("lmdb", lmdb, {{"a", "1"}});
  Write("leveldb", leveldb, {{"a", "1"}});
  ExpectContains(OpenError("leveldb", lmdb, db::READ), "it is an LMDB");
  ExpectContains(OpenError("lmdb", leveldb, db::READ), "it is a LevelDB");
  EXPECT_FALSE(std::filesystem::exists(lmdb + "/LOCK")) << "LevelDB has written into it";
}
#endif

#ifdef USE_LEVELDB
// LevelDB makes the file LOCK as it opens a folder; copies may lack it.
TEST(LevelDBTest, IsSharedByReadersWithoutItsLockFile) {
  const string path = NewFileName();
  Write("leveldb", path, {{"a", "1"}});
  std::filesystem::remove(path + "/LOCK");
  const unique_ptr<db::DB> first = Open("leveldb", path, db::READ);
  EXPECT_EQ(Open("leveldb", path, db::READ)->Count(), 1u);
}

TEST(LevelDBTest, SaysThatItIsOpenElsewhere) {
  const string path = NewFileName();
  const unique_ptr<db::DB> writer = Open("leveldb", path, db::NEW);
  const string error = OpenError("leveldb", path, db::READ);
  ExpectContains(error, path + ": this LevelDB cannot be opened: ");
  ExpectContains(error, "it is open elsewhere");
}
#endif

#ifdef USE_LMDB

TEST(LMDBTest, RefusesATruncatedFile) {
  const string path = NewFileName();
  Write("lmdb", path, {{"a", string(100000, 'x')}});
  const string file = path + "/data.mdb";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 50000);
  ExpectContains(OpenError("lmdb", path, db::READ), "truncated");
}

TEST(LMDBTest, RefusesAFileThatIsNoDatabase) {
  const string path = NewFolder();
  std::ofstream(path + "/data.mdb") << string(10000, 'x');
  ExpectContains(OpenError("lmdb", path, db::READ), path);
}

TEST(LMDBTest, NamesTheLimitOfTheProcessThatAFileReached) {
  struct rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit narrow = before;
  narrow.rlim_cur = 4 << 20;
  const auto old = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &narrow), 0);
  const string message = ErrorOfFilling("lmdb", NewFileName());
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, old);
  ExpectContains(message, "a file of this process may have 4194304 bytes at most (ulimit -f)");
}

TEST(LMDBTest, NamesAKeyThatIsTooLong) {
  const string path = NewFileName(), key(600, 'k');
  ExpectContains(ErrorOf([&] { Write("lmdb", path, {{key, "1"}}); }), key);
}

// A folder in which this process, without its privileges, cannot write.
TEST(LMDBTest, IsReadWhereNothingCanBeWritten) {
  const string path = NewFileName();
  Write("lmdb", path, {{"a", "1"}});
  std::filesystem::remove(path + "/lock.mdb");
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(path).parent_path();
  for (const fs::path& open : {folder, folder.parent_path()}) {
    fs::permissions(open, fs::perms(0755));
  }
  fs::permissions(path + "/data.mdb", fs::perms(0444));
  fs::permissions(path, fs::perms(0555));
  const bool root = geteuid() == 0;
  if (root) {
    ASSERT_EQ(seteuid(65534), 0);
  }
  map<string, string> records;
  const string error = ErrorOf([&] { records = ReadAll(Open("lmdb", path, db::READ).get()); });
  if (root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  fs::permissions(path, fs::perms(0755));
  EXPECT_EQ(error, "");
  EXPECT_EQ(records, (map<string, string>{{"a", "1"}}));
  EXPECT_FALSE(fs::exists(path + "/lock.mdb"));
}

#endif  // USE_LMDB

/// A cursor as programs wrote it for Caffe, which does not seek by itself.
class MapCursor : public db::Cursor {
 public:
  MapCursor() { SeekToFirst(); }
  void SeekToFirst() override { at_ = records_.begin(); }
  void Next() override { ++at_; }
  string key() override { return at_->first; }
  string value() override { return at_->second; }
  bool valid() override { return at_ != records_.end(); }

 private:
  const std::map<string, string> records_ = {{"b", "1"}, {"d", "2"}};
  std::map<string, string>::const_iterator at_;
};

TEST(Cursor, SeeksByGoingThroughTheRecords) {
  MapCursor cursor;
  cursor.SeekTo("c");
  EXPECT_EQ(cursor.key(), "d");
  cursor.SeekTo("b");
  EXPECT_EQ(cursor.value(), "1");
  cursor.SeekTo("e");
  EXPECT_FALSE(cursor.valid());
}

}  // namespace
}  // namespace caffe
