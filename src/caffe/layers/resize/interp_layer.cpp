#include "caffe/layers/interp_layer.hpp"

#include <cmath>

#include "caffe/layers/resize/resizing.hpp"

namespace caffe {
namespace {

double Shrunk(double extent, int factor) { return std::floor((extent - 1) / factor) + 1; }
double Zoomed(double extent, int factor) { return extent + (extent - 1) * (factor - 1); }

/// The output's extent for `extent` inputs; `given` is height or width, `other` the extent of the
/// second bottom, 0 if there is none.
double OutputExtent(const InterpParameter& param, int extent, int given, int other) {
  const bool shrinks = param.has_shrink_factor(), zooms = param.has_zoom_factor();
  if (other > 0) return other;
  if (shrinks && !zooms) return Shrunk(extent, param.shrink_factor());
  if (zooms && !shrinks) return Zoomed(extent, param.zoom_factor());
  if (param.has_height()) return given;
  return Zoomed(Shrunk(extent, param.shrink_factor()), param.zoom_factor());
}

Resizing InterpResizing(const InterpParameter& param, const vector<Shape>& bottoms) {
  const Shape& bottom = bottoms.at(0);
  Require(bottom.size() == 4, "Interp takes a bottom of 4 axes (N, C, H, W), not ",
          ShapeString(bottom));
  Require(param.has_height() == param.has_width(), Error::Field{"interp_param"},
          Error::Remedy{"give both height and width"});
  Require(param.shrink_factor() >= 1, Error::Field{"interp_param"},
          ": shrink_factor must be at least 1, got ", param.shrink_factor());
  Require(param.zoom_factor() >= 1, Error::Field{"interp_param"},
          ": zoom_factor must be at least 1, got ", param.zoom_factor());
  Require(param.pad_beg() <= 0 && param.pad_end() <= 0, Error::Field{"interp_param"},
          ": pad_beg and pad_end only cut off: they must not be positive, got ", param.pad_beg(),
          " and ", param.pad_end());
  const bool sized = param.has_height() || param.has_shrink_factor() || param.has_zoom_factor();
  const bool two = bottoms.size() == 2;
  Require(sized != two, Error::Field{"interp_param"}, ": give ", two ? "no" : "one",
          " size (height and width, shrink_factor, zoom_factor) ", two ? "next to" : "or",
          " a second bottom of the wanted size");
  Require(!two || bottoms[1].size() == 4, "Interp takes a second bottom of 4 axes, not ",
          ShapeString(bottoms.back()));
  const auto wanted = [&](int i, const char* name, int given) {
    const int64_t used = int64_t(bottom[i]) + param.pad_beg() + param.pad_end();
    Require(used >= 1, Error::Field{"interp_param"}, ": pad_beg and pad_end leave ", used,
            " of the bottom's ", name, " ", bottom[i]);
    return OutputExtent(param, static_cast<int>(used), given, two ? bottoms[1][i] : 0);
  };
  const ResizedExtents top("interp_param", bottom, wanted(2, "height", param.height()),
                           wanted(3, "width", param.width()));
  const auto axis = [&](int input, int output) {
    return kernels::AlignedAxis(input, -param.pad_beg(), -param.pad_end(), output);
  };
  return {axis(bottom[2], top.height), axis(bottom[3], top.width)};
}

std::vector<Shape> TopShapesOfInterp(const LayerParameter& layer,
                                     const std::vector<Shape>& bottoms) {
  return ResizedShapes(bottoms.at(0), InterpResizing(layer.interp_param(), bottoms));
}

const bool interp_registered = OperationTable::Add(Operation("Interp")
                                                       .Interpolates()
                                                       .ShapeBottoms({1})
                                                       .Shapes(TopShapesOfInterp)
                                                       .BackwardReads(Operation::kNothing)
                                                       .Native()
                                                       .Homogeneous());

}  // namespace

template <typename Dtype>
Resizing InterpLayer<Dtype>::ResizingOf(const vector<Shape>& bottoms) const {
  return InterpResizing(this->layer_param_.interp_param(), bottoms);
}

INSTANTIATE_CLASS(InterpLayer);
REGISTER_LAYER_CLASS(Interp);

}  // namespace caffe
