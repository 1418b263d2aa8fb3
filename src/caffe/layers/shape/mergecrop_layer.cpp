#include "caffe/layers/mergecrop_layer.hpp"

#include "caffe/kernels/strided_copy.hpp"
#include "caffe/layers/layer_shapes.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfMergecrop(const LayerParameter&, const std::vector<Shape>& bottoms) {
  const Shape &a = bottoms.at(0), &b = bottoms.at(1);
  bool fits = a.size() >= 2 && a.size() == b.size() && a[0] == b[0];
  for (size_t i = 2; fits && i < a.size(); ++i) fits = a[i] <= b[i];
  Require(fits, "MergeCrop takes bottoms (N, C, ...) of one batch, the second one at least as ",
          "large as the first: they are ", ShapeString(a), " and ", ShapeString(b));
  Shape top = a;
  top[1] = CheckedExtent("MergeCrop", int64_t(a[1]) + b[1]);
  return {top};
}

const bool mergecrop_registered = OperationTable::Add(Operation("MergeCrop")
                                                          .Shapes(TopShapesOfMergecrop)
                                                          .BackwardReads(Operation::kNothing)
                                                          .Native()
                                                          .Homogeneous()
                                                          .TypeAgnostic());

void ReadFlags(const char* name, const google::protobuf::RepeatedField<bool>& given, bool* flags) {
  Require(given.empty() || given.size() == 2, Error::Field{"mergecrop_param"}, ": ", name,
          " is given ", given.size(), " time(s)",
          Error::Remedy{"give it once per bottom, or not at all"});
  std::copy(given.begin(), given.end(), flags);
}

}  // namespace

template <typename Dtype>
void MergeCropLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) {
  ReadFlags("forward", this->layer_param_.mergecrop_param().forward(), forward_);
  ReadFlags("backward", this->layer_param_.mergecrop_param().backward(), backward_);
}

template <typename Dtype>
vector<StridedPart> MergeCropLayer<Dtype>::Parts(const vector<Shape>& bottoms,
                                                 const Shape& top) const {
  vector<StridedPart> parts;
  for (size_t i = 0; i < 2; ++i) {
    StridedPart part = StridedPart::WholeTop(top, kernels::ContiguousStrides(bottoms[i]));
    part.shape[1] = bottoms[i][1];
    part.first_in_top = i == 0 ? 0 : bottoms[0][1] * part.in_top[1];
    for (size_t axis = 2; axis < top.size(); ++axis) {
      part.first_in_bottom += (bottoms[i][axis] - top[axis]) / 2 * part.in_bottom[axis];
    }
    part.forward = forward_[i];
    part.backward = backward_[i];
    parts.push_back(part);
  }
  return parts;
}

INSTANTIATE_CLASS(MergeCropLayer);
REGISTER_LAYER_CLASS(MergeCrop);

}  // namespace caffe
