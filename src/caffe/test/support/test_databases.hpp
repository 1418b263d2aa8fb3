#ifndef CAFFE_TEST_SUPPORT_TEST_DATABASES_HPP_
#define CAFFE_TEST_SUPPORT_TEST_DATABASES_HPP_

#include <memory>
#include <string>
#include <vector>

#include "caffe/test/support/test_files.hpp"
#include "caffe/util/db.hpp"

// Small databases, for tests of what reads them.

namespace caffe {

/// data_param.backend of the databases made here: what this build has.
#ifdef USE_LMDB
constexpr char kTestBackend[] = "LMDB";
#else
constexpr char kTestBackend[] = "LEVELDB";
#endif

/// The path of a new database of up to 100 records, in this order: key00, key01, ...
inline std::string NewDatabase(const std::vector<std::string>& records) {
  const std::string path = NewFileName();
  const std::unique_ptr<db::DB> db(
      db::GetDB(std::string(kTestBackend) == "LMDB" ? "lmdb" : "leveldb"));
  db->Open(path, db::NEW);
  const std::unique_ptr<db::Transaction> transaction(db->NewTransaction());
  for (size_t i = 0; i < records.size(); ++i) {
    transaction->Put(Join("key", i / 10, i % 10), records[i]);
  }
  transaction->Commit();
  return path;
}

/// The same of messages.
template <typename Message>
std::string NewDatabase(const std::vector<Message>& messages) {
  std::vector<std::string> records;
  for (const Message& message : messages) records.push_back(message.SerializeAsString());
  return NewDatabase(records);
}

/// A grey image of side x side `pixels`.
inline Datum GreyDatum(int side, const std::string& pixels, int label) {
  Datum datum;
  datum.set_channels(1);
  datum.set_height(side);
  datum.set_width(side);
  datum.set_data(pixels);
  datum.set_label(label);
  return datum;
}

/// A grey image of one value.
inline Datum PlainDatum(int value, int label, int side = 2) {
  return GreyDatum(side, std::string(size_t(side) * side, static_cast<char>(value)), label);
}

}  // namespace caffe

#endif  // CAFFE_TEST_SUPPORT_TEST_DATABASES_HPP_
