#ifndef CAFFE_VIDEO_VIDEO_READER_HPP_
#define CAFFE_VIDEO_VIDEO_READER_HPP_

#include <memory>
#include <string>

namespace cv {
class Mat;
}

namespace caffe {

/// The frames of a video, one after another: images of 8 bits, in color.
class VideoReader {
 public:
  virtual ~VideoReader() = default;
  /// False behind the last frame.
  virtual bool Read(cv::Mat* frame) = 0;
  /// Goes past a frame, likewise.
  virtual bool Skip() = 0;
};

/// A video file, or a pattern of image files like "frame_%04d.png". Throws Error if it cannot be
/// opened, or where libcaffe_video.so, which needs OpenCV's videoio, cannot be loaded: that is a
/// library of its own because videoio brings about a hundred others along.
std::unique_ptr<VideoReader> OpenVideo(const std::string& file);
/// The camera with that number, likewise.
std::unique_ptr<VideoReader> OpenCamera(int device);

/// What libcaffe_video.so exports under kVideoPluginOpen: a reader of `file`, or of the camera
/// `device` where that is null; nullptr if it cannot be opened.
using VideoPluginOpen = VideoReader* (*)(const char* file, int device);
constexpr char kVideoPluginOpen[] = "caffe_video_open";

}  // namespace caffe

#endif  // CAFFE_VIDEO_VIDEO_READER_HPP_
