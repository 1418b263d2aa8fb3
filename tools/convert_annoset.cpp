// Writes images named in a list, with their annotations, to a database of AnnotatedDatum records.
#include <map>
#include <string>
#include <vector>

#include "caffe/core/error_context.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/util/detection/annotations.hpp"
#include "caffe/util/image.hpp"
#include "caffe/util/label_map.hpp"
#include "caffe/util/rng.hpp"
#include "common/command_line.hpp"
#include "common/image_database.hpp"

DEFINE_bool(gray, false, "Convert images to grey.");
DEFINE_bool(shuffle, false, "Put the images in random order.");
DEFINE_string(backend, "lmdb", "The database: lmdb or leveldb.");
DEFINE_string(anno_type, "classification", "The annotations: classification or detection.");
DEFINE_string(label_type, "xml", "The format of annotation files: xml, json or txt.");
DEFINE_string(label_map_file, "", "A LabelMap: which number each name has.");
DEFINE_bool(check_label, false, "Stop at a label map that has a name twice.");
DEFINE_int32(min_dim, 0, "Enlarge images until the shorter side is this; 0: do not.");
DEFINE_int32(max_dim, 0, "Reduce images until the longer side is this; 0: do not.");
DEFINE_int32(resize_width, 0, "Resize images to this width; 0: leave them as they are.");
DEFINE_int32(resize_height, 0, "Resize images to this height; 0: leave them as they are.");
DEFINE_bool(check_size, false, "Stop at an image of another size than the first.");
DEFINE_bool(encoded, false, "Keep images compressed.");
DEFINE_string(encode_type, "", "Compress them as this: png, jpg, ...");

namespace {

using caffe::AnnotatedDatum;
using caffe::Datum;
using caffe::ImageRecord;
using caffe::ListLine;
using caffe::Require;
using std::string;

const char kUsage[] =
    R"(convert_annoset: writes images and their annotations to a database, for AnnotatedData layers.

usage: convert_annoset [flags] ROOTFOLDER/ LISTFILE DB_NAME

LISTFILE has a line for each image: its path below ROOTFOLDER, a space, and its label (a number)
or, with -anno_type detection, the path of its annotations below ROOTFOLDER. DB_NAME must not exist
yet. Files that are not images are left out.

flags:
  -anno_type classification|detection   what the lines tell (default classification)
  -label_type xml|json|txt              annotations of PASCAL VOC, of COCO (one file per image), or
                                        lines "label xmin ymin xmax ymax" (default xml)
  -label_map_file FILE                  which number each name has; for xml and json
  -check_label                          stop at a label map that has a name twice
  -min_dim N                            enlarge images until the shorter side is this
  -max_dim N                            reduce images until the longer side is this
  -gray -shuffle -backend -resize_width -resize_height -check_size -encoded -encode_type
                                        as for convert_imageset

example:
  convert_annoset -anno_type detection -label_map_file labelmap_voc.prototxt -encoded \
      VOCdevkit/ trainval.txt trainval_lmdb
)";

#ifdef USE_OPENCV

using Labels = std::map<string, int>;

ImageRecord Read(const string& root, const ListLine& line, const string& list,
                 const Labels& labels) {
  const string path = root + line.path;
  const bool encoded = FLAGS_encoded || !FLAGS_encode_type.empty();
  const string encoding = !encoded                    ? ""
                          : FLAGS_encode_type.empty() ? caffe::EncodingOf(path)
                                                      : FLAGS_encode_type;
  AnnotatedDatum annotated;
  ImageRecord record;
  try {
    if (FLAGS_anno_type == "classification") {
      record.read = caffe::ReadImageToDatum(path, caffe::LabelIn(line, list), FLAGS_resize_height,
                                            FLAGS_resize_width, FLAGS_min_dim, FLAGS_max_dim,
                                            !FLAGS_gray, encoding, annotated.mutable_datum());
    } else {
      record.read = caffe::ReadRichImageToAnnotatedDatum(
          path, root + line.rest, FLAGS_resize_height, FLAGS_resize_width, FLAGS_min_dim,
          FLAGS_max_dim, !FLAGS_gray, encoding, caffe::AnnotatedDatum_AnnotationType_BBOX,
          FLAGS_label_type, labels, &annotated);
    }
  } catch (caffe::Error& error) {
    caffe::AddFile(path, &error);
    throw;
  }
  if (!record.read) return record;
  record.value = annotated.SerializeAsString();
  if (FLAGS_check_size) {
    Datum* datum = annotated.mutable_datum();
    caffe::DecodeDatumNative(datum);
    record.size = caffe::Join(datum->channels(), " x ", datum->height(), " x ", datum->width());
  }
  return record;
}

Labels ReadLabels() {
  Labels labels;
  if (FLAGS_anno_type != "detection" || FLAGS_label_type == "txt") return labels;
  Require(!FLAGS_label_map_file.empty(), "give -label_map_file: ", FLAGS_label_type,
          " files have names, which must become numbers");
  Require(
      caffe::MapNameToLabel(caffe::ReadLabelMap(FLAGS_label_map_file), FLAGS_check_label, &labels),
      FLAGS_label_map_file, ": a name is there twice");
  return labels;
}

int Convert(int argc, char** argv) {
  Require(argc == 4, "give ROOTFOLDER/, LISTFILE and DB_NAME; --help shows how");
  Require(FLAGS_resize_width >= 0 && FLAGS_resize_height >= 0 &&
              (FLAGS_resize_width > 0) == (FLAGS_resize_height > 0),
          "give -resize_width and -resize_height together, both positive");
  Require(FLAGS_min_dim >= 0 && FLAGS_max_dim >= 0, caffe::Error::Field{"-min_dim"},
          " and -max_dim must not be negative");
  Require(FLAGS_anno_type == "classification" || FLAGS_anno_type == "detection",
          caffe::Error::Field{"-anno_type"}, " is classification or detection, not '",
          FLAGS_anno_type, "'");
  Require(FLAGS_label_type == "xml" || FLAGS_label_type == "json" || FLAGS_label_type == "txt",
          caffe::Error::Field{"-label_type"}, " is xml, json or txt, not '", FLAGS_label_type, "'");
  const Labels labels = ReadLabels();
  const bool detection = FLAGS_anno_type == "detection";
  const string root = caffe::RootFolder(argv[1]), list = argv[2];
  std::vector<ListLine> lines =
      caffe::ReadImageList(list, detection ? "a file of annotations" : "a label");
  if (!detection) {
    for (const ListLine& line : lines) caffe::LabelIn(line, list);
  }
  if (FLAGS_shuffle) {
    LOG(INFO) << "Shuffling data";
    caffe::shuffle(lines.begin(), lines.end());
  }
  caffe::WriteImages(lines, list, root, argv[3], FLAGS_backend,
                     [&](const ListLine& line) { return Read(root, line, list, labels); });
  return 0;
}

#else

int Convert(int, char**) {
  caffe::Fail("this tool needs OpenCV", caffe::Error::Remedy{"build with USE_OPENCV=ON"});
}

#endif  // USE_OPENCV

}  // namespace

int main(int argc, char** argv) { return caffe::RunTool(argc, argv, kUsage, Convert); }
