// Writes the pictures of a list to a database of Datum records.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "caffe/proto/caffe.pb.h"
#include "caffe/util/db.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/progress.hpp"
#include "caffe/util/rng.hpp"
#include "command_line.hpp"

DEFINE_bool(gray, false, "Read the pictures in shades of grey.");
DEFINE_bool(shuffle, false, "Put the pictures in random order.");
DEFINE_string(backend, "lmdb", "The database: lmdb or leveldb.");
DEFINE_int32(resize_width, 0, "The width to resize to; 0: as it is.");
DEFINE_int32(resize_height, 0, "The height to resize to; 0: as it is.");
DEFINE_bool(check_size, false, "Refuse pictures of another size than the first.");
DEFINE_bool(encoded, false, "Keep the pictures compressed.");
DEFINE_string(encode_type, "", "Compress anew, 'png' or 'jpg': implies -encoded.");

namespace {

using caffe::Require;
using std::string;

const char kUsage[] = R"(convert_imageset: writes the pictures of a list to a database.

usage: convert_imageset [flags] ROOT_FOLDER/ LIST DATABASE

LIST has a line for each picture: its path below ROOT_FOLDER, which may hold spaces, and a label.
DATABASE must not exist yet.

flags:
  -resize_width N -resize_height N   resize all pictures (both are given)
  -gray                              in shades of grey
  -shuffle                           in random order
  -check_size                        refuse pictures of another size than the first
  -encoded, -encode_type png|jpg     keep compressed, or compress anew
  -backend lmdb|leveldb

example:
  convert_imageset -resize_width 256 -resize_height 256 -shuffle images/ train.txt train_lmdb
)";

std::vector<std::pair<string, int>> ReadList(const string& path) {
  std::ifstream file(path.c_str());
  Require(file.good(), path, ": there is no such file, or it cannot be read");
  std::vector<std::pair<string, int>> lines;
  string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    const size_t space = line.find_last_of(' ');
    size_t used = 0;
    int label = -1;
    try {
      if (space != string::npos) label = std::stoi(line.substr(space + 1), &used);
    } catch (const std::exception&) {
      used = 0;
    }
    Require(used > 0, path, ":", number, ": a line is a path, a space and a label, not '", line,
            "'");
    lines.emplace_back(line.substr(0, space), label);
  }
  Require(!lines.empty(), path, ": the list is empty");
  return lines;
}

#ifdef USE_OPENCV

int Convert(int argc, char** argv) {
  Require(argc == 4, "give ROOT_FOLDER, LIST and DATABASE; --help shows how");
  Require((FLAGS_resize_width > 0) == (FLAGS_resize_height > 0),
          "give -resize_width and -resize_height, or neither");
  std::vector<std::pair<string, int>> lines = ReadList(argv[2]);
  if (FLAGS_shuffle) {
    LOG(INFO) << "Shuffling data";
    caffe::shuffle(lines.begin(), lines.end());
  }
  LOG(INFO) << "A total of " << lines.size() << " images.";
  std::unique_ptr<caffe::db::DB> db(caffe::db::GetDB(FLAGS_backend));
  db->Open(argv[3], caffe::db::NEW);
  std::unique_ptr<caffe::db::Transaction> transaction(db->NewTransaction());
  caffe::Progress progress("picture", lines.size());
  size_t written = 0, first_size = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    const string& name = lines[i].first;
    string encoding = FLAGS_encode_type;
    if (FLAGS_encoded && encoding.empty()) encoding = name.substr(name.rfind('.') + 1);
    caffe::Datum datum;
    const string path = string(argv[1]) + name;
    if (!caffe::ReadImageToDatum(path, lines[i].second, std::max(0, FLAGS_resize_height),
                                 std::max(0, FLAGS_resize_width), !FLAGS_gray, encoding, &datum)) {
      LOG(ERROR) << path << " is no picture that can be read: it is left out";
      continue;
    }
    if (FLAGS_check_size && encoding.empty()) {
      if (first_size == 0) first_size = datum.data().size();
      Require(datum.data().size() == first_size, path, ": the picture has ", datum.data().size(),
              " values, the first has ", first_size);
    }
    char number[24];
    std::snprintf(number, sizeof(number), "%08zu_", i);
    transaction->Put(number + name, datum.SerializeAsString());
    if (++written % 1000 == 0) {
      transaction->Commit();
      transaction.reset(db->NewTransaction());
      progress.Clear();
      LOG(INFO) << "Processed " << written << " files.";
    }
    progress.Update(i + 1);
  }
  progress.Clear();
  if (written % 1000 != 0) {
    transaction->Commit();
    LOG(INFO) << "Processed " << written << " files.";
  }
  Require(written > 0, "none of the ", lines.size(), " pictures could be read: is ", argv[1],
          " the right folder?");
  return 0;
}

#else

int Convert(int, char**) {
  caffe::Fail("this program was built without OpenCV: build with USE_OPENCV=ON");
}

#endif  // USE_OPENCV

}  // namespace

int main(int argc, char** argv) { return caffe::RunTool(argc, argv, kUsage, Convert); }
