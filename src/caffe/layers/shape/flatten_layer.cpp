#include "caffe/layers/flatten_layer.hpp"

#include "caffe/layers/layer_shapes.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfFlatten(const LayerParameter& layer,
                                      const std::vector<Shape>& bottoms) {
  const Shape& bottom = bottoms.at(0);
  const int begin = CheckedAxis("flatten_param: axis", layer.flatten_param().axis(), bottom);
  const int end = CheckedAxis("flatten_param: end_axis", layer.flatten_param().end_axis(), bottom);
  Require(begin <= end, Error::Field{"flatten_param"}, ": axis ", begin, " lies behind end_axis ",
          end);
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

const bool flatten_registered = OperationTable::Add(Operation("Flatten")
                                                        .CpuOnly(kSharesMemory)
                                                        .Shapes(TopShapesOfFlatten)
                                                        .BackwardReads(Operation::kNothing)
                                                        .SharesBottom()
                                                        .Native()
                                                        .Homogeneous()
                                                        .TypeAgnostic());

}  // namespace

INSTANTIATE_CLASS(FlattenLayer);
REGISTER_LAYER_CLASS(Flatten);

}  // namespace caffe
