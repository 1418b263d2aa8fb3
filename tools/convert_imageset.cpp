// Writes images named in a list, with their labels, to a database of Datum records.
#include <string>
#include <vector>

#include "caffe/core/error_context.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/util/io.hpp"
#include "common/command.hpp"
#include "common/image_database.hpp"

namespace {

using caffe::Datum;
using caffe::ImageRecord;
using caffe::ListLine;
using caffe::Require;
using std::string;

#ifdef USE_OPENCV

ImageRecord Read(const string& path, int label) {
  const string encoding = caffe::EncodingOf(path);
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

int Convert(const std::vector<string>& files) {
  Require(files.size() == 3, "give ROOTFOLDER/, LISTFILE and DB_NAME; --help shows how");
  caffe::CheckImageFlags();
  const string root = caffe::RootFolder(files[0]), list = files[1];
  const std::vector<ListLine> lines = caffe::ReadLabelledImages(list);
  for (const ListLine& line : lines) caffe::LabelIn(line, list);
  LOG_IF(INFO, !FLAGS_encode_type.empty() && !FLAGS_encoded)
      << "encode_type specified, assuming encoded=true.";
  caffe::WriteImages(lines, list, root, files[2], [&](const ListLine& line) {
    return Read(root + line.path, caffe::LabelIn(line, list));
  });
  return 0;
}

#else

int Convert(const std::vector<string>&) {
  caffe::Fail("this tool needs OpenCV", caffe::Error::Remedy{"build with USE_OPENCV=ON"});
}

#endif  // USE_OPENCV

caffe::Command Program() {
  caffe::Command program;
  program.name = "convert_imageset";
  program.summary = "writes images and their labels to a database";
  program.usage = {"[flags] ROOTFOLDER/ LISTFILE DB_NAME"};
  program.about =
      R"(LISTFILE has a line for each image: its path below ROOTFOLDER, a space, its label (a number).
Paths may contain spaces. In a list of paths alone each image has the label 0. DB_NAME must not
exist yet. Files that are not images are left out.
)";
  program.groups = {{"flags", "", caffe::ImageFlags(), ""}};
  program.examples =
      R"(  convert_imageset -resize_width 256 -resize_height 256 -shuffle images/ train.txt train_lmdb
)";
  program.run = Convert;
  return program;
}

}  // namespace

int main(int argc, char** argv) { return caffe::RunProgram(argc, argv, Program()); }
