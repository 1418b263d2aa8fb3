#include "caffe/layers/combined_margin_layer.hpp"

#include <algorithm>
#include <cmath>

namespace caffe {
namespace {

const bool combined_margin_registered =
    OperationTable::Add(Operation("CombinedMargin")
                            .Shapes(LabelMarginShapes)
                            .BackwardReads(Operation::kBottomData)
                            .Native()
                            .FloatBottoms({1})
                            .CpuOnly("it changes one number of each row"));

}  // namespace

template <typename Dtype>
auto CombinedMarginLayer<Dtype>::At(double score) const -> Changed {
  const CombinedMarginParameter& p = this->layer_param_.combined_margin_param();
  const double angle = p.m1() * std::acos(std::clamp(score, -1., 1.)) + p.m2();
  const double sine = std::sqrt(std::max(1 - score * score, 1e-12));
  return {std::cos(angle) - p.m3(), p.m1() * std::sin(angle) / sine};
}

INSTANTIATE_CLASS(CombinedMarginLayer);
REGISTER_LAYER_CLASS(CombinedMargin);

}  // namespace caffe
