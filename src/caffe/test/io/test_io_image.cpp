#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>

#include "caffe/test/support/image_files.hpp"
#include "caffe/test/support/test_files.hpp"
#include "caffe/util/io.hpp"

#ifdef USE_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#endif

namespace caffe {
namespace {

TEST(ImageTest, ReadsAFileIntoARecord) {
  const string file = NewFile(string("a\0b", 3));
  Datum datum;
  ASSERT_TRUE(ReadFileToDatum(file, 3, &datum));
  EXPECT_EQ(datum.data(), string("a\0b", 3));
  EXPECT_EQ(datum.label(), 3);
  EXPECT_TRUE(datum.encoded());
  ASSERT_TRUE(ReadFileToDatum(file, &datum));
  EXPECT_EQ(datum.label(), -1);
  EXPECT_FALSE(ReadFileToDatum(NewFileName(), &datum));
  EXPECT_FALSE(ReadFileToDatum(NewFile(""), &datum));
}

#ifdef USE_OPENCV

/// Two rows of three pixels; channels are blue, green, red.
cv::Mat SmallImage() {
  cv::Mat image(2, 3, CV_8UC3);
  for (int i = 0; i < 6; ++i) {
    image.at<cv::Vec3b>(i / 3, i % 3) = cv::Vec3b(10 * i, 10 * i + 1, 10 * i + 2);
  }
  return image;
}

string ImageFile(const cv::Mat& image, const string& extension = ".png") {
  const string name = NewFileName() + extension;
  cv::imwrite(name, image);
  return name;
}

const string kPlanes = {0, 10, 20, 30, 40, 50, 1, 11, 21, 31, 41, 51, 2, 12, 22, 32, 42, 52};

TEST(ImageTest, LaysChannelsOutermost) {
  Datum datum;
  datum.add_float_data(1);
  CVMatToDatum(SmallImage(), &datum);
  EXPECT_EQ(datum.channels(), 3);
  EXPECT_EQ(datum.height(), 2);
  EXPECT_EQ(datum.width(), 3);
  EXPECT_EQ(datum.data(), kPlanes);
  EXPECT_EQ(datum.float_data_size(), 0);
  EXPECT_FALSE(datum.encoded());
}

TEST(ImageTest, RefusesMoreThanEightBits) {
  Datum datum;
  ExpectContains(ErrorOf([&] { CVMatToDatum(cv::Mat(2, 2, CV_32FC1), &datum); }), "8 bits");
}

TEST(ImageTest, ReadsImages) {
  const string file = ImageFile(SmallImage());
  Datum datum;
  ASSERT_TRUE(ReadImageToDatum(file, 5, &datum));
  EXPECT_EQ(datum.data(), kPlanes);
  EXPECT_EQ(datum.label(), 5);
  ASSERT_TRUE(ReadImageToDatum(file, 5, 4, 7, &datum));
  EXPECT_EQ(datum.height(), 4);
  EXPECT_EQ(datum.width(), 7);
  EXPECT_EQ(datum.data().size(), 3u * 4 * 7);
  ASSERT_TRUE(ReadImageToDatum(file, 5, false, &datum));
  EXPECT_EQ(datum.channels(), 1);
  EXPECT_EQ(datum.data().size(), 6u);
  EXPECT_EQ(ReadImageToCVMat(file).size(), cv::Size(3, 2));
  EXPECT_EQ(ReadImageToCVMat(file, 5, 6).size(), cv::Size(6, 5));
  EXPECT_EQ(ReadImageToCVMat(file, false).channels(), 1);
}

// Databases of -encoded images, boxes and label images are in the coordinates of what is stored.
TEST(ImageTest, IsNotTurnedByExif) {
  cv::Mat left_half_white(8, 16, CV_8UC3, cv::Scalar::all(0));
  left_half_white.colRange(0, 8) = cv::Scalar::all(255);
  const string jpeg = JpegWithOrientation(left_half_white), file = NewFile(jpeg);
  ASSERT_EQ(cv::imread(file).size(), cv::Size(8, 16)) << "OpenCV by itself turns it";
  Datum datum, record;
  record.set_data(jpeg);
  record.set_encoded(true);
  ASSERT_TRUE(ReadImageToDatum(file, 0, &datum));
  EXPECT_EQ(datum.height(), 8);
  EXPECT_EQ(datum.width(), 16);
  ASSERT_TRUE(ReadImageToDatum(file, 0, 0, 0, /*is_color=*/false, string("png"), &datum));
  for (const cv::Mat& image :
       {ReadImageToCVMat(file), ReadImageToCVMat(file, false), ReadImageToCVMat(file, 8, 16),
        DecodeDatumToCVMat(record, true), DecodeDatumToCVMat(record, false),
        DecodeDatumToCVMatNative(record), DecodeDatumToCVMatNative(datum)}) {
    ASSERT_EQ(image.size(), cv::Size(16, 8));
    EXPECT_GT(cv::mean(image.colRange(0, 8))[0], 250);
    EXPECT_LT(cv::mean(image.colRange(8, 16))[0], 5);
  }
}

TEST(ImageTest, SaysWhenAFileIsNoImage) {
  Datum datum;
  for (const string& file : {NewFileName(), NewFile("not an image"), NewFile("")}) {
    EXPECT_FALSE(ReadImageToDatum(file, 0, &datum));
    EXPECT_FALSE(ReadImageToDatum(file, 0, string("png"), &datum));
    EXPECT_TRUE(ReadImageToCVMat(file).empty());
  }
}

#ifdef __linux__

size_t OpenFiles() {
  const std::filesystem::directory_iterator open("/proc/self/fd");
  return std::distance(begin(open), end(open));
}

TEST(ImageTest, DamagedRadianceImagesAreNotKeptOpen) {
  const string bytes = "#?RGBE\nFORMAT=32-bit_rle_rgbe\n\n-Y 2 +X 3\ntoo few",
               file = NewFile(bytes);
  Datum record;
  record.set_encoded(true);
  record.set_data(bytes);
  const size_t before = OpenFiles();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(ReadImageToCVMat(file).empty());
    ExpectContains(ErrorOf([&] { DecodeDatumToCVMat(record, true); }),
                   "the record's 48 bytes are not an image that can be decoded");
  }
  EXPECT_EQ(OpenFiles(), before);
}

#endif

TEST(ImageTest, KeepsAFileThatIsEncodedAsWanted) {
  const string file = ImageFile(SmallImage(), ".PNG");
  Datum datum;
  ASSERT_TRUE(ReadImageToDatum(file, 1, string("png"), &datum));
  EXPECT_TRUE(datum.encoded());
  EXPECT_EQ(datum.data(), ReadFile(file));
  EXPECT_EQ(datum.label(), 1);
}

TEST(ImageTest, EncodesAnewWhatIsNot) {
  const string file = ImageFile(SmallImage());
  Datum datum;
  ASSERT_TRUE(ReadImageToDatum(file, 1, string("jpg"), &datum));
  EXPECT_EQ(datum.data().substr(0, 2), "\xff\xd8");
  // A colour file is not what was asked for.
  ASSERT_TRUE(ReadImageToDatum(file, 1, 0, 0, false, string("png"), &datum));
  EXPECT_EQ(DecodeDatumToCVMatNative(datum).channels(), 1);
  ASSERT_TRUE(ReadImageToDatum(file, 1, 4, 4, true, string("png"), &datum));
  EXPECT_EQ(DecodeDatumToCVMatNative(datum).size(), cv::Size(4, 4));
  ExpectContains(ErrorOf([&] { ReadImageToDatum(file, 1, string("xyz"), &datum); }), "'xyz'");
}

TEST(ImageTest, DecodesRecords) {
  Datum encoded;
  ASSERT_TRUE(ReadFileToDatum(ImageFile(SmallImage()), 2, &encoded));
  Datum datum = encoded;
  EXPECT_TRUE(DecodeDatumNative(&datum));
  EXPECT_EQ(datum.data(), kPlanes);
  EXPECT_EQ(datum.label(), 2);
  EXPECT_FALSE(datum.encoded());
  EXPECT_FALSE(DecodeDatumNative(&datum));
  EXPECT_FALSE(DecodeDatum(&datum, true));
  datum = encoded;
  EXPECT_TRUE(DecodeDatum(&datum, false));
  EXPECT_EQ(datum.channels(), 1);
  EXPECT_EQ(DecodeDatumToCVMat(encoded, true).channels(), 3);
  datum.set_encoded(true);
  ExpectContains(ErrorOf([&] { DecodeDatumNative(&datum); }), "not an image");
}

#endif  // USE_OPENCV

}  // namespace
}  // namespace caffe
