#ifndef CAFFE_WINDOW_DATA_LAYER_HPP_
#define CAFFE_WINDOW_DATA_LAYER_HPP_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "caffe/layers/base_data_layer.hpp"

namespace caffe {

/// R-CNN's input (Girshick et al. 2014): windows of images, drawn at random. The window file is a
/// run of
///
///     # image_number (from 0 on)
///     path
///     channels (3)
///     height
///     width
///     number_of_windows
///     label overlap x1 y1 x2 y2        (one line per window; corners are inside)
///
/// A window whose overlap with an object is fg_threshold or more is foreground, one below
/// bg_threshold background, which has label 0. A batch is (1 - fg_fraction) background windows,
/// then foreground ones. Each is enlarged so that after warping it to crop_size x crop_size there
/// are context_pad pixels around it, made square first if crop_mode is "square"; what lies outside
/// of the image is 0 after the mean is subtracted. Tops: windows (batch_size, 3, crop_size,
/// crop_size), labels (batch_size). Of transform_param crop_size, mirror, scale, bgr2rgb and
/// the means count; what would resize windows or make them grey is refused.
template <typename Dtype>
class WindowDataLayer : public BasePrefetchingDataLayer<Dtype> {
 public:
  explicit WindowDataLayer(const LayerParameter& param) : BasePrefetchingDataLayer<Dtype>(param) {}
  ~WindowDataLayer() override { this->StopInternalThread(); }
  void DataLayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "WindowData"; }
  int ExactNumBottomBlobs() const override { return 0; }
  int ExactNumTopBlobs() const override { return 2; }

 protected:
  virtual unsigned int PrefetchRand();
  void load_batch(Batch<Dtype>* batch) override;
  std::string SourceState() override;
  void SetSourceState(const std::string& state) override;

  enum WindowField { IMAGE_INDEX, LABEL, OVERLAP, X1, Y1, X2, Y2, NUM };

  shared_ptr<Caffe::RNG> prefetch_rng_;
  vector<std::pair<std::string, vector<int>>> image_database_;  // path; channels, height, width
  vector<vector<float>> fg_windows_;
  vector<vector<float>> bg_windows_;
  Blob<Dtype> data_mean_;
  vector<Dtype> mean_values_;
  bool has_mean_file_ = false;
  bool has_mean_values_ = false;
  bool cache_images_ = false;
  vector<std::pair<std::string, Datum>> image_database_cache_;

 private:
  /// Where a window lies in its image and in its item of the batch.
  struct Placement;

  void ReadWindowFile(const std::string& source);
  void ReadImage(std::istream* file, int number);
  void ReadWindow(std::istream* file, int image);
  void LogWindows() const;
  void SetUpMean();
  cv::Mat LoadImage(const vector<float>& window) const;
  Placement PlacementOf(const vector<float>& window, const cv::Mat& image, bool mirror) const;
  void WriteWindow(const vector<float>& window, bool mirror, Dtype* item) const;
};

}  // namespace caffe

#endif  // CAFFE_WINDOW_DATA_LAYER_HPP_
