#include "caffe/layers/crop_layer.hpp"

#include "caffe/kernels/strided_copy.hpp"
#include "caffe/layers/layer_shapes.hpp"

namespace caffe {

std::vector<int> CropOffsets(const CropParameter& param, const Shape& bottom,
                             const Shape& reference) {
  Require(bottom.size() == reference.size(),
          "Crop needs bottoms of the same number of axes: ", "bottom 0 is ", ShapeString(bottom),
          ", bottom 1 is ", ShapeString(reference));
  const int axis = CheckedAxis("crop_param: axis", param.axis(), bottom);
  const int cropped = static_cast<int>(bottom.size()) - axis;
  const int given = param.offset_size();
  Require(given <= 1 || given == cropped, Error::Field{"crop_param"}, ": offset is given ", given,
          " times: give it once, or once for each of the ", cropped, " axes from axis ", axis,
          " on");
  std::vector<int> offsets(bottom.size(), 0);
  for (int i = 0; i < cropped; ++i) {
    const int64_t offset = given == 0 ? 0 : param.offset(given == 1 ? 0 : i);
    const int k = axis + i;
    Require(offset + reference[k] <= bottom[k], Error::Field{"crop_param"}, ": offset ", offset,
            " and extent ", reference[k], " of bottom 1 reach behind the extent ", bottom[k],
            " of axis ", k, " of bottom 0");
    offsets[k] = static_cast<int>(offset);
  }
  return offsets;
}

namespace {

std::vector<Shape> TopShapesOfCrop(const LayerParameter& layer, const std::vector<Shape>& bottoms) {
  CropOffsets(layer.crop_param(), bottoms.at(0), bottoms.at(1));
  Shape top = bottoms[0];
  const int axis = CheckedAxis("crop_param: axis", layer.crop_param().axis(), top);
  std::copy(bottoms[1].begin() + axis, bottoms[1].end(), top.begin() + axis);
  return {top};
}

const bool crop_registered = OperationTable::Add(Operation("Crop")
                                                     .ShapeBottoms({1})
                                                     .Shapes(TopShapesOfCrop)
                                                     .BackwardReads(Operation::kNothing)
                                                     .Native()
                                                     .Homogeneous()
                                                     .TypeAgnostic());

}  // namespace

template <typename Dtype>
void CropLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                               const vector<Blob<Dtype>*>& top) {
  offsets_ = CropOffsets(this->layer_param_.crop_param(), bottom[0]->shape(), bottom[1]->shape());
  StridedLayer<Dtype>::Reshape(bottom, top);
}

template <typename Dtype>
vector<StridedPart> CropLayer<Dtype>::Parts(const vector<Shape>& bottoms, const Shape& top) const {
  StridedPart part = StridedPart::WholeTop(top, kernels::ContiguousStrides(bottoms[0]));
  for (size_t i = 0; i < top.size(); ++i) part.first_in_bottom += offsets_[i] * part.in_bottom[i];
  return {part};
}

INSTANTIATE_CLASS(CropLayer);
REGISTER_LAYER_CLASS(Crop);

}  // namespace caffe
