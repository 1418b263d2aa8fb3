#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "caffe/inference/image_preprocessing.hpp"
#include "caffe/io/proto_text.hpp"
#include "caffe/net.hpp"
#include "caffe/test/support/test_databases.hpp"
#include "caffe/util/input_batches.hpp"

#ifdef USE_LMDB

namespace caffe {
namespace {

std::string ErrorOfRecord(const Datum& datum) {
  const std::string source = NewDatabase<Datum>({datum});
  NetParameter param;
  ParseProtoText(
      "state { phase: TEST } layer { name: 'data' type: 'Input' top: 'data' "
      "input_param { shape { dim: 1 dim: 1 dim: 2 dim: 2 } } }",
      "test net", &param);
  Net<float> net(param);
  return ErrorOf([&] { InputBatches::FromDatabase(source, "lmdb", 1, {})->Feed(0, &net); });
}

TEST(DatabaseBatches, RefuseRecordsWithoutExtents) {
  Datum datum;
  datum.set_channels(1);
  datum.set_height(2);
  datum.set_width(2);
  datum.set_data("abcd");
  EXPECT_EQ(ErrorOfRecord(datum), "");
  datum.set_height(-1);
  datum.set_width(-4);  // whose product is as many bytes as there are
  ExpectContains(ErrorOfRecord(datum), "record 'key00'");
  ExpectContains(ErrorOfRecord(datum), "the record says that it is an image of 1 x -1 x -4");
}

}  // namespace
}  // namespace caffe

#endif  // USE_LMDB
