// libcaffe_video.so: OpenCV's videoio for libcaffe, which loads it when a video is first read.
#include <memory>
#include <opencv2/core.hpp>
#include <opencv2/videoio.hpp>
#include <opencv2/videoio/registry.hpp>

#include "caffe/io/video/video_reader.hpp"

namespace caffe {
namespace {

class CaptureReader : public VideoReader {
 public:
  bool Open(const char* file, int device) { return file ? OpenFile(file) : capture_.open(device); }
  // The frame's memory is the capture's until it is copied.
  bool Read(cv::Mat* frame) override {
    cv::Mat own;
    if (!capture_.read(own) || own.empty()) return false;
    own.copyTo(*frame);
    return true;
  }
  bool Skip() override { return capture_.grab(); }

 private:
  // gPhoto2 would take the name for a camera's, and look for one on all buses.
  bool OpenFile(const char* file) {
    for (const cv::VideoCaptureAPIs api : cv::videoio_registry::getStreamBackends()) {
      if (api != cv::CAP_GPHOTO2 && capture_.open(file, api)) return true;
    }
    return false;
  }

  cv::VideoCapture capture_;
};

}  // namespace
}  // namespace caffe

extern "C" __attribute__((visibility("default"))) caffe::VideoReader* caffe_video_open(
    const char* file, int device) try {
  auto reader = std::make_unique<caffe::CaptureReader>();
  return reader->Open(file, device) ? reader.release() : nullptr;
} catch (const cv::Exception&) {
  return nullptr;
}
