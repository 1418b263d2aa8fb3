// Fields of data layers that are ignored, as the log says.
#include <gtest/gtest.h>

#include "caffe/test/support/captured_log.hpp"
#include "caffe/test/support/image_files.hpp"
#include "caffe/test/support/source_layer.hpp"
#include "caffe/test/support/test_databases.hpp"

namespace caffe {
namespace {

/// What setting up such a layer logs of fields that are ignored; "" if nothing.
string WarningOf(const string& layer, int tops) {
  CapturedLog log;
  EXPECT_EQ(SetUpError<float>("name: 'd' " + layer, tops), "") << layer;
  string warning;
  for (const string& line : log.lines()) {
    if (line.find("ignored") != string::npos) warning += line;
  }
  return warning;
}

#ifdef USE_OPENCV

const string kOldFields = " batch_size: 1 mirror: true crop_size: 2 mean_file: 'none' scale: 0.5 ";

string OldFieldsOf(const string& message) {
  return "layer 'd': " + message +
         ": ignored as in BVLC Caffe, which reads them in transform_param: scale, mean_file, "
         "crop_size, mirror";
}

TEST(DataFields, ThatTransformedBeforeTransformParamAreNamed) {
  const string image = NewImage(CountingImage(3, 4, 4));
  const string list = "source: '" + NewFile(image + " 0\n") + "'" + kOldFields;
  EXPECT_EQ(WarningOf("type: 'ImageData' image_data_param { " + list + "}", 2),
            OldFieldsOf("image_data_param"));
  EXPECT_EQ(WarningOf("type: 'ImageSegData' image_data_param { label_type: IMAGE " + list + "}", 2),
            OldFieldsOf("image_data_param"));
  const string windows = NewFile("# 0 " + image + " 3 4 4 1\n1 1 0 0 1 1\n");
  EXPECT_EQ(WarningOf("type: 'WindowData' window_data_param { fg_fraction: 1 source: '" + windows +
                          "'" + kOldFields + "} transform_param { crop_size: 3 }",
                      2),
            OldFieldsOf("window_data_param"));
  EXPECT_EQ(WarningOf("type: 'ImageData' image_data_param { batch_size: 1 source: '" +
                          NewFile(image) + "' } transform_param { crop_size: 2 }",
                      2),
            "");
}

#ifdef USE_LMDB

TEST(DataFields, ThatTransformedRecordsBeforeTransformParamAreNamed) {
  AnnotatedDatum annotated;
  *annotated.mutable_datum() = PlainDatum(1, 2);
  const auto data = [](const string& path) {
    return string("data_param { backend: ") + kTestBackend + " source: '" + path + "'" +
           kOldFields + "}";
  };
  EXPECT_EQ(WarningOf("type: 'Data' " + data(NewDatabase<Datum>({PlainDatum(1, 2)})), 2),
            OldFieldsOf("data_param"));
  EXPECT_EQ(WarningOf("type: 'AnnotatedData' " + data(NewDatabase<AnnotatedDatum>({annotated})), 2),
            OldFieldsOf("data_param"));
}

#endif  // USE_LMDB

#endif  // USE_OPENCV

}  // namespace
}  // namespace caffe
