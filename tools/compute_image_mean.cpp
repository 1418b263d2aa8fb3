// The mean picture of a database of Datum records.
#include <memory>
#include <string>
#include <vector>

#include "caffe/proto/caffe.pb.h"
#include "caffe/util/db.hpp"
#include "caffe/util/io.hpp"
#include "command_line.hpp"

DEFINE_string(backend, "lmdb", "The database: lmdb or leveldb.");

namespace {

using caffe::Require;
using std::string;

const char kUsage[] = R"(compute_image_mean: the mean of all pictures of a database.

usage: compute_image_mean [--backend=lmdb|leveldb] DATABASE [OUTPUT]

All records have one shape. OUTPUT is a BlobProto in binary form: what transform_param's mean_file
names. Without it only the means of the channels are shown.

example:
  compute_image_mean examples/cifar10/cifar10_train_lmdb examples/cifar10/mean.binaryproto
)";

/// The record as pixels.
caffe::Datum Pixels(const string& key, const string& value) {
  caffe::Datum datum;
  Require(datum.ParseFromString(value), "record '", key, "' is no Datum message");
#ifdef USE_OPENCV
  caffe::DecodeDatumNative(&datum);
#else
  Require(!datum.encoded(), "record '", key,
          "' is a compressed picture and this program was built ", "without OpenCV");
#endif
  return datum;
}

void Add(const caffe::Datum& datum, const string& key, std::vector<double>* sums) {
  const bool bytes = !datum.data().empty();
  const size_t size = bytes ? datum.data().size() : datum.float_data_size();
  Require(size == sums->size(), "record '", key, "' has ", size, " values, the first has ",
          sums->size());
  for (size_t i = 0; i < size; ++i) {
    (*sums)[i] += bytes ? static_cast<unsigned char>(datum.data()[i]) : datum.float_data(i);
  }
}

int ComputeMean(int argc, char** argv) {
  Require(argc == 2 || argc == 3, "give DATABASE and OUTPUT; --help shows how");
  std::unique_ptr<caffe::db::DB> db(caffe::db::GetDB(FLAGS_backend));
  db->Open(argv[1], caffe::db::READ);
  std::unique_ptr<caffe::db::Cursor> cursor(db->NewCursor());
  Require(cursor->valid(), argv[1], ": the database has no records");
  const caffe::Datum first = Pixels(cursor->key(), cursor->value());
  std::vector<double> sums(size_t(first.channels()) * first.height() * first.width());
  int count = 0;
  for (LOG(INFO) << "Starting iteration"; cursor->valid(); cursor->Next()) {
    Add(Pixels(cursor->key(), cursor->value()), cursor->key(), &sums);
    if (++count % 10000 == 0) LOG(INFO) << "Processed " << count << " files.";
  }
  if (count % 10000 != 0) LOG(INFO) << "Processed " << count << " files.";

  caffe::BlobProto mean;
  mean.set_num(1);
  mean.set_channels(first.channels());
  mean.set_height(first.height());
  mean.set_width(first.width());
  for (double sum : sums) mean.add_data(static_cast<float>(sum / count));
  if (argc == 3) {
    LOG(INFO) << "Write to " << argv[2];
    caffe::WriteProtoToBinaryFile(mean, argv[2]);
  }
  const int plane = first.height() * first.width();
  LOG(INFO) << "Number of channels: " << first.channels();
  for (int c = 0; c < first.channels(); ++c) {
    double channel = 0;
    for (int i = 0; i < plane; ++i) channel += mean.data(c * plane + i);
    LOG(INFO) << "mean_value channel [" << c << "]: " << channel / plane;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return caffe::RunTool(argc, argv, kUsage, ComputeMean); }
