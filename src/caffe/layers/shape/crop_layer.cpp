#include "caffe/layers/crop_layer.hpp"

#include <numeric>

#include "caffe/kernels/elementwise.hpp"
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
  Require(given <= 1 || given == cropped, "crop_param: offset is given ", given,
          " times: give it once, or once for each of the ", cropped, " axes from axis ", axis,
          " on");
  std::vector<int> offsets(bottom.size(), 0);
  for (int i = 0; i < cropped; ++i) {
    const int64_t offset = given == 0 ? 0 : param.offset(given == 1 ? 0 : i);
    const int k = axis + i;
    Require(offset + reference[k] <= bottom[k], "crop_param: offset ", offset, " and extent ",
            reference[k], " of bottom 1 reach behind the extent ", bottom[k], " of axis ", k,
            " of bottom 0");
    offsets[k] = static_cast<int>(offset);
  }
  return offsets;
}

namespace {

std::vector<Shape> TopShapes(const LayerParameter& layer, const std::vector<Shape>& bottoms) {
  CropOffsets(layer.crop_param(), bottoms.at(0), bottoms.at(1));
  Shape top = bottoms[0];
  const int axis = CheckedAxis("crop_param: axis", layer.crop_param().axis(), top);
  std::copy(bottoms[1].begin() + axis, bottoms[1].end(), top.begin() + axis);
  return {top};
}

const bool registered = OperationTable::Add(Operation("Crop")
                                                .ShapeBottom()
                                                .Shapes(TopShapes)
                                                .BackwardReads(Operation::kNothing)
                                                .Native()
                                                .Homogeneous()
                                                .TypeAgnostic());

}  // namespace

template <typename Dtype>
void CropLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                               const vector<Blob<Dtype>*>& top) {
  offsets_ = CropOffsets(this->layer_param_.crop_param(), bottom[0]->shape(), bottom[1]->shape());
  top[0]->Reshape(TopShapes(this->layer_param_, ShapesOf(bottom))[0]);
}

template <typename Dtype>
void CropLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  const kernels::Strides strides = kernels::ContiguousStrides(bottom[0]->shape());
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template cpu_data_as<T>() + bottom[0]->offset(offsets_);
    kernels::CopyStrided(top[0]->shape(), x, strides, top[0]->template overwrite_cpu_data_as<T>(),
                         kernels::ContiguousStrides(top[0]->shape()));
  });
}

template <typename Dtype>
void CropLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                    const vector<bool>& propagate_down,
                                    const vector<Blob<Dtype>*>& bottom) {
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    using G = AccumulatorType<D>;
    for (size_t i = 0; i < bottom.size(); ++i) {
      if (!propagate_down[i]) continue;
      kernels::Set(bottom[i]->count(), G(0), bottom[i]->template overwrite_cpu_diff_as<D>());
    }
    if (!propagate_down[0]) return;
    D* dx = bottom[0]->template mutable_cpu_diff_as<D>() + bottom[0]->offset(offsets_);
    kernels::CopyStrided(top[0]->shape(), top[0]->template cpu_diff_as<D>(),
                         kernels::ContiguousStrides(top[0]->shape()), dx,
                         kernels::ContiguousStrides(bottom[0]->shape()));
  });
}

INSTANTIATE_CLASS(CropLayer);
REGISTER_LAYER_CLASS(Crop);

}  // namespace caffe
