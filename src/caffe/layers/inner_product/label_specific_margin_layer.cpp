#include "caffe/layers/label_specific_margin_layer.hpp"

#include <algorithm>
#include <cmath>

#include "caffe/layers/parameter_blobs.hpp"

namespace caffe {
namespace {

const bool label_specific_margin_registered =
    OperationTable::Add(Operation("LabelSpecificMargin")
                            .Shapes(LabelMarginShapes)
                            .BackwardReads(Operation::kBottomData)
                            .Native()
                            .FloatBottoms({1})
                            .FloatTops({1})
                            .FloatParameters()
                            .CpuOnly("it changes one number of each row"));

}  // namespace

template <typename Dtype>
void LabelSpecificMarginLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&,
                                                 const vector<Blob<Dtype>*>&) {
  const LabelSpecificMarginParameter& p = param();
  const auto refuse = [](bool given, const char* field) {
    Require(!given, "label_specific_margin_param: ", field, " is not available: leave it out");
  };
  refuse(p.type() == LabelSpecificMarginParameter::SOFT, "type SOFT");
  refuse(p.auto_tune(), "auto_tune");
  refuse(p.pass_bp(), "pass_bp");
  refuse(p.reset_margin(), "reset_margin");
  refuse(p.has_num_output() || p.has_weight_filler(), "num_output (a layer before it multiplies)");
  refuse(p.has_axis(), "axis");
  refuse(p.has_scale(), "scale (a Scale layer scales)");
  schedule_ = MarginSchedule(p.margin_base(), p.gamma(), p.power(), p.iteration());
  MakeOrCheckParameters<Dtype>({{Shape{1}, ConstantOf(p.margin_base())}}, &this->blobs_);
  if (this->layer_param_.param_size() == 0) {
    ParamSpec* spec = this->layer_param_.add_param();
    spec->set_lr_mult(0);
    spec->set_decay_mult(0);
  }
  Require(this->layer_param_.param(0).lr_mult() == 0,
          "param: the margin is not learned: give lr_mult: 0, or leave param out");
  this->param_propagate_down_.assign(1, false);
}

template <typename Dtype>
double LabelSpecificMarginLayer<Dtype>::NextMargin() {
  const LabelSpecificMarginParameter& p = param();
  const bool trains = this->phase_ == TRAIN;
  double margin = trains && p.has_margin_base()
                      ? schedule_.Next(true)
                      : double(this->blobs_[0]->template cpu_data_as<Dtype>()[0]);
  if (p.has_margin_max()) margin = std::min<double>(margin, p.margin_max());
  if (trains) this->blobs_[0]->mutable_cpu_data()[0] = static_cast<Dtype>(margin);
  sin_ = std::sin(margin * M_PI / 180);
  cos_ = std::cos(margin * M_PI / 180);
  return margin;
}

// cos(t + m) = cos(t) cos(m) - sin(t) sin(m).
template <typename Dtype>
auto LabelSpecificMarginLayer<Dtype>::At(double score) const -> Changed {
  const double sine = std::sqrt(std::max(1 - score * score, 1e-12));
  return {score * cos_ - sine * sin_, cos_ + score / sine * sin_};
}

INSTANTIATE_CLASS(LabelSpecificMarginLayer);
REGISTER_LAYER_CLASS(LabelSpecificMargin);

}  // namespace caffe
