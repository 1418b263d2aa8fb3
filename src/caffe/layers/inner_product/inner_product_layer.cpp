#include "caffe/layers/inner_product_layer.hpp"

#include "caffe/core/as_stored.hpp"
#include "caffe/layers/convolution/fused_followers.hpp"
#include "caffe/layers/parameter_blobs.hpp"
#include "caffe/layers/weighted_product.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfInnerProduct(const LayerParameter& layer,
                                           const std::vector<Shape>& bottoms) {
  const InnerProductParameter& param = layer.inner_product_param();
  const Shape& bottom = bottoms.at(0);
  const int axes = static_cast<int>(bottom.size());
  Require(param.axis() >= -axes && param.axis() < axes, "inner_product_param: axis ", param.axis(),
          " is out of range for a bottom of shape ", ShapeString(bottom));
  Shape top(bottom.begin(),
            bottom.begin() + (param.axis() < 0 ? param.axis() + axes : param.axis()));
  top.push_back(param.num_output());
  return {top};
}

const bool inner_product_registered =
    OperationTable::Add(Operation("InnerProduct")
                            .Multiplies(Operation::Weights::INNER_PRODUCT)
                            .Shapes(TopShapesOfInnerProduct)
                            .BackwardReads(Operation::kBottomData)
                            .Native()
                            .Quantizable());

}  // namespace

template <typename Dtype>
struct InnerProductLayer<Dtype>::Products {
  WeightedProduct<Dtype, algorithms::InnerProductProblem> product;
  FusedFollowers<Dtype> followers;
};

template <typename Dtype>
void InnerProductLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>&) {
  const InnerProductParameter& param = this->layer_param_.inner_product_param();
  N_ = param.num_output();
  Require(N_ > 0, "inner_product_param: num_output must be positive, got ", N_);
  bias_term_ = param.bias_term();
  transpose_ = param.transpose();
  K_ = bottom[0]->count(bottom[0]->CanonicalAxisIndex(param.axis()));
  std::vector<ParameterBlob> parameters = {
      {transpose_ ? Shape{K_, N_} : Shape{N_, K_}, param.weight_filler()}};
  if (bias_term_) parameters.push_back({{N_}, param.bias_filler()});
  MakeOrCheckParameters(parameters, &this->blobs_);
  this->param_propagate_down_.resize(this->blobs_.size(), true);
  products_ = std::make_shared<Products>();
}

template <typename Dtype>
void InnerProductLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& top) {
  const int axis = bottom[0]->CanonicalAxisIndex(this->layer_param_.inner_product_param().axis());
  Require(bottom[0]->count(axis) == K_, "the bottom of shape ", ShapeString(bottom[0]->shape()),
          " has ", bottom[0]->count(axis), " inputs per row where the weights are for ", K_);
  M_ = bottom[0]->count(0, axis);
  top[0]->Reshape(TopShapesOfInnerProduct(this->layer_param_, {bottom[0]->shape()})[0]);
}

// Blocks of channels are inputs in another order, which the packed weights follow.
template <typename Dtype>
algorithms::InnerProductProblem InnerProductLayer<Dtype>::ProblemFor(
    const Blob<Dtype>& bottom) const {
  algorithms::InnerProductProblem problem;
  problem.rows = M_;
  problem.inputs = K_;
  problem.outputs = N_;
  problem.transposed = transpose_;
  problem.bias = bias_term_;
  problem.settings = SettingsOf<Dtype>(this->types(), this->phase_, engine_);
  const int axis = bottom.CanonicalAxisIndex(this->layer_param_.inner_product_param().axis());
  if (axis == 1 && problem.settings.may_use_onednn) {
    problem.source = BlockedLayoutFor<float>(bottom.data_tensor(), bottom.shape());
  }
  return problem;
}

template <typename Dtype>
int InnerProductLayer<Dtype>::FuseFollowers(const vector<Layer<Dtype>*>& followers) {
  const algorithms::Settings settings = SettingsOf<Dtype>(this->types(), this->phase_, engine_);
  if (!settings.is_native_half() || settings.forward_in_bfloat16() || transpose_) return 0;
  const int taken = products_->followers.Take(followers, this->forward_type(), N_);
  return products_->followers.Describe(N_).scale.empty() ? taken : 0;
}

template <typename Dtype>
void InnerProductLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                           const vector<Blob<Dtype>*>& top) {
  ForwardAll(bottom, top, /*fused=*/false);
}

template <typename Dtype>
void InnerProductLayer<Dtype>::Forward_fused(const vector<Blob<Dtype>*>& bottom,
                                             const vector<Blob<Dtype>*>& top) {
  ForwardAll(bottom, top, /*fused=*/true);
}

template <typename Dtype>
void InnerProductLayer<Dtype>::ForwardAll(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top, bool fused) {
  FusedFollowers<Dtype>& followers = products_->followers;
  const Pointwise nothing;
  const Pointwise& behind = fused ? followers.DescribeOnce(N_).pointwise : nothing;
  const bool fuses =
      products_->product.Forward(ProblemFor(*bottom[0]), this->blobs_, behind, 1, bottom, top);
  if (fused && !fuses) followers.Run(top);
}

template <typename Dtype>
void InnerProductLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                            const vector<bool>& propagate_down,
                                            const vector<Blob<Dtype>*>& bottom) {
  products_->product.Backward(ProblemFor(*bottom[0]), this->blobs_, this->param_propagate_down_,
                              top, propagate_down, bottom);
}

template <typename Dtype>
const char* InnerProductLayer<Dtype>::forward_engine() const {
  const bool has_run = products_ && products_->product.algorithm();
  return has_run ? products_->product.algorithm()->engine()
                 : EngineName(false, engine_ == Engine::REFERENCE);
}

INSTANTIATE_CLASS(InnerProductLayer);
REGISTER_LAYER_CLASS(InnerProduct);

}  // namespace caffe
