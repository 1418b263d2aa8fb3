// Writes pairs of MNIST's images to a database, labelled by whether they show the same digit.
#include <random>
#include <string>
#include <vector>

#include "caffe/proto/caffe.pb.h"
#include "caffe/util/text/split.hpp"
#include "common/command.hpp"
#include "common/idx_file.hpp"
#include "common/new_database.hpp"

CAFFE_FLAG(string, backend, "leveldb", "lmdb|leveldb", "the kind of database");
CAFFE_FLAG(int32, seed, 1, "N", "chooses the pairs: the same number, the same pairs");

namespace {

using caffe::Require;
using std::string;
using std::vector;

struct Images {
  vector<string> pixels;
  string labels;  // one byte each
  uint32_t rows = 0, columns = 0;
};

Images ReadImages(const string& image_files, const string& label_file) {
  Images all;
  for (const string& path : caffe::SplitAtCommas(image_files)) {
    caffe::IdxImages images(path);
    Require(all.pixels.empty() || (images.rows == all.rows && images.columns == all.columns),
            caffe::Error::File{path}, ": images of ", images.rows, " x ", images.columns,
            " after some of ", all.rows, " x ", all.columns);
    all.rows = images.rows;
    all.columns = images.columns;
    for (uint32_t i = 0; i < images.count; ++i) all.pixels.push_back(images.Next());
  }
  caffe::IdxFile labels(label_file, caffe::kIdxLabels);
  const uint32_t count = labels.Number();
  Require(count == all.pixels.size(), caffe::Error::File{label_file}, ": there are ", count,
          " labels for ", all.pixels.size(), " images");
  Require(count > 0, caffe::Error::File{label_file}, ": there are no images");
  all.labels.resize(count);
  labels.Read(&all.labels[0], count);
  return all;
}

int Convert(const std::vector<string>& files) {
  Require(files.size() == 3, "give IMAGES, LABELS and DATABASE; --help shows how");
  const Images images = ReadImages(files[0], files[1]);
  LOG(INFO) << "A total of " << images.pixels.size() << " items.";
  LOG(INFO) << "Rows: " << images.rows << " Cols: " << images.columns;
  caffe::NewDatabase database(files[2], FLAGS_backend);
  std::mt19937 random(FLAGS_seed);
  caffe::Datum datum;
  datum.set_channels(2);
  datum.set_height(images.rows);
  datum.set_width(images.columns);
  for (size_t item = 0; item < images.pixels.size(); ++item) {
    const size_t i = random() % images.pixels.size(), j = random() % images.pixels.size();
    datum.set_data(images.pixels[i] + images.pixels[j]);
    datum.set_label(images.labels[i] == images.labels[j]);
    database.Put(caffe::NumberKey(item, 8), datum.SerializeAsString());
  }
  database.Finish();
  return 0;
}

caffe::Command Program() {
  caffe::Command program;
  program.name = "convert_mnist_siamese_data";
  program.summary = "writes pairs of MNIST's images to a database";
  program.usage = {"[flags] IMAGES[,IMAGES...] LABELS DATABASE"};
  program.about =
      R"(IMAGES and LABELS are idx files as published (http://yann.lecun.com/exdb/mnist), gzipped or not.
DATABASE gets as many pairs as there are images, each of two images drawn at random as the two
channels of one record, with label 1 where both show the same digit, else 0.
)";
  program.groups = {{"flags", "", {"backend", "seed"}, ""}};
  program.examples =
      R"(  convert_mnist_siamese_data train-images-idx3-ubyte train-labels-idx1-ubyte mnist_siamese_train
)";
  program.run = Convert;
  return program;
}

}  // namespace

int main(int argc, char** argv) { return caffe::RunProgram(argc, argv, Program()); }
