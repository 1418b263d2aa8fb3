#ifndef CAFFE_IMAGE_SEG_DATA_LAYER_HPP_
#define CAFFE_IMAGE_SEG_DATA_LAYER_HPP_

#include <string>
#include <unordered_map>
#include <vector>

#include "caffe/layers/image_list_layer.hpp"

namespace caffe {

/// DeepLab's input (Chen et al. 2015): batches of images with a label for each pixel, from a list
/// file. What a line has next to the image, image_data_param.label_type says:
///  - PIXEL: a second path, of an image whose grey values are the labels;
///  - IMAGE: a number from 0 to 255, the label of all pixels;
///  - NONE: nothing; all labels are ignore_label.
/// Paths are without spaces.
///
/// Tops: images (batch_size, channels, height, width) as transform_param makes them; labels
/// (batch_size, 1, height, width), cropped and mirrored alike; possibly (batch_size, 1, 1, 2),
/// heights and widths of the images as they were before cropping, at most those of the crop. An
/// image that is smaller than the crop is filled up at its bottom and right: with the mean, which
/// becomes 0 (nearly so, where mean_value is not whole), and labels with ignore_label.
template <typename Dtype>
class ImageSegDataLayer : public ImageListLayer<Dtype, std::string> {
 public:
  explicit ImageSegDataLayer(const LayerParameter& param)
      : ImageListLayer<Dtype, std::string>(param) {}
  ~ImageSegDataLayer() override { this->StopInternalThread(); }
  void DataLayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "ImageSegData"; }
  int ExactNumTopBlobs() const override { return -1; }
  int MinTopBlobs() const override { return 2; }
  int MaxTopBlobs() const override { return 3; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void load_batch(Batch<Dtype>* batch) override;
  std::pair<std::string, std::string> ParseLine(const std::string& line) const override;

 private:
  struct Sample;
  Sample Read(const std::pair<std::string, std::string>& line) const;

  int crop_height_ = 0, crop_width_ = 0;  // 0: not cropped
  /// Heights and widths of each batch's images. All keys are there from the set-up on.
  std::unordered_map<const Batch<Dtype>*, vector<Dtype>> sizes_;
};

}  // namespace caffe

#endif  // CAFFE_IMAGE_SEG_DATA_LAYER_HPP_
