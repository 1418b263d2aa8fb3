#include "caffe/layers/prior_box_layer.hpp"

#include <cmath>

namespace caffe {
namespace {

using Extents = std::vector<std::pair<float, float>>;  // width and height

/// 1, then each aspect_ratio and its inverse, none twice.
std::vector<float> AspectRatios(const PriorBoxParameter& param) {
  std::vector<float> ratios = {1.f};
  for (const float ratio : param.aspect_ratio()) {
    Require(ratio > 0, Error::Field{"prior_box_param"}, ": aspect_ratio must be positive, got ",
            ratio);
    const bool known = std::any_of(ratios.begin(), ratios.end(),
                                   [=](float r) { return std::fabs(ratio - r) < 1e-6; });
    if (known) continue;
    ratios.push_back(ratio);
    if (param.flip()) ratios.push_back(1 / ratio);
  }
  return ratios;
}

/// A side in whole pixels.
float Side(float size, const char* field) {
  Require(size >= 1 && size < 1e9f, Error::Field{"prior_box_param"}, ": ", field,
          " is in pixels and at least 1, got ", size);
  return std::floor(size);
}

/// The boxes that min_size, max_size and aspect_ratio describe.
Extents BoxesFromSizes(const PriorBoxParameter& param) {
  const int sizes = param.min_size_size();
  Require(sizes > 0, Error::Field{"prior_box_param"}, ": min_size is missing");
  Require(param.max_size_size() == 0 || param.max_size_size() == sizes,
          Error::Field{"prior_box_param"}, ": max_size is given ", param.max_size_size(),
          " times for ", sizes, " min_size", Error::Remedy{"give one for each, or none"});
  const std::vector<float> ratios = AspectRatios(param);
  Extents boxes;
  for (int i = 0; i < sizes; ++i) {
    const float min_size = Side(param.min_size(i), "min_size");
    boxes.emplace_back(min_size, min_size);
    if (param.max_size_size() > 0) {
      Require(param.max_size(i) > param.min_size(i), Error::Field{"prior_box_param"}, ": max_size ",
              param.max_size(i), " must be greater than min_size ", param.min_size(i));
      const float middle = std::sqrt(min_size * Side(param.max_size(i), "max_size"));
      boxes.emplace_back(middle, middle);
    }
    for (const float ratio : ratios) {
      if (std::fabs(ratio - 1) < 1e-6) continue;
      const float root = std::sqrt(ratio);
      boxes.emplace_back(min_size * root, min_size / root);
    }
  }
  return boxes;
}

Extents ListedBoxes(const PriorBoxParameter& param) {
  Require(param.width_size() > 0 && param.width_size() == param.height_size(),
          Error::Field{"prior_box_param"}, ": give width and height equally often, got ",
          param.width_size(), " and ", param.height_size());
  Require(param.min_size_size() == 0 && param.max_size_size() == 0, Error::Field{"prior_box_param"},
          Error::Remedy{"give min_size, or width and height, not both"});
  Extents boxes;
  for (int i = 0; i < param.width_size(); ++i) {
    Require(param.width(i) > 0 && param.height(i) > 0, Error::Field{"prior_box_param"},
            ": width and height must be positive, got ", param.width(i), " and ", param.height(i));
    boxes.emplace_back(param.width(i), param.height(i));
  }
  return boxes;
}

Extents Boxes(const PriorBoxParameter& param) {
  const bool listed = param.width_size() > 0 || param.height_size() > 0;
  return listed ? ListedBoxes(param) : BoxesFromSizes(param);
}

int Offsets(const PriorBoxParameter& param) {
  Require(param.offset_h_size() == param.offset_w_size(), Error::Field{"prior_box_param"},
          ": give offset_h and offset_w equally often, got ", param.offset_h_size(), " and ",
          param.offset_w_size());
  Require(param.offset_h_size() == 0 || !param.has_offset(), Error::Field{"prior_box_param"},
          Error::Remedy{"give offset, or offset_h and offset_w, not both"});
  return std::max(1, param.offset_h_size());
}

Shape TopShape(const Shape& map, size_t priors) {
  Require(map.size() == 4, "PriorBox takes a feature map of 4 axes (N, C, H, W), not ",
          ShapeString(map));
  const double count = double(map[2]) * map[3] * priors * 4;
  Require(count > 0 && count < 1e9, Error::Field{"prior_box_param"}, ": ", priors,
          " boxes for each of ", map[2], " x ", map[3], " cells make no blob of a possible size");
  return {1, 2, static_cast<int>(count)};
}

std::vector<Shape> TopShapesOfPriorBox(const LayerParameter& layer,
                                       const std::vector<Shape>& bottoms) {
  const PriorBoxParameter& param = layer.prior_box_param();
  return {TopShape(bottoms.at(0), Boxes(param).size() * Offsets(param))};
}

// Coordinates: they stay in the net's own type.
Operation PriorBoxOperation(const char* type) {
  return Operation(type)
      .CpuOnly(kSmallConstants)
      .Shapes(TopShapesOfPriorBox)
      .BackwardReads(Operation::kNothing)
      .ShapeBottoms({-1})
      .FloatBottoms({-1})
      .FloatTops({-1});
}
const bool prior_box_registered = OperationTable::Add(PriorBoxOperation("PriorBox"));
const bool registered_clustered = OperationTable::Add(PriorBoxOperation("PriorBoxClustered"));

/// Two numbers of which either may be given alone as `both`; 0 if none is.
struct Pair {
  float h = 0, w = 0;
};
Pair ReadPair(const char* name, bool has_both, float both, bool has_h, float h, bool has_w,
              float w) {
  Require(!has_both || !(has_h || has_w), Error::Field{"prior_box_param"}, ": give ", name, " or ",
          name, "_h and ", name, "_w, not both");
  Require(has_h == has_w, Error::Field{"prior_box_param"}, ": give both ", name, "_h and ", name,
          "_w");
  const Pair pair = has_both ? Pair{both, both} : Pair{h, w};
  const bool given = has_both || has_h;
  // 0 is the same as not given.
  Require(!given || (pair.h >= 0 && pair.w >= 0), Error::Field{"prior_box_param"}, ": ", name,
          " must not be negative, got ", pair.h, " and ", pair.w);
  return pair;
}

Pair ReadImageSize(const PriorBoxParameter& p) {
  return ReadPair("img", p.has_img_size(), p.img_size(), p.has_img_h(), p.img_h(), p.has_img_w(),
                  p.img_w());
}
Pair ReadStep(const PriorBoxParameter& p) {
  return ReadPair("step", p.has_step(), p.step(), p.has_step_h(), p.step_h(), p.has_step_w(),
                  p.step_w());
}

}  // namespace

template <typename Dtype>
void PriorBoxLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) {
  const PriorBoxParameter& param = this->layer_param_.prior_box_param();
  boxes_.clear();
  for (const auto& box : Boxes(param)) boxes_.push_back({box.first, box.second});
  Offsets(param);
  offset_x_.assign(param.offset_w().begin(), param.offset_w().end());
  offset_y_.assign(param.offset_h().begin(), param.offset_h().end());
  if (offset_x_.empty()) offset_x_ = offset_y_ = {param.offset()};
  variance_.assign(param.variance().begin(), param.variance().end());
  if (variance_.empty()) variance_ = {0.1f};
  if (variance_.size() == 1) variance_.resize(4, variance_[0]);
  Require(variance_.size() == 4, Error::Field{"prior_box_param"},
          ": give variance once or 4 times, not ", variance_.size(), " times");
  for (const float variance : variance_) {
    Require(variance > 0, Error::Field{"prior_box_param"}, ": variance must be positive, got ",
            variance);
  }
  ReadImageSize(param);
  ReadStep(param);
}

