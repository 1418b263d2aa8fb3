// Writes MNIST's idx files, gzipped or not, to a database of Datum records.
#include <string>
#include <vector>

#include "caffe/proto/caffe.pb.h"
#include "caffe/util/text/progress.hpp"
#include "caffe/util/text/split.hpp"
#include "common/command.hpp"
#include "common/idx_file.hpp"
#include "common/new_database.hpp"

CAFFE_FLAG(string, backend, "lmdb", "lmdb|leveldb", "the kind of database");

namespace {

using caffe::Require;
using std::string;

int Convert(const std::vector<string>& files) {
  Require(files.size() == 3, "give IMAGES, LABELS and DATABASE; --help shows how");
  caffe::IdxFile labels(files[1], caffe::kIdxLabels);
  const uint32_t count = labels.Number();
  LOG(INFO) << "A total of " << count << " items.";
  caffe::NewDatabase database(files[2], FLAGS_backend);
  caffe::Progress progress("image", count);
  uint32_t written = 0;
  for (const string& path : caffe::SplitAtCommas(files[0])) {
    caffe::IdxImages images(path);
    LOG(INFO) << "Rows: " << images.rows << " Cols: " << images.columns;
    caffe::Datum datum;
    datum.set_channels(1);
    datum.set_height(images.rows);
    datum.set_width(images.columns);
    for (uint32_t i = 0; i < images.count; ++i, ++written) {
      Require(written < count, caffe::Error::File{files[1]}, ": there are ", count,
              " labels and more images");
      datum.set_data(images.Next());
      unsigned char label;
      labels.Read(&label, 1);
      datum.set_label(label);
      database.Put(caffe::NumberKey(written, 8), datum.SerializeAsString());
      if ((written + 1) % 1000 == 0) progress.Update(written + 1);
    }
  }
  Require(written == count, caffe::Error::File{files[1]}, ": there are ", count, " labels for ",
          written, " images");
  progress.Clear();
  LOG(INFO) << "Processed " << written << " files.";
  database.Finish();
  return 0;
}

caffe::Command Program() {
  caffe::Command program;
  program.name = "convert_mnist_data";
  program.summary = "writes MNIST's idx files to a database";
  program.usage = {"[--backend=lmdb|leveldb] IMAGES[,IMAGES...] LABELS DATABASE"};
  program.about =
      R"(IMAGES and LABELS are idx files as published (http://yann.lecun.com/exdb/mnist), gzipped or not.
Several image files, separated by commas, follow one another. DATABASE must not exist yet.
)";
  program.groups = {{"flags", "", {"backend"}, ""}};
  program.examples =
      R"(  convert_mnist_data train-images-idx3-ubyte train-labels-idx1-ubyte mnist_train_lmdb
)";
  program.run = Convert;
  return program;
}

}  // namespace

int main(int argc, char** argv) { return caffe::RunProgram(argc, argv, Program()); }
