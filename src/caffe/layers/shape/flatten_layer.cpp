#include "caffe/layers/flatten_layer.hpp"

namespace caffe {
namespace {

int Canonical(const char* name, int axis, const Shape& shape) {
  const int axes = static_cast<int>(shape.size());
  Require(axis >= -axes && axis < axes, "flatten_param: ", name, " ", axis,
          " is out of range for a bottom of shape ", ShapeString(shape));
  return axis < 0 ? axis + axes : axis;
}

std::vector<Shape> TopShapes(const LayerParameter& layer, const std::vector<Shape>& bottoms) {
  const Shape& bottom = bottoms.at(0);
  const int begin = Canonical("axis", layer.flatten_param().axis(), bottom);
  const int end = Canonical("end_axis", layer.flatten_param().end_axis(), bottom);
  Require(begin <= end, "flatten_param: axis ", begin, " lies behind end_axis ", end);
  Shape top(bottom.begin(), bottom.begin() + begin);
  int64_t flat = 1;
  for (int i = begin; i <= end; ++i) {
    flat *= bottom[i];
    Require(flat <= INT_MAX, "Flatten: the axes ", begin, " to ", end, " of a bottom of shape ",
            ShapeString(bottom), " have more than 2^31 - 1 entries");
  }
  top.push_back(static_cast<int>(flat));
  top.insert(top.end(), bottom.begin() + end + 1, bottom.end());
  return {top};
}

const bool registered = OperationTable::Add(Operation("Flatten")
                                                .CpuOnly(kSharesMemory)
                                                .Shapes(TopShapes)
                                                .BackwardReads(Operation::kNothing)
                                                .Native()
                                                .Homogeneous()
                                                .TypeAgnostic());

}  // namespace

template <typename Dtype>
void FlattenLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top) {
  Require(top[0] != bottom[0], "Flatten cannot work in place: name its top differently");
  top[0]->Reshape(TopShapes(this->layer_param_, {bottom[0]->shape()})[0]);
}

template <typename Dtype>
void FlattenLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  top[0]->ShareData(*bottom[0]);
}

template <typename Dtype>
void FlattenLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                       const vector<bool>& propagate_down,
                                       const vector<Blob<Dtype>*>& bottom) {
  if (propagate_down[0]) bottom[0]->ShareDiff(*top[0]);
}

INSTANTIATE_CLASS(FlattenLayer);
REGISTER_LAYER_CLASS(Flatten);

}  // namespace caffe
