#include "caffe/layers/reshape_layer.hpp"

#include "caffe/layers/layer_shapes.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfReshape(const LayerParameter& layer,
                                      const std::vector<Shape>& bottoms) {
  const ReshapeParameter& param = layer.reshape_param();
  const Shape& bottom = bottoms.at(0);
  const int axes = static_cast<int>(bottom.size());
  const int first = param.axis() < 0 ? axes + 1 + param.axis() : param.axis();
  Require(first >= 0 && first <= axes, Error::Field{"reshape_param"}, ": axis ", param.axis(),
          " is out of range for a bottom of shape ", ShapeString(bottom));
  Require(param.num_axes() >= -1, Error::Field{"reshape_param"},
          ": num_axes must be -1 or more, got ", param.num_axes());
  const int end = param.num_axes() == -1 ? axes : first + param.num_axes();
  Require(end <= axes, Error::Field{"reshape_param"}, ": ", param.num_axes(), " axes from axis ",
          first, " on are more than a bottom of shape ", ShapeString(bottom), " has");

  Shape top(bottom.begin(), bottom.begin() + first);
  int inferred = -1;
  for (int i = 0; i < param.shape().dim_size(); ++i) {
    const int64_t dim = param.shape().dim(i);
    Require(dim >= -1 && dim <= INT_MAX, Error::Field{"reshape_param"}, ": shape has dim ", dim,
            Error::Remedy{"give an extent, 0 (the bottom's) or -1 (what is left)"});
    if (dim == 0) {
      Require(first + i < axes, Error::Field{"reshape_param"}, ": dim 0 of shape number ", i,
              " would copy axis ", first + i, " of a bottom of shape ", ShapeString(bottom));
      top.push_back(bottom[first + i]);
    } else if (dim == -1) {
      Require(inferred < 0, Error::Field{"reshape_param"}, ": shape has more than one dim -1");
      inferred = static_cast<int>(top.size());
      top.push_back(1);
    } else {
      top.push_back(static_cast<int>(dim));
    }
  }
  top.insert(top.end(), bottom.begin() + end, bottom.end());

  const size_t count = CountOf(bottom, 0, bottom.size());
  double size = 1;  // the extents may be anything: a product of integers could overflow
  for (const int extent : top) size *= extent;
  if (inferred >= 0) {
    Require(size > 0 && size <= INT_MAX && count % static_cast<size_t>(size) == 0,
            Error::Field{"reshape_param"}, ": dim -1 cannot make shape ", ShapeString(top),
            " hold a bottom of shape ", ShapeString(bottom));
    top[inferred] = static_cast<int>(count / static_cast<size_t>(size));
  } else {
    Require(size == static_cast<double>(count), Error::Field{"reshape_param"},
            ": a bottom of shape ", ShapeString(bottom), " does not fit into shape ",
            ShapeString(top));
  }
  return {top};
}

const bool reshape_registered = OperationTable::Add(Operation("Reshape")
                                                        .CpuOnly(kSharesMemory)
                                                        .Shapes(TopShapesOfReshape)
                                                        .BackwardReads(Operation::kNothing)
                                                        .SharesBottom()
                                                        .Native()
                                                        .Homogeneous()
                                                        .TypeAgnostic());

}  // namespace

INSTANTIATE_CLASS(ReshapeLayer);
REGISTER_LAYER_CLASS(Reshape);

}  // namespace caffe
