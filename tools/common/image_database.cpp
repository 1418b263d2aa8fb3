#include "image_database.hpp"

#include <algorithm>
#include <thread>

#include "caffe/common.hpp"
#include "caffe/util/rng.hpp"
#include "caffe/util/system/thread_team.hpp"
#include "caffe/util/text/letters.hpp"
#include "caffe/util/text/progress.hpp"
#include "new_database.hpp"

CAFFE_FLAG(bool, gray, false, "", "convert images to grey");
CAFFE_FLAG(bool, shuffle, false, "", "put them in random order");
CAFFE_FLAG(string, backend, "lmdb", "lmdb|leveldb", "the kind of database");
CAFFE_FLAG(int32, resize_width, 0, "N", "resize images to this width; 0 leaves them as they are");
CAFFE_FLAG(int32, resize_height, 0, "N", "resize images to this height; both are given, or none");
CAFFE_FLAG(bool, check_size, false, "", "stop at an image of another size than the first");
CAFFE_FLAG(bool, encoded, false, "", "keep images compressed");
CAFFE_FLAG(string, encode_type, "", "png|jpg|...", "compress them as this; implies -encoded");

namespace caffe {
namespace {

std::string EncodingByName(const std::string& path) {
  const size_t dot = path.rfind('.');
  if (dot == std::string::npos || path.find('/', dot) != std::string::npos) {
    LOG(WARNING) << "Failed to guess the encoding of '" << path << "': taken as png";
    return "png";
  }
  return LowerCase(path.substr(dot + 1));
}

}  // namespace

std::vector<FlagUse> ImageFlags() {
  return {"gray",          "shuffle",    "backend", "resize_width",
          "resize_height", "check_size", "encoded", "encode_type"};
}

void CheckImageFlags() {
  Require(FLAGS_resize_width >= 0 && FLAGS_resize_height >= 0 &&
              (FLAGS_resize_width > 0) == (FLAGS_resize_height > 0),
          "give -resize_width and -resize_height together, both positive");
}

std::string EncodingOf(const std::string& path) {
  if (!FLAGS_encode_type.empty()) return FLAGS_encode_type;
  return FLAGS_encoded ? EncodingByName(path) : "";
}

void WriteImages(std::vector<ListLine> lines, const std::string& list, const std::string& root,
                 const std::string& path, const std::function<ImageRecord(const ListLine&)>& read) {
  if (FLAGS_shuffle) {
    LOG(INFO) << "Shuffling data";
    shuffle(lines.begin(), lines.end());
  }
  LOG(INFO) << "A total of " << lines.size() << " images.";
  NewDatabase database(path, FLAGS_backend);
  Progress progress("file", static_cast<int64_t>(lines.size()));
  ThreadTeam team(static_cast<int>(std::thread::hardware_concurrency()));
  constexpr size_t kChunk = 200;
  std::vector<ImageRecord> records;
  std::string first_size, first_path;
  for (size_t start = 0; start < lines.size(); start += kChunk) {
    records.assign(std::min(kChunk, lines.size() - start), ImageRecord());
    team.ForEach(static_cast<int>(records.size()),
                 [&](int i) { records[i] = read(lines[start + i]); });
    for (size_t i = 0; i < records.size(); ++i) {
      const std::string& name = lines[start + i].path;
      if (!records[i].read) continue;
      if (first_path.empty()) {
        first_size = records[i].size;
        first_path = name;
      }
      Require(records[i].size == first_size, Error::File{name}, ": the image is ", records[i].size,
              ", but ", first_path, " is ", first_size,
              Error::Remedy{"leave out -check_size or resize them"});
      database.Put(NumberKey(static_cast<int64_t>(start + i), 8) + "_" + name, records[i].value);
      if (database.count() % 1000 == 0) {
        progress.Clear();
        LOG(INFO) << "Processed " << database.count() << " files.";
      }
    }
    progress.Update(static_cast<int64_t>(start + records.size()));
  }
  progress.Clear();
  Require(database.count() > 0, Error::File{list}, ": none of the ", lines.size(), " files below ",
          root, " is an image that can be read");
  if (database.count() % 1000 != 0) LOG(INFO) << "Processed " << database.count() << " files.";
  const size_t left_out = lines.size() - static_cast<size_t>(database.count());
  if (left_out == 1) {
    LOG(WARNING) << "1 file could not be read and was left out.";
  } else if (left_out > 1) {
    LOG(WARNING) << left_out << " files could not be read and were left out.";
  }
  database.Finish();
}

}  // namespace caffe
