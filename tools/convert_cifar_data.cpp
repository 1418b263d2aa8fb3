// Writes CIFAR-10's binary files to two databases of Datum records.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "caffe/proto/caffe.pb.h"
#include "common/command_line.hpp"
#include "common/new_database.hpp"

namespace {

using caffe::Require;
using std::string;

const char kUsage[] = R"(convert_cifar_data: writes CIFAR-10's binary files to two databases.

usage: convert_cifar_data INPUT_FOLDER OUTPUT_FOLDER DB_TYPE

INPUT_FOLDER holds data_batch_1.bin to data_batch_5.bin and test_batch.bin, the binary version of
http://www.cs.toronto.edu/~kriz/cifar.html. OUTPUT_FOLDER gets cifar10_train_<DB_TYPE> and
cifar10_test_<DB_TYPE>; DB_TYPE is lmdb or leveldb.

example:
  convert_cifar_data cifar-10-batches-bin examples/cifar10 lmdb
)";

constexpr int kSize = 32;
constexpr int kImageBytes = 3 * kSize * kSize;
constexpr int kPerFile = 10000;

void RequireSize(const string& path) {
  constexpr uintmax_t kBytes = uintmax_t(kPerFile) * (1 + kImageBytes);
  std::error_code error;
  const uintmax_t bytes = std::filesystem::file_size(path, error);
  Require(!error, caffe::Error::File{path}, ": there is no such file, or it cannot be read");
  Require(bytes == kBytes, caffe::Error::File{path}, ": the file has ", bytes,
          " bytes; the binary version of CIFAR-10 ", "has ", kBytes, " in each file");
}

// The records of one file, keys from `first` on.
void ConvertFile(const string& path, int first, caffe::NewDatabase* database) {
  std::ifstream file(path.c_str(), std::ios::in | std::ios::binary);
  Require(file.good(), caffe::Error::File{path}, ": there is no such file, or it cannot be read");
  caffe::Datum datum;
  datum.set_channels(3);
  datum.set_height(kSize);
  datum.set_width(kSize);
  string pixels(kImageBytes, '\0');
  for (int i = 0; i < kPerFile; ++i) {
    char label = 0;
    file.get(label);
    file.read(&pixels[0], kImageBytes);
    Require(file.good(), caffe::Error::File{path}, ": the file ends in image ", i, " of ",
            kPerFile);
    datum.set_label(static_cast<unsigned char>(label));
    datum.set_data(pixels);
    database->Put(caffe::NumberKey(first + i, 5), datum.SerializeAsString());
  }
}

int Convert(int argc, char** argv) {
  Require(argc == 4, "give INPUT_FOLDER, OUTPUT_FOLDER and DB_TYPE; --help shows how");
  const string input = argv[1], output = argv[2], type = argv[3];
  for (int i = 1; i <= 5; ++i) RequireSize(caffe::Join(input, "/data_batch_", i, ".bin"));
  RequireSize(input + "/test_batch.bin");
  caffe::NewDatabase train(output + "/cifar10_train_" + type, type);
  caffe::NewDatabase test(output + "/cifar10_test_" + type, type);
  LOG(INFO) << "Writing Training data";
  for (int i = 0; i < 5; ++i) {
    LOG(INFO) << "Training Batch " << i + 1;
    ConvertFile(caffe::Join(input, "/data_batch_", i + 1, ".bin"), i * kPerFile, &train);
  }
  LOG(INFO) << "Writing Testing data";
  ConvertFile(input + "/test_batch.bin", 0, &test);
  train.Finish();
  test.Finish();
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return caffe::RunTool(argc, argv, kUsage, Convert); }
