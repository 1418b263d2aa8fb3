#ifndef CAFFE_IMAGE_DATA_LAYER_HPP_
#define CAFFE_IMAGE_DATA_LAYER_HPP_

#include <string>
#include <vector>

#include "caffe/layers/image_list_layer.hpp"

namespace caffe {

/// Batches of the images that a list file names, a line "path label" each (paths may have spaces,
/// labels are whole numbers), again and again, in the list's order or shuffled for each pass. Tops:
/// images (batch_size, channels, height, width) as transform_param makes them, labels
/// (batch_size). Images are resized to new_height x new_width, or to a shorter side of
/// short_side, before that; if they are neither resized nor cropped, all images of a batch have
/// one size.
///
/// One thread reads ahead, `threads` threads decode. Random numbers are drawn in the order of the
/// images, so that the result does not depend on their number.
template <typename Dtype>
class ImageDataLayer : public ImageListLayer<Dtype, int> {
 public:
  explicit ImageDataLayer(const LayerParameter& param) : ImageListLayer<Dtype, int>(param) {}
  ~ImageDataLayer() override { this->StopInternalThread(); }
  void DataLayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "ImageData"; }

 protected:
  void load_batch(Batch<Dtype>* batch) override;
  std::pair<std::string, int> ParseLine(const std::string& line) const override;

 private:
  cv::Mat Read(const std::string& file) const;
};

}  // namespace caffe

#endif  // CAFFE_IMAGE_DATA_LAYER_HPP_
