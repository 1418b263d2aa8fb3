// Writes images named in a list, with their annotations, to a database of AnnotatedDatum records.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "caffe/core/error_context.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/util/detection/annotations.hpp"
#include "caffe/util/image.hpp"
#include "caffe/util/label_map.hpp"
#include "common/command.hpp"
#include "common/image_database.hpp"

CAFFE_FLAG(string, anno_type, "classification", "classification|detection", "what the lines tell");
CAFFE_FLAG(
    string, label_type, "xml", "xml|json|txt",
    "annotations of PASCAL VOC, of COCO (one file per image), or lines \"label xmin ymin xmax "
    "ymax\"");
CAFFE_FLAG(string, label_map_file, "", "FILE", "which number each name has; for xml and json");
CAFFE_FLAG(bool, check_label, false, "", "stop at a label map that has a name twice");
CAFFE_FLAG(int32, min_dim, 0, "N", "enlarge images until the shorter side is this");
CAFFE_FLAG(int32, max_dim, 0, "N", "reduce images until the longer side is this");

namespace {

using caffe::AnnotatedDatum;
using caffe::Datum;
using caffe::ImageRecord;
using caffe::ListLine;
using caffe::Require;
using std::string;

#ifdef USE_OPENCV

using Labels = std::map<string, int>;

ImageRecord Read(const string& root, const ListLine& line, const string& list,
                 const Labels& labels) {
  const string path = root + line.path;
  const string encoding = caffe::EncodingOf(path);
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

int Convert(const std::vector<string>& files) {
  Require(files.size() == 3, "give ROOTFOLDER/, LISTFILE and DB_NAME; --help shows how");
  caffe::CheckImageFlags();
  Require(FLAGS_min_dim >= 0 && FLAGS_max_dim >= 0, caffe::Error::Field{"-min_dim"},
          " and -max_dim must not be negative");
  Require(FLAGS_anno_type == "classification" || FLAGS_anno_type == "detection",
          caffe::Error::Field{"-anno_type"}, " is classification or detection, not '",
          FLAGS_anno_type, "'");
  Require(FLAGS_label_type == "xml" || FLAGS_label_type == "json" || FLAGS_label_type == "txt",
          caffe::Error::Field{"-label_type"}, " is xml, json or txt, not '", FLAGS_label_type, "'");
  const Labels labels = ReadLabels();
  const bool detection = FLAGS_anno_type == "detection";
  const string root = caffe::RootFolder(files[0]), list = files[1];
  const std::vector<ListLine> lines =
      caffe::ReadImageList(list, detection ? "a file of annotations" : "a label");
  if (!detection) {
    for (const ListLine& line : lines) caffe::LabelIn(line, list);
  }
  caffe::WriteImages(lines, list, root, files[2],
                     [&](const ListLine& line) { return Read(root, line, list, labels); });
  return 0;
}

#else

int Convert(const std::vector<string>&) {
  caffe::Fail("this tool needs OpenCV", caffe::Error::Remedy{"build with USE_OPENCV=ON"});
}

#endif  // USE_OPENCV

std::vector<caffe::FlagUse> Flags() {
  std::vector<caffe::FlagUse> flags = {"anno_type",   "label_type", "label_map_file",
                                       "check_label", "min_dim",    "max_dim"};
  for (caffe::FlagUse& flag : caffe::ImageFlags()) flags.push_back(std::move(flag));
  return flags;
}

caffe::Command Program() {
  caffe::Command program;
  program.name = "convert_annoset";
  program.summary = "writes images and their annotations to a database, for AnnotatedData layers";
  program.usage = {"[flags] ROOTFOLDER/ LISTFILE DB_NAME"};
  program.about =
      R"(LISTFILE has a line for each image: its path below ROOTFOLDER, a space, and its label (a number)
or, with -anno_type detection, the path of its annotations below ROOTFOLDER. DB_NAME must not exist
yet. Files that are not images are left out.
)";
  program.groups = {{"flags", "", Flags(), ""}};
  program.examples =
      R"(  convert_annoset -anno_type detection -label_map_file labelmap_voc.prototxt -encoded \
      VOCdevkit/ trainval.txt trainval_lmdb
)";
  program.run = Convert;
  return program;
}

}  // namespace

int main(int argc, char** argv) { return caffe::RunProgram(argc, argv, Program()); }
