#ifndef CAFFE_DETECTNET_TRANSFORM_LAYER_HPP_
#define CAFFE_DETECTNET_TRANSFORM_LAYER_HPP_

#include <memory>
#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// DetectNet's input (NVIDIA DIGITS): augments images with objects, and makes the
/// labels that the net is to predict at each place of a grid.
///
/// Bottoms: images (N, 3, h, w) of values 0 to 255; objects (N, 1, R, 16), whose first row is
/// (number of objects, 16, ...) and whose others are (x, y, width, height, angle, class, ?, ?,
/// truncated, ...) in pixels.
/// Tops: images (N, 3, image_size_y, image_size_x), less the mean of transform_param;
/// and (N, 8 + classes, image_size_y / stride, image_size_x / stride): at each place that an
/// object's coverage (its box shrunk around its middle by scale_cvg, see gridbox_type) touches: 1;
/// the object's left, top, right and bottom from there; 1 / width, 1 / height; the share of a place
/// in the coverage's area (with obj_norm; at least 1 without); and 1 for the class.
///
/// In TEST phase images are resized to the grid's; in TRAIN phase
/// detectnet_augmentation_param changes hue and saturation, mirrors, scales, turns and cuts them at
/// random, and the objects with them.
template <typename Dtype>
class DetectNetTransformationLayer : public Layer<Dtype> {
 public:
  explicit DetectNetTransformationLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  ~DetectNetTransformationLayer() override;
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "DetectNetTransformation"; }
  int ExactNumBottomBlobs() const override { return 2; }
  int ExactNumTopBlobs() const override { return 2; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>&, const vector<bool>&,
                    const vector<Blob<Dtype>*>&) override {}

 private:
  struct Object;
  struct Augmentation;

  Dtype Draw();
  Augmentation DrawAugmentation(int width, int height);
  vector<Object> ReadObjects(const Blob<Dtype>& objects, int item) const;
  void TransformImage(const Augmentation& augmentation, const Blob<Dtype>& bottom, int item,
                      Dtype* out) const;
  void TransformObjects(const Augmentation& augmentation, int width, int height,
                        vector<Object>* objects) const;
  void WriteGrid(const vector<Object>& objects, const vector<int>& grid_shape, Dtype* grid) const;
  void WriteObject(const Object& object, const vector<int>& grid_shape, Dtype* grid) const;

  shared_ptr<Caffe::RNG> rng_;
  Blob<Dtype> data_mean_;
};

}  // namespace caffe

#endif  // CAFFE_DETECTNET_TRANSFORM_LAYER_HPP_
