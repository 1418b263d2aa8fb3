#include "crop_places.hpp"

#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "caffe/error.hpp"

namespace caffe {
namespace {

/// Place y of one blob is place scale * y + shift of another.
struct Places {
  double scale = 1, shift = 0;
  /// Of a third blob, `outer` being from the second one to it.
  Places Then(const Places& outer) const {
    return {outer.scale * scale, outer.scale * shift + outer.shift};
  }
};
using Map = std::array<Places, 2>;  // of rows and columns

/// The centers of a window's positions.
Places WindowPlaces(double kernel, double stride, double pad) {
  return {stride, (kernel - 1) / 2 - pad};
}

Places Inverse(const Places& places) { return {1 / places.scale, -places.shift / places.scale}; }

/// A field of a Convolution that is there once, once for each axis, or as a field of its own.
template <typename Values>
double Extent(const Values& values, bool has_own, double own, int axis, double otherwise) {
  if (has_own) return own;
  if (values.empty()) return otherwise;
  return values.Get(values.size() == 1 ? 0 : axis);
}

std::optional<Map> ConvolutionPlaces(const ConvolutionParameter& p) {
  Map map;
  for (const int axis : {0, 1}) {
    const bool h = axis == 0;
    const double kernel = Extent(p.kernel_size(), h ? p.has_kernel_h() : p.has_kernel_w(),
                                 h ? p.kernel_h() : p.kernel_w(), axis, 0);
    const double stride = Extent(p.stride(), h ? p.has_stride_h() : p.has_stride_w(),
                                 h ? p.stride_h() : p.stride_w(), axis, 1);
    const double pad =
        Extent(p.pad(), h ? p.has_pad_h() : p.has_pad_w(), h ? p.pad_h() : p.pad_w(), axis, 0);
    const double dilation = Extent(p.dilation(), false, 1, axis, 1);
    if (kernel < 1 || stride < 1) return std::nullopt;
    map[axis] = WindowPlaces(dilation * (kernel - 1) + 1, stride, pad);
  }
  return map;
}

std::optional<Map> PoolingPlaces(const PoolingParameter& p) {
  if (p.global_pooling()) return std::nullopt;
  Map map;
  for (const int axis : {0, 1}) {
    const bool h = axis == 0;
    const double kernel = p.has_kernel_size() ? p.kernel_size() : h ? p.kernel_h() : p.kernel_w();
    const bool has_stride = h ? p.has_stride_h() : p.has_stride_w();
    const double stride = !has_stride ? p.stride() : h ? p.stride_h() : p.stride_w();
    const bool has_pad = h ? p.has_pad_h() : p.has_pad_w();
    const double pad = !has_pad ? p.pad() : h ? p.pad_h() : p.pad_w();
    if (kernel < 1 || stride < 1) return std::nullopt;
    map[axis] = WindowPlaces(kernel, stride, pad);
  }
  return map;
}

bool KeepsPlaces(const std::string& type) {
  static constexpr const char* kTypes[] = {
      "AbsVal", "BNLL", "Concat", "Dropout", "Eltwise", "Exp",  "LRN",       "MVN",
      "Power",  "ReLU", "Slice",  "Sigmoid", "Softmax", "TanH", "Threshold", "Split"};
  for (const char* known : kTypes) {
    if (type == known) return true;
  }
  return false;
}

/// Where in its bottoms the places of a layer's tops are; none if they are nowhere.
std::optional<Map> PlacesInBottom(const LayerParameter& layer) {
  if (layer.type() == "Convolution") return ConvolutionPlaces(layer.convolution_param());
  if (layer.type() == "Pooling") return PoolingPlaces(layer.pooling_param());
  if (layer.type() == "Deconvolution") {
    std::optional<Map> map = ConvolutionPlaces(layer.convolution_param());
    if (!map) return map;
    return Map{Inverse((*map)[0]), Inverse((*map)[1])};
  }
  if (layer.type() == "Crop") {
    const CropParameter& crop = layer.crop_param();
    if (crop.axis() != 2) return std::nullopt;
    Map map;
    for (const int axis : {0, 1}) map[axis].shift = Extent(crop.offset(), false, 0, axis, 0);
    return map;
  }
  if (KeepsPlaces(layer.type())) return Map();
  return std::nullopt;
}

/// A blob as one layer leaves it: the layer's number, -1 for a net's input, and the blob's name.
using Version = std::pair<int, std::string>;

Version VersionBefore(const NetParameter& net, int index, const std::string& blob) {
  for (int i = index - 1; i >= 0; --i) {
    for (const std::string& top : net.layer(i).top()) {
      if (top == blob) return {i, blob};
    }
  }
  return {-1, blob};
}

/// All blobs above a bottom of layer `index`, with the bottom's places in them.
std::map<Version, Map> Above(const NetParameter& net, int index, const std::string& blob) {
  std::map<Version, Map> found;
  found[VersionBefore(net, index, blob)] = Map();
  // Layers are in order, so that from the last one up each is complete when its turn comes.
  for (int i = index - 1; i >= 0; --i) {
    const LayerParameter& layer = net.layer(i);
    for (const std::string& top : layer.top()) {
      const auto here = found.find({i, top});
      const std::optional<Map> map = here == found.end() ? std::nullopt : PlacesInBottom(layer);
      if (!map) continue;
      const int bottoms = layer.type() == "Crop" ? 1 : layer.bottom_size();
      for (int b = 0; b < bottoms && b < layer.bottom_size(); ++b) {
        found.insert({VersionBefore(net, i, layer.bottom(b)),
                      {here->second[0].Then((*map)[0]), here->second[1].Then((*map)[1])}});
      }
    }
  }
  return found;
}

}  // namespace

void AlignCrop(NetParameter* net, int index) {
  LayerParameter* layer = net->mutable_layer(index);
  const std::string context = Join("layer '", layer->name(), "' (Crop): ");
  Require(layer->bottom_size() == 2, context, "it needs two bottoms");
  const std::map<Version, Map> from = Above(*net, index, layer->bottom(0));
  const std::map<Version, Map> to = Above(*net, index, layer->bottom(1));
  // The lowest in common.
  auto common = from.end();
  for (auto i = from.begin(); i != from.end(); ++i) {
    if (to.count(i->first)) common = i;
  }
  Require(common != from.end(), context, "its bottoms '", layer->bottom(0), "' and '",
          layer->bottom(1), "' come from no common blob by layers that keep places: give ",
          "crop_param { offset }");
  const Map& to_map = to.at(common->first);
  CropParameter crop;
  for (const int axis : {0, 1}) {
    const Places& a = common->second[axis];
    const Places& b = to_map[axis];
    Require(std::abs(a.scale - b.scale) < 1e-6 * b.scale, context, "its bottoms '",
            layer->bottom(0), "' and '", layer->bottom(1), "' differ in scale by ",
            b.scale / a.scale);
    const double offset = (b.shift - a.shift) / a.scale, whole = std::round(offset);
    Require(std::abs(offset - whole) < 1e-3 && whole >= 0 && whole < 1u << 31, context,
            "its bottoms fit at offset ", offset, ", which is no whole number from 0 on");
    crop.add_offset(static_cast<uint32_t>(whole));
  }
  crop.set_axis(2);
  *layer->mutable_crop_param() = crop;
}

}  // namespace caffe
