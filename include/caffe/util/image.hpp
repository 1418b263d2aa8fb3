#ifndef CAFFE_UTIL_IMAGE_HPP_
#define CAFFE_UTIL_IMAGE_HPP_

#include <string>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"

// OpenCV's old names (CV_LOAD_IMAGE_COLOR) where it still has them.
#if defined(USE_OPENCV) && __has_include(<opencv2/imgcodecs/legacy/constants_c.h>)
#include <opencv2/imgcodecs/legacy/constants_c.h>
#endif

namespace caffe {

// Images in files and records. Heights and widths of 0 leave the size as it is; channels are in
// OpenCV's order: blue, green, red. Pixels lie as the file stores them: the orientation that a
// camera noted in EXIF is not applied. In a library without OpenCV only ReadFileToDatum is there.

/// A file's bytes as an encoded record. False if the file cannot be read.
bool ReadFileToDatum(const string& filename, const int label, Datum* datum);
inline bool ReadFileToDatum(const string& filename, Datum* datum) {
  return ReadFileToDatum(filename, -1, datum);
}

/// An image as a record: its bytes, channels outermost; with `encoding` ("png", "jpg"), the file
/// as it is or recompressed. False if the file cannot be read as an image.
bool ReadImageToDatum(const string& filename, const int label, const int height, const int width,
                      const bool is_color, const string& encoding, Datum* datum);
inline bool ReadImageToDatum(const string& filename, const int label, const int height,
                             const int width, const bool is_color, Datum* datum) {
  return ReadImageToDatum(filename, label, height, width, is_color, "", datum);
}
inline bool ReadImageToDatum(const string& filename, const int label, const int height,
                             const int width, Datum* datum) {
  return ReadImageToDatum(filename, label, height, width, true, datum);
}
inline bool ReadImageToDatum(const string& filename, const int label, const bool is_color,
                             Datum* datum) {
  return ReadImageToDatum(filename, label, 0, 0, is_color, datum);
}
inline bool ReadImageToDatum(const string& filename, const int label, Datum* datum) {
  return ReadImageToDatum(filename, label, 0, 0, true, datum);
}
inline bool ReadImageToDatum(const string& filename, const int label, const string& encoding,
                             Datum* datum) {
  return ReadImageToDatum(filename, label, 0, 0, true, encoding, datum);
}

/// Replaces an encoded record by its pixels; false, and nothing happens, if it is not encoded.
bool DecodeDatumNative(Datum* datum);
bool DecodeDatum(Datum* datum, bool is_color);

#ifdef USE_OPENCV

/// An empty Mat, with a logged error, if the file cannot be read as an image.
cv::Mat ReadImageToCVMat(const string& filename, const int height, const int width,
                         const bool is_color);
cv::Mat ReadImageToCVMat(const string& filename, const int height, const int width);
cv::Mat ReadImageToCVMat(const string& filename, const bool is_color);
cv::Mat ReadImageToCVMat(const string& filename);

/// The image in an encoded record; Native keeps its number of channels. Throws Error if the
/// bytes are not an image.
cv::Mat DecodeDatumToCVMatNative(const Datum& datum);
cv::Mat DecodeDatumToCVMat(const Datum& datum, bool is_color);

void CVMatToDatum(const cv::Mat& cv_img, Datum* datum);

#endif  // USE_OPENCV

}  // namespace caffe

#endif  // CAFFE_UTIL_IMAGE_HPP_