template <typename Dtype>
void PriorBoxLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  top[0]->Reshape(TopShape(bottom[0]->shape(), boxes_.size() * offset_x_.size()));
}

template <typename Dtype>
void PriorBoxLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& top) {
  const PriorBoxParameter& param = this->layer_param_.prior_box_param();
  const int height = bottom[0]->height(), width = bottom[0]->width();
  Pair image = ReadImageSize(param), step = ReadStep(param);
  if (image.h == 0 || image.w == 0) image = {float(bottom[1]->height()), float(bottom[1]->width())};
  if (step.h == 0 || step.w == 0) step = {image.h / height, image.w / width};
  const auto corner = [&](double position, float extent) {
    const double fraction = position / extent;
    return static_cast<Dtype>(param.clip() ? std::min(std::max(fraction, 0.), 1.) : fraction);
  };
  Dtype* to = top[0]->mutable_cpu_data();
  for (int h = 0; h < height; ++h) {
    for (int w = 0; w < width; ++w) {
      for (const Extent& box : boxes_) {
        for (size_t i = 0; i < offset_x_.size(); ++i, to += 4) {
          const float x = (w + offset_x_[i]) * step.w, y = (h + offset_y_[i]) * step.h;
          to[0] = corner(x - box.width / 2., image.w);
          to[1] = corner(y - box.height / 2., image.h);
          to[2] = corner(x + box.width / 2., image.w);
          to[3] = corner(y + box.height / 2., image.h);
        }
      }
    }
  }
  const int variances = top[0]->count() / 2;
  for (int i = 0; i < variances; ++i) to[i] = variance_[i % 4];
}

template <typename Dtype>
void PriorBoxClusteredLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                               const vector<Blob<Dtype>*>& top) {
  Require(this->layer_param_.prior_box_param().width_size() > 0, Error::Field{"prior_box_param"},
          ": width and height are missing");
  PriorBoxLayer<Dtype>::LayerSetUp(bottom, top);
}

INSTANTIATE_CLASS(PriorBoxLayer);
REGISTER_LAYER_CLASS(PriorBox);
INSTANTIATE_CLASS(PriorBoxClusteredLayer);
REGISTER_LAYER_CLASS(PriorBoxClustered);

}  // namespace caffe
