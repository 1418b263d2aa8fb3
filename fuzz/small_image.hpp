#ifndef CAFFE_FUZZ_SMALL_IMAGE_HPP_
#define CAFFE_FUZZ_SMALL_IMAGE_HPP_

#include <opencv2/imgcodecs.hpp>
#include <string>
#include <vector>

namespace caffe::fuzz {

/// An image of 12 x 10 pixels, encoded: "png", "jpg", ...
inline std::string SmallImage(const std::string& form) {
  cv::Mat image(10, 12, CV_8UC3);
  for (int y = 0; y < image.rows; ++y) {
    for (int x = 0; x < image.cols; ++x) image.at<cv::Vec3b>(y, x) = cv::Vec3b(y * 9, x * 9, 77);
  }
  std::vector<uint8_t> bytes;
  cv::imencode("." + form, image, bytes);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace caffe::fuzz

#endif  // CAFFE_FUZZ_SMALL_IMAGE_HPP_
