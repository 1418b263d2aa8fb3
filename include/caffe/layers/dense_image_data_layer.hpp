#ifndef CAFFE_DENSE_IMAGE_DATA_LAYER_HPP_
#define CAFFE_DENSE_IMAGE_DATA_LAYER_HPP_

#include <string>
#include <vector>

#include "caffe/layers/image_list_layer.hpp"

namespace caffe {

/// SegNet's input: batches of images with an image of labels each (Badrinarayanan, Kendall and
/// Cipolla 2015). A line of the list is "image labels", two paths without spaces. Tops: images
/// (batch_size, channels, height, width) as transform_param makes them; labels (batch_size, 1,
/// height / f, width / f), the grey values of the second image as they are, f being
/// label_divide_factor (ENet's). Both are resized to new_height x new_width first, the labels
/// without interpolation, and are cropped and mirrored alike. SegNet's own mirror, crop_height,
/// crop_width and mean_file mean those of transform_param.
template <typename Dtype>
class DenseImageDataLayer : public ImageListLayer<Dtype, std::string> {
 public:
  explicit DenseImageDataLayer(const LayerParameter& param);
  ~DenseImageDataLayer() override { this->StopInternalThread(); }
  void DataLayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "DenseImageData"; }

 protected:
  void load_batch(Batch<Dtype>* batch) override;
  std::pair<std::string, std::string> ParseLine(const std::string& line) const override;

 private:
  cv::Mat ReadImage(const std::string& file) const;
  cv::Mat ReadLabels(const std::string& file, const cv::Mat& image) const;
};

}  // namespace caffe

#endif  // CAFFE_DENSE_IMAGE_DATA_LAYER_HPP_
