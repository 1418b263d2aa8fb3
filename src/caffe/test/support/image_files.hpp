#ifndef CAFFE_TEST_IMAGE_FILES_HPP_
#define CAFFE_TEST_IMAGE_FILES_HPP_

#ifdef USE_OPENCV

#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <string>
#include <vector>

#include "caffe/test/support/test_files.hpp"

namespace caffe {

/// Value (h, w) of channel c is 50 c + 10 h + w + `first`.
inline cv::Mat CountingImage(int channels, int height, int width, int first = 0) {
  cv::Mat image(height, width, CV_8UC(channels));
  for (int h = 0; h < height; ++h) {
    for (int w = 0; w < width; ++w) {
      for (int c = 0; c < channels; ++c) {
        image.ptr<uint8_t>(h)[w * channels + c] = static_cast<uint8_t>(50 * c + 10 * h + w + first);
      }
    }
  }
  return image;
}

/// The path of a new file, which is read back as it is.
inline std::string NewImage(const cv::Mat& image) {
  const std::string path = NewFileName() + ".png";
  cv::imwrite(path, image);
  return path;
}

/// A JPEG of this image with EXIF that says: turn it by a quarter clockwise to show it (orientation
/// 6). Lossy.
inline std::string JpegWithOrientation(const cv::Mat& image) {
  std::vector<uint8_t> bytes;
  cv::imencode(".jpg", image, bytes, {cv::IMWRITE_JPEG_QUALITY, 100});
  const std::string jpeg(bytes.begin(), bytes.end());
  // APP1 right behind the start of the image: TIFF in little-endian order, with one entry.
  const std::string app1(
      "\xff\xe1\x00\x22"
      "Exif\0\0"
      "II*\0\x08\0\0\0"
      "\x01\0"
      "\x12\x01\x03\0\x01\0\0\0\x06\0\0\0"
      "\0\0\0\0",
      36);
  return jpeg.substr(0, 2) + app1 + jpeg.substr(2);
}

/// A line of a list of images with their label images, both in new files.
inline std::string NewImageAndLabels(const cv::Mat& image, const cv::Mat& labels) {
  return NewImage(image) + " " + NewImage(labels) + "\n";
}

/// A list of `count` grey images that are their own labels; the first value of each one is `step`
/// above that of the one before.
inline std::string NewListOfOwnLabels(int step, int count, int height, int width) {
  std::string lines;
  for (int i = 0; i < count; ++i) {
    const cv::Mat image = CountingImage(1, height, width, step * i);
    lines += NewImageAndLabels(image, image);
  }
  return NewFile(lines);
}

}  // namespace caffe

#endif  // USE_OPENCV

#endif  // CAFFE_TEST_IMAGE_FILES_HPP_
