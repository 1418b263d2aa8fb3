#ifndef CAFFE_VIDEO_DATA_LAYER_HPP_
#define CAFFE_VIDEO_DATA_LAYER_HPP_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "caffe/layers/image_list_layer.hpp"

namespace caffe {

class VideoReader;

/// Batches of frames of a video, or of snippets of many videos. Tops: images (batch_size, channels,
/// height, width); possibly labels (batch_size).
///
/// Without video_data_param.source, as in the SSD fork: data_param.batch_size frames in a row of
/// video_file, or of the camera device_id (video_type WEBCAM), skip_frames of them left out before
/// each. Behind a file's last frame the first one follows. Frames are resized by
/// transform_param.resize_param, then transformed; labels are 0. Needs OpenCV's videoio.
///
/// With `source`, as temporal segment networks have it (Wang, Xiong, Wang, Qiao, Lin, Tang and Van
/// Gool 2016): a line of that list is "folder frames label", and the folder has the frames of a
/// video as image files, called by name_pattern. Of each of num_segments equal parts of a video
/// new_length frames in a row are taken, at random in the TRAIN phase, in the middle in the TEST
/// phase; from the first frame on, if the parts are shorter, the last frame again and again if the
/// video is. All are put behind one another as channels: 3 a frame (RGB, in OpenCV's order; 1 with
/// `grayscale`), or 2 (FLOW: x, y). All frames of a video are cut alike: in the TRAIN phase, with
/// multi_scale, to one of the sizes that scale_ratios are of the shorter side, height and width at
/// most max_distort ratios apart, resized to crop_size then; with fix_crop at a corner or in the
/// middle, with more_fix_crop also half-way between. With is_flow a mirrored x becomes 255 - x.
/// mean_value may be given once, for each channel of a frame, or for all channels.
template <typename Dtype>
class VideoDataLayer : public ImageListLayer<Dtype, std::pair<int, int>> {
 public:
  explicit VideoDataLayer(const LayerParameter& param);
  ~VideoDataLayer() override;
  void DataLayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "VideoData"; }
  int ExactNumTopBlobs() const override { return -1; }
  int MinTopBlobs() const override { return 1; }
  int MaxTopBlobs() const override { return 2; }

 protected:
  using typename ImageListLayer<Dtype, std::pair<int, int>>::Line;  // folder, (frames, label)

  void load_batch(Batch<Dtype>* batch) override;
  Line ParseLine(const std::string& line) const override;
  std::string SourceState() override;
  void SetSourceState(const std::string& state) override;

 private:
  /// What is drawn for one video.
  struct SnippetDraws {
    vector<uint32_t> offsets;  // one a segment
    uint32_t size = 0, height = 0, width = 0, mirror = 0;
  };

  bool reads_snippets() const { return param().has_source(); }
  const VideoDataParameter& param() const { return this->layer_param_.video_data_param(); }
  int batch_size() const;
  uint32_t RawDraw();

  void SetUpSnippets();
  SnippetDraws DrawSnippets();
  vector<int> SnippetStarts(int frames, const SnippetDraws& draws) const;
  /// Which part of a video's frames is taken.
  struct Cut;
  Cut CutOf(int frame_height, int frame_width, const SnippetDraws& draws) const;
  /// All frames of a video as channels of one image.
  cv::Mat ReadSnippets(const Line& line, const SnippetDraws& draws) const;
  void LoadSnippets(Batch<Dtype>* batch);

  void OpenReader();
  cv::Mat NextFrame();
  void LoadFrames(Batch<Dtype>* batch);

  void ShapeTops(const cv::Mat& first, const vector<Blob<Dtype>*>& top);

  std::unique_ptr<Caffe::RNG> random_;
  std::unique_ptr<VideoReader> reader_;
  uint64_t position_ = 0;  // frames of the file that were read or skipped
};

}  // namespace caffe

#endif  // CAFFE_VIDEO_DATA_LAYER_HPP_
