// Writes blobs of a trained net, as computed from its data layers, to databases of Datum records.
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/gpu_fallback.hpp"
#include "caffe/net.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/util/text/list_line.hpp"
#include "caffe/util/text/progress.hpp"
#include "caffe/util/text/split.hpp"
#include "common/command.hpp"
#include "common/new_database.hpp"
#include "common/threads_flag.hpp"

namespace {

using caffe::Blob;
using caffe::Caffe;
using caffe::Net;
using caffe::Require;
using caffe::SplitAtCommas;
using std::string;
using std::vector;

int WholeNumber(const string& text, const char* what) {
  int number = 0;
  Require(caffe::ParseWholeNumber(text, &number) && number >= 0, what,
          " must be a whole number, not '", text, "'");
  return number;
}

void ChooseDevice(const vector<string>& arguments) {
  const string mode = arguments.size() > 6 ? arguments[6] : "CPU";
  Require(mode == "CPU" || mode == "GPU", "'", mode, "' is neither CPU nor GPU");
  if (mode == "CPU") {
    LOG(INFO) << "Using CPU";
    Caffe::set_mode(Caffe::CPU);
    return;
  }
  string device = arguments.size() > 7 ? arguments[7] : "0";
  if (device.compare(0, 10, "DEVICE_ID=") == 0) device.erase(0, 10);
  if (!caffe::RequireGpu("GPU")) return Caffe::set_mode(Caffe::CPU);
  LOG(INFO) << "Using GPU, device " << device;
  Caffe::SetDevice(WholeNumber(device, "DEVICE_ID"));
  Caffe::set_mode(Caffe::GPU);
}

/// One blob on its way to its database.
struct Feature {
  string name;
  std::unique_ptr<caffe::NewDatabase> database;

  // One record for each item along the first axis.
  void Write(const Blob<float>& blob) {
    const int items = blob.num_axes() > 0 ? blob.shape(0) : 1;
    const int count = items > 0 ? blob.count() / items : 0;
    const bool four_axes = blob.num_axes() <= 4;
    caffe::Datum datum;
    datum.set_channels(four_axes ? blob.channels() : count);
    datum.set_height(four_axes ? blob.height() : 1);
    datum.set_width(four_axes ? blob.width() : 1);
    const float* values = blob.cpu_data();
    for (int item = 0; item < items; ++item, values += count) {
      datum.clear_float_data();
      datum.mutable_float_data()->Add(values, values + count);
      database->Put(caffe::NumberKey(database->count(), 10), datum.SerializeAsString());
      if (database->count() % 1000 == 0) Log();
    }
  }
  void Log() const {
    LOG(INFO) << "Extracted features of " << database->count() << " query images for feature blob "
              << name;
  }
};

int Extract(const vector<string>& arguments) {
  Require(arguments.size() >= 6 && arguments.size() <= 8,
          "give WEIGHTS, NET, BLOBS, DATABASES, BATCHES and DB_TYPE; --help shows how");
  const vector<string> blobs = SplitAtCommas(arguments[2]), databases = SplitAtCommas(arguments[3]);
  Require(blobs.size() == databases.size(), "there are ", blobs.size(), " blobs and ",
          databases.size(), " databases: each blob needs one");
  std::set<std::filesystem::path> paths;
  for (const string& database : databases) {
    const std::filesystem::path path = (std::filesystem::path(database) / "").lexically_normal();
    Require(paths.insert(path).second, "DATABASES: '", database, "' is given twice",
            caffe::Error::Remedy{"give each blob one of its own"});
  }
  const int batches = WholeNumber(arguments[4], "BATCHES");
  caffe::ApplyThreadsFlag();
  ChooseDevice(arguments);
  Net<float> net(arguments[1], caffe::TEST);
  net.CopyTrainedLayersFrom(arguments[0]);
  vector<Feature> features(blobs.size());
  for (size_t i = 0; i < blobs.size(); ++i) {
    Require(net.has_blob(blobs[i]), caffe::Error::File{arguments[1]}, ": the net has no blob '",
            blobs[i], "'");
    features[i].name = blobs[i];
    LOG(INFO) << "Opening dataset " << databases[i];
    features[i].database.reset(new caffe::NewDatabase(databases[i], arguments[5]));
  }
  LOG(INFO) << "Extracting Features";
  caffe::Progress progress("batch", batches);
  for (int batch = 0; batch < batches; ++batch) {
    net.Forward();
    for (Feature& feature : features) feature.Write(*net.blob_by_name(feature.name));
    progress.Update(batch + 1);
  }
  progress.Clear();
  for (Feature& feature : features) {
    if (feature.database->count() % 1000 != 0) feature.Log();
    feature.database->Finish();
  }
  LOG(INFO) << "Successfully extracted the features!";
  return 0;
}

caffe::Command Program() {
  caffe::Command program;
  program.name = "extract_features";
  program.summary = "writes what a trained net computes to databases";
  program.usage = {
      "WEIGHTS NET BLOB[,BLOB...] DATABASE[,DATABASE...] BATCHES DB_TYPE [CPU|GPU] [DEVICE_ID]"};
  program.about =
      R"(NET is a net definition (prototxt) with data layers; it is run BATCHES times in the TEST phase. Each
BLOB goes to the DATABASE in the same position, a record of floats for each image, under the keys
0000000000, 0000000001, ... DB_TYPE is lmdb or leveldb. Databases must not exist yet.
)";
  program.groups = {{"flags", "", {"gpu_fallback", "ignore_unknown_fields", "threads"}, ""}};
  program.examples =
      R"(  extract_features net.caffemodel val.prototxt fc6,fc7 fc6_lmdb,fc7_lmdb 10 lmdb
)";
  program.run = Extract;
  return program;
}

}  // namespace

int main(int argc, char** argv) { return caffe::RunProgram(argc, argv, Program()); }
