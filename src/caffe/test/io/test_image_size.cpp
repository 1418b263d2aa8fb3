#include "caffe/io/image_size.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#ifdef USE_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#endif

#include "caffe/test/support/limits_scope.hpp"
#include "caffe/test/support/test_files.hpp"
#include "caffe/util/image.hpp"

namespace caffe {
namespace {

const uint8_t* BytesOf(const std::string& text) {
  return reinterpret_cast<const uint8_t*>(text.data());
}

std::string Number(uint64_t value, int bytes, bool big) {
  std::string text;
  for (int i = 0; i < bytes; ++i) {
    text += static_cast<char>(value >> 8 * (big ? bytes - 1 - i : i));
  }
  return text;
}
std::string Big(uint64_t value, int bytes) { return Number(value, bytes, true); }
std::string Little(uint64_t value, int bytes) { return Number(value, bytes, false); }

/// Headers of images of 50000 x 60000 pixels (height, width), as far as the size.
std::vector<std::pair<const char*, std::string>> LargeHeaders() {
  const uint64_t h = 50000, w = 60000;
  const std::string zeros(64, '\0');
  return {
      {"png", "\x89PNG\r\n\x1a\n" + Big(13, 4) + "IHDR" + Big(w, 4) + Big(h, 4) + "\x08\x02"},
      {"jpeg", std::string("\xff\xd8\xff\xe0\x00\x10", 6) + std::string(14, 'x') +
                   "\xff\xff\xff\xc4" + Big(2, 2) + "\xff\xc2" + Big(17, 2) + "\x08" + Big(h, 2) +
                   Big(w, 2)},
      {"bmp", "BM" + zeros.substr(0, 12) + Little(40, 4) + Little(w, 4) +
                  Little(uint32_t(-int64_t(h)), 4)},
      {"old bmp", "BM" + zeros.substr(0, 12) + Little(12, 4) + Little(w, 2) + Little(h, 2)},
      {"gif", "GIF89a" + Little(w, 2) + Little(h, 2)},
      {"ppm", "P6 # wide\n60000\t50000\n255\n"},
      {"pam", "P7\nWIDTH 60000\nHEIGHT 50000\nDEPTH 3\nENDHDR\n"},
      {"tiff", "II*" + zeros.substr(0, 1) + Little(8, 4) + Little(2, 2) + Little(256, 2) +
                   Little(4, 2) + Little(1, 4) + Little(w, 4) + Little(257, 2) + Little(3, 2) +
                   Little(1, 4) + Little(h, 4)},
      {"tiff MM", std::string("MM\0*", 4) + Big(8, 4) + Big(2, 2) + Big(256, 2) + Big(4, 2) +
                      Big(1, 4) + Big(w, 4) + Big(257, 2) + Big(4, 2) + Big(1, 4) + Big(h, 4)},
      {"bigtiff", "II+" + zeros.substr(0, 1) + Little(8, 2) + Little(0, 2) + Little(16, 8) +
                      Little(2, 8) + Little(256, 2) + Little(4, 2) + Little(1, 8) + Little(w, 8) +
                      Little(257, 2) + Little(16, 2) + Little(1, 8) + Little(h, 8)},
      {"webp", "RIFF" + Little(99, 4) + "WEBPVP8X" + Little(10, 4) + Little(0, 4) +
                   Little(w - 1, 3) + Little(h - 1, 3)},
      {"jp2", Big(12, 4) + "jP  \r\n\x87\n" + std::string("\xff\x4f\xff\x51", 4) + Big(47, 2) +
                  Big(0, 2) + Big(w + 5, 4) + Big(h + 6, 4) + Big(5, 4) + Big(6, 4)},
      {"exr", std::string("v/1\1\2\0\0\0", 8) + std::string("dataWindow\0box2i\0", 17) +
                  Little(16, 4) + Little(3, 4) + Little(4, 4) + Little(w + 2, 4) +
                  Little(h + 3, 4)},
      {"hdr", "#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 50000 +X 60000\n"},
      {"comment", "P6 60000#50000 255\n"},
      {"zeros", "P6 0000000000060000 00000000000050000 255\n"},
      {"sun", "\x59\xa6\x6a\x95" + Big(w, 4) + Big(h, 4) + Big(24, 4)}};
}

TEST(ImageSize, IsInTheHeader) {
  for (const auto& [kind, header] : LargeHeaders()) {
    const auto size = SizeOfEncodedImage(BytesOf(header), header.size());
    ASSERT_TRUE(size.has_value()) << kind;
    EXPECT_EQ(size->height, 50000u) << kind;
    EXPECT_EQ(size->width, 60000u) << kind;
    // Cut off anywhere it is no size, or the same.
    for (size_t end = 0; end < header.size(); ++end) {
      const std::string part = header.substr(0, end);
      const auto cut = SizeOfEncodedImage(BytesOf(part), part.size());
      const bool of_text = part.compare(0, 1, "P") == 0 || part.compare(0, 2, "#?") == 0;
      if (!cut || of_text) continue;
      EXPECT_EQ(cut->height * cut->width, 3000000000u) << kind << " " << end;
    }
  }
  const std::string text = "a text";
  EXPECT_FALSE(SizeOfEncodedImage(BytesOf(text), text.size()).has_value());
}

TEST(ImageSize, OfTooManyPixelsIsRefused) {
  for (const auto& [kind, header] : LargeHeaders()) {
    ExpectContains(
        ErrorOf([&, &bytes = header] { CheckEncodedImage(BytesOf(bytes), bytes.size(), "a.img"); }),
        "a.img: an image of 50000 x 60000 pixels asks for 3000000000, and "
        "the limit (image_pixels) is 268435456");
  }
  const LimitsScope scope("record_bytes=7");
  ExpectContains(
      ErrorOf([] { CheckEncodedImage(BytesOf("12345678"), 8, "a.img"); }),
      "a.img: an encoded image asks for 8 bytes, and the limit (record_bytes) is 7 bytes");
}

#ifdef USE_OPENCV

// GDCM, to which OpenCV may leave them, ends the program where one is damaged.
TEST(ImageSize, DicomImagesAreRefused) {
  const std::string bytes = std::string(128, 'x') + "DICM";
  ExpectContains(ErrorOf([&] { CheckEncodedImage(BytesOf(bytes), bytes.size(), "a.dcm"); }),
                 "a.dcm: a DICOM image, which is not read");
  CheckEncodedImage(BytesOf(bytes), bytes.size() - 1, "too short for one");
}

/// What is not damaged OpenCV has to read.
void ExpectDamagedOrDecoded(const std::string& bytes, bool is_whole) {
  ASSERT_EQ(IsDamagedRadiance(BytesOf(bytes), bytes.size()), !is_whole);
  if (!is_whole) return;
  const std::vector<uint8_t> encoded(bytes.begin(), bytes.end());
  EXPECT_FALSE(cv::imdecode(encoded, cv::IMREAD_COLOR).empty());
}

TEST(ImageSize, DamagedRadianceImagesAreFound) {
  const std::string head = "#?RGBE\nFORMAT=32-bit_rle_rgbe\n\n";
  const std::string flat = head + "-Y 2 +X 3\n" + std::string(24, 'x');
  ExpectDamagedOrDecoded(flat, true);
  ExpectDamagedOrDecoded(flat.substr(0, flat.size() - 1), false);
  ExpectDamagedOrDecoded("#?RGBE\n\n-Y 2 +X 3\n" + std::string(24, 'x'), false);
  ExpectDamagedOrDecoded(head + "+X 3 -Y 2\n" + std::string(24, 'x'), false);
  ExpectDamagedOrDecoded("#?RGBE2", false);
  // A row of 9 in runs: 9 equal bytes, or 4 of their own and 5 equal ones.
  const std::string row = std::string("\2\2\0\11", 4) +
                          "\x89r\4abcd\x85g\x89"
                          "b\x89"
                          "e";
  ExpectDamagedOrDecoded(head + "-Y 1 +X 9\n" + row, true);
  ExpectDamagedOrDecoded(head + "-Y 2 +X 9\n" + row + row, true);
  ExpectDamagedOrDecoded(head + "-Y 2 +X 9\n" + row, false);
  ExpectDamagedOrDecoded(head + "-Y 1 +X 8\n" + row, false);
  for (const size_t at : {4, 6, 11}) {  // the first counts: none at all, and too many
    for (const char count : {'\0', '\x8a', '\x0a'}) {
      std::string damaged = row;
      damaged[at] = count;
      ExpectDamagedOrDecoded(head + "-Y 1 +X 9\n" + damaged, false);
    }
  }
  cv::Mat image(7, 50, CV_32FC3);
  cv::randu(image, 0, 9);
  image.colRange(10, 40) = cv::Scalar(1, 2, 3);
  std::vector<uint8_t> encoded;
  ASSERT_TRUE(cv::imencode(".hdr", image, encoded));
  const std::string bytes(encoded.begin(), encoded.end());
  ExpectDamagedOrDecoded(bytes, true);
  ExpectDamagedOrDecoded(bytes.substr(0, bytes.size() - 1), false);
}

TEST(ImageSize, IsThatOfDecodedImages) {
  const cv::Mat image(37, 91, CV_8UC3, cv::Scalar(1, 2, 3));
  int seen = 0;
  for (const char* kind : {".png", ".jpg", ".bmp", ".ppm", ".pam", ".webp", ".tiff", ".jp2", ".exr",
                           ".hdr", ".ras", ".sr"}) {
    std::vector<uint8_t> bytes;
    try {
      cv::Mat source = image;
      if (std::string(kind) == ".exr" || std::string(kind) == ".hdr")
        image.convertTo(source, CV_32F);
      if (!cv::imencode(kind, source, bytes)) continue;
    } catch (const cv::Exception&) {
      continue;  // this OpenCV does not write it
    }
    ++seen;
    const auto size = SizeOfEncodedImage(bytes.data(), bytes.size());
    ASSERT_TRUE(size.has_value()) << kind;
    EXPECT_EQ(size->height, 37u) << kind;
    EXPECT_EQ(size->width, 91u) << kind;
  }
  EXPECT_GE(seen, 4);
}

/// A PNG of 15000 x 15000 black pixels, which are 225 MB decoded and 30 KB in the file.
std::string Bomb() {
  std::vector<uint8_t> bytes;
  cv::imencode(".png", cv::Mat::zeros(15000, 15000, CV_8U), bytes, {cv::IMWRITE_PNG_BILEVEL, 1});
  return std::string(bytes.begin(), bytes.end());
}

TEST(ImageSize, BombsAreNotDecoded) {
  const std::string bomb = Bomb();
  EXPECT_LT(bomb.size(), size_t(1) << 17);
  const LimitsScope scope("image_pixels=1000000");
  Datum datum;
  datum.set_encoded(true);
  datum.set_data(bomb);
  const std::string wanted = ": an image of 15000 x 15000 pixels asks for 225000000, and the limit";
  ExpectContains(ErrorOf([&] { DecodeDatumToCVMatNative(datum); }), "the record" + wanted);
  ExpectContains(ErrorOf([&] { DecodeDatumToCVMat(datum, true); }), "the record" + wanted);
  const std::string file = NewFile(bomb);
  Datum read;
  ExpectContains(ErrorOf([&] { ReadImageToDatum(file, 0, 8, 8, true, &read); }), file + wanted);
  ExpectContains(ErrorOf([&] { ReadImageToCVMat(file); }), file + wanted);
}

TEST(ImageSize, OfResizedImagesIsLimited) {
  std::vector<uint8_t> bytes;
  cv::imencode(".png", cv::Mat::zeros(3, 4, CV_8U), bytes);
  const std::string file = NewFile(std::string(bytes.begin(), bytes.end()));
  ExpectContains(ErrorOf([&] { ReadImageToCVMat(file, 100000, 100000); }),
                 "an image of 100000 x 100000 pixels asks for 10000000000");
}

#endif

}  // namespace
}  // namespace caffe
