// Computes the mean image of a database of Datum records.
#include <memory>
#include <string>
#include <vector>

#include "caffe/core/error_context.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/util/db.hpp"
#include "caffe/util/io.hpp"
#include "common/command.hpp"

CAFFE_FLAG(string, backend, "lmdb", "lmdb|leveldb", "the kind of database");

namespace {

using caffe::Datum;
using caffe::Require;
using std::string;
using std::vector;

/// Sums of images of one shape, value by value.
class MeanImage {
 public:
  void Add(const Datum& datum) {
    const size_t count = size_t(datum.channels()) * datum.height() * datum.width();
    if (count_ == 0) {
      first_ = Shape(datum);
      channels_ = datum.channels();
      height_ = datum.height();
      width_ = datum.width();
      sums_.assign(count, 0);
    }
    Require(Shape(datum) == first_, "the image is ", Shape(datum), ", the first one is ", first_,
            ": all images must have one size");
    const bool bytes = !datum.data().empty();
    const size_t found = bytes ? datum.data().size() : datum.float_data_size();
    Require(found == count && count > 0, "the record has ", found, " values for an image of ",
            first_);
    for (size_t i = 0; i < count; ++i) {
      sums_[i] +=
          bytes ? static_cast<uint8_t>(datum.data()[i]) : datum.float_data(static_cast<int>(i));
    }
    ++count_;
  }

  int64_t count() const { return count_; }

  caffe::BlobProto ToProto() const {
    caffe::BlobProto proto;
    proto.set_num(1);
    proto.set_channels(channels_);
    proto.set_height(height_);
    proto.set_width(width_);
    for (double sum : sums_) proto.add_data(static_cast<float>(sum / count_));
    return proto;
  }

  void LogChannelMeans() const {
    LOG(INFO) << "Number of channels: " << channels_;
    const size_t plane = sums_.size() / channels_;
    for (int c = 0; c < channels_; ++c) {
      double sum = 0;
      for (size_t i = 0; i < plane; ++i) sum += sums_[c * plane + i];
      LOG(INFO) << "mean_value channel [" << c << "]: " << sum / count_ / plane;
    }
  }

 private:
  static string Shape(const Datum& datum) {
    return caffe::Join(datum.channels(), " x ", datum.height(), " x ", datum.width());
  }

  string first_;
  int channels_ = 0, height_ = 0, width_ = 0;
  vector<double> sums_;
  int64_t count_ = 0;
};

// The record's pixels, decompressed.
Datum Decoded(const string& value) {
  Datum datum;
  Require(datum.ParseFromString(value), "the record is no Datum message");
#ifdef USE_OPENCV
  if (caffe::DecodeDatumNative(&datum)) {
    LOG_FIRST_N(INFO, 1) << "Decoding Datum";
  }
#else
  Require(!datum.encoded(), "the record is a compressed image",
          caffe::Error::Remedy{"build with USE_OPENCV=ON"});
#endif
  Require(datum.channels() > 0 && datum.height() > 0 && datum.width() > 0 &&
              datum.channels() <= (1 << 20) && datum.height() <= (1 << 20) &&
              datum.width() <= (1 << 20),
          "the record says that it is an image of ", datum.channels(), " x ", datum.height(), " x ",
          datum.width());
  return datum;
}

int ComputeMean(const std::vector<string>& files) {
  Require(files.size() == 1 || files.size() == 2,
          "give INPUT_DB and, if wanted, OUTPUT_FILE; --help shows how");
  const string source = files[0];
  std::unique_ptr<caffe::db::DB> db(caffe::db::GetDB(FLAGS_backend));
  db->Open(source, caffe::db::READ);
  std::unique_ptr<caffe::db::Cursor> cursor(db->NewCursor());
  Require(cursor->valid(), caffe::Error::File{source}, ": the database has no records");
  LOG(INFO) << "Starting iteration";
  MeanImage mean;
  for (; cursor->valid(); cursor->Next()) {
    try {
      mean.Add(Decoded(cursor->value()));
    } catch (caffe::Error& error) {
      caffe::AddFile(source, caffe::Join(", record '", cursor->key(), "'"), &error);
      throw;
    }
    if (mean.count() % 10000 == 0) LOG(INFO) << "Processed " << mean.count() << " files.";
  }
  if (mean.count() % 10000 != 0) LOG(INFO) << "Processed " << mean.count() << " files.";
  if (files.size() == 2) {
    LOG(INFO) << "Write to " << files[1];
    caffe::WriteProtoToBinaryFile(mean.ToProto(), files[1]);
  }
  mean.LogChannelMeans();
  return 0;
}

caffe::Command Program() {
  caffe::Command program;
  program.name = "compute_image_mean";
  program.summary = "computes the mean image of a database";
  program.usage = {"[-backend lmdb|leveldb] INPUT_DB [OUTPUT_FILE]"};
  program.about =
      R"(OUTPUT_FILE gets the mean as a BlobProto, which mean_file in a transform_param takes. The means of
the channels are logged, for mean_value.
)";
  program.groups = {{"flags", "", {"backend"}, ""}};
  program.examples = R"(  compute_image_mean train_lmdb mean.binaryproto
)";
  program.run = ComputeMean;
  return program;
}

}  // namespace

int main(int argc, char** argv) { return caffe::RunProgram(argc, argv, Program()); }
