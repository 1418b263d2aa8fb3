// Writes images named in a list, with their labels, to a database of Datum records.
#include <string>
#include <vector>

#include "caffe/core/error_context.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/util/io.hpp"
#include "caffe/util/rng.hpp"
#include "common/command_line.hpp"
#include "common/image_database.hpp"

DEFINE_bool(gray, false, "Convert images to grey.");
DEFINE_bool(shuffle, false, "Put the images in random order.");
DEFINE_string(backend, "lmdb", "The database: lmdb or leveldb.");
DEFINE_int32(resize_width, 0, "Resize images to this width; 0: leave them as they are.");
DEFINE_int32(resize_height, 0, "Resize images to this height; 0: leave them as they are.");
DEFINE_bool(check_size, false, "Stop at an image of another size than the first.");
DEFINE_bool(encoded, false, "Keep images compressed.");
DEFINE_string(encode_type, "", "Compress them as this: png, jpg, ...; implies -encoded.");

namespace {

using caffe::Datum;
using caffe::ImageRecord;
using caffe::ListLine;
using caffe::Require;
using std::string;
using std::vector;

const char kUsage[] = R"(convert_imageset: writes images and their labels to a database.

usage: convert_imageset [flags] ROOTFOLDER/ LISTFILE DB_NAME

LISTFILE has a line for each image: its path below ROOTFOLDER, a space, its label (a number).
Paths may contain spaces. DB_NAME must not exist yet. Files that are not images are left out.

flags:
  -gray                              convert images to grey
  -shuffle                           put them in random order
  -backend lmdb|leveldb              the kind of database (default lmdb)
  -resize_width N -resize_height N   resize images; 0 leaves them as they are
  -check_size                        stop at an image of another size than the first
  -encoded                           keep them compressed
  -encode_type png|jpg|...           compress them as this; implies -encoded

example:
  convert_imageset -resize_width 256 -resize_height 256 -shuffle images/ train.txt train_lmdb
)";

#ifdef USE_OPENCV

ImageRecord Read(const string& path, int label) {
  const bool encoded = FLAGS_encoded || !FLAGS_encode_type.empty();
  const string encoding = !encoded                    ? ""
                          : FLAGS_encode_type.empty() ? caffe::EncodingOf(path)
                                                      : FLAGS_encode_type;
  Datum datum;
  ImageRecord result;
  try {
    result.read = caffe::ReadImageToDatum(path, label, FLAGS_resize_height, FLAGS_resize_width,
                                          !FLAGS_gray, encoding, &datum);
  } catch (caffe::Error& error) {
    caffe::AddFile(path, &error);
    throw;
  }
  if (!result.read) return result;
  result.value = datum.SerializeAsString();
  if (FLAGS_check_size) {
    caffe::DecodeDatumNative(&datum);
    result.size = caffe::Join(datum.channels(), " x ", datum.height(), " x ", datum.width());
  }
  return result;
}

int Convert(int argc, char** argv) {
  Require(argc == 4, "give ROOTFOLDER/, LISTFILE and DB_NAME; --help shows how");
  Require(FLAGS_resize_width >= 0 && FLAGS_resize_height >= 0 &&
              (FLAGS_resize_width > 0) == (FLAGS_resize_height > 0),
          "give -resize_width and -resize_height together, both positive");
  const string root = caffe::RootFolder(argv[1]), list = argv[2];
  vector<ListLine> lines = caffe::ReadImageList(list, "a label");
  for (const ListLine& line : lines) caffe::LabelIn(line, list);
  if (FLAGS_shuffle) {
    LOG(INFO) << "Shuffling data";
    caffe::shuffle(lines.begin(), lines.end());
  }
  LOG_IF(INFO, !FLAGS_encode_type.empty() && !FLAGS_encoded)
      << "encode_type specified, assuming encoded=true.";
  caffe::WriteImages(lines, list, root, argv[3], FLAGS_backend, [&](const ListLine& line) {
    return Read(root + line.path, caffe::LabelIn(line, list));
  });
  return 0;
}

#else

int Convert(int, char**) {
  caffe::Fail("this tool needs OpenCV", caffe::Error::Remedy{"build with USE_OPENCV=ON"});
}

#endif  // USE_OPENCV

}  // namespace

int main(int argc, char** argv) { return caffe::RunTool(argc, argv, kUsage, Convert); }
