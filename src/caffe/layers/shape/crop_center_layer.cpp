#include "caffe/layers/crop_center_layer.hpp"

#include "caffe/layers/layer_shapes.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfCropCenter(const LayerParameter& layer,
                                         const std::vector<Shape>& bottoms) {
  const CropCenterParameter& param = layer.crop_center_param();
  Shape shape = bottoms.at(0);
  const int axes = static_cast<int>(shape.size());
  Require(param.crop_size_size() == axes, Error::Field{"crop_center_param"},
          ": crop_size is given ", param.crop_size_size(), " times: give it once for each of the ",
          axes, " axes of the bottom of shape ", ShapeString(shape));
  for (int i = 0; i < axes; ++i) {
    const int64_t cut = param.crop_size(i);
    Require(2 * cut < shape[i], Error::Field{"crop_center_param"}, ": crop_size ", cut,
            ", cut off at both ends, leaves nothing of axis ", i, " of the bottom of shape ",
            ShapeString(bottoms[0]));
    shape[i] -= static_cast<int>(2 * cut);
  }
  return {shape};
}

const bool crop_center_registered = OperationTable::Add(Operation("CropCenter")
                                                            .Shapes(TopShapesOfCropCenter)
                                                            .BackwardReads(Operation::kNothing)
                                                            .Native()
                                                            .Homogeneous()
                                                            .TypeAgnostic());

}  // namespace

template <typename Dtype>
void CropCenterLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  top[0]->Reshape(TopShapesOfCropCenter(this->layer_param_, ShapesOf(bottom))[0]);
  const auto& sizes = this->layer_param_.crop_center_param().crop_size();
  this->offsets_.assign(sizes.begin(), sizes.end());
}

INSTANTIATE_CLASS(CropCenterLayer);
REGISTER_LAYER_CLASS(CropCenter);

}  // namespace caffe
