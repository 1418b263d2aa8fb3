// Writes MNIST's idx files, gzipped or not, to a database of Datum records.
#include <string>

#include "caffe/proto/caffe.pb.h"
#include "caffe/util/text/progress.hpp"
#include "common/command_line.hpp"
#include "common/idx_file.hpp"
#include "common/new_database.hpp"

DEFINE_string(backend, "lmdb", "The database: lmdb or leveldb.");

namespace {

using caffe::Require;
using std::string;

const char kUsage[] = R"(convert_mnist_data: writes MNIST's idx files to a database.

usage: convert_mnist_data [--backend=lmdb|leveldb] IMAGES[,IMAGES...] LABELS DATABASE

IMAGES and LABELS are idx files as published (http://yann.lecun.com/exdb/mnist), gzipped or not.
Several image files, separated by commas, follow one another. DATABASE must not exist yet.

example:
  convert_mnist_data train-images-idx3-ubyte train-labels-idx1-ubyte mnist_train_lmdb
)";

int Convert(int argc, char** argv) {
  Require(argc == 4, "give IMAGES, LABELS and DATABASE; --help shows how");
  caffe::IdxFile labels(argv[2], caffe::kIdxLabels);
  const uint32_t count = labels.Number();
  LOG(INFO) << "A total of " << count << " items.";
  caffe::NewDatabase database(argv[3], FLAGS_backend);
  caffe::Progress progress("image", count);
  uint32_t written = 0;
  for (const string& path : caffe::SplitAtCommas(argv[1])) {
    caffe::IdxImages images(path);
    LOG(INFO) << "Rows: " << images.rows << " Cols: " << images.columns;
    caffe::Datum datum;
    datum.set_channels(1);
    datum.set_height(images.rows);
    datum.set_width(images.columns);
    for (uint32_t i = 0; i < images.count; ++i, ++written) {
      Require(written < count, caffe::Error::File{argv[2]}, ": there are ", count, " labels and more images");
      datum.set_data(images.Next());
      unsigned char label;
      labels.Read(&label, 1);
      datum.set_label(label);
      database.Put(caffe::NumberKey(written, 8), datum.SerializeAsString());
      if ((written + 1) % 1000 == 0) progress.Update(written + 1);
    }
  }
  Require(written == count, caffe::Error::File{argv[2]}, ": there are ", count, " labels for ", written, " images");
  progress.Clear();
  LOG(INFO) << "Processed " << written << " files.";
  database.Finish();
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return caffe::RunTool(argc, argv, kUsage, Convert); }
