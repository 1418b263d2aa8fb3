#include "caffe/layers/margin_inner_product_layer.hpp"

#include "caffe/kernels/blas.hpp"
#include "caffe/kernels/elementwise.hpp"
#include "caffe/layers/loss_layer.hpp"
#include "caffe/layers/parameter_blobs.hpp"
#include "caffe/util/string_stream.hpp"

namespace caffe {
namespace {

int MarginAxis(const MarginInnerProductParameter& param, const Shape& input) {
  const int axes = static_cast<int>(input.size());
  Require(param.axis() >= -axes && param.axis() < axes, "margin_inner_product_param: axis ",
          param.axis(), " is out of range for a bottom of shape ", ShapeString(input));
  return param.axis() < 0 ? param.axis() + axes : param.axis();
}

std::vector<Shape> ShapesFor(const MarginInnerProductParameter& param,
                             const std::vector<Shape>& bottoms, int tops) {
  const Shape& input = bottoms.at(0);
  const int axis = MarginAxis(param, input);
  int64_t items = 1, labels = 1;
  for (int i = 0; i < axis; ++i) items *= input[i];
  for (int extent : bottoms.at(1)) labels *= extent;
  Require(items == labels, "there must be one label for each of the ", items, " rows of shape ",
          ShapeString(input), "; the labels have shape ", ShapeString(bottoms[1]));
  Shape top(input.begin(), input.begin() + axis);
  top.push_back(param.num_output());
  std::vector<Shape> shapes = {top};
  if (tops > 1) shapes.push_back({1});
  return shapes;
}

std::vector<Shape> TopShapesOfMarginInnerProduct(const LayerParameter& layer,
                                                 const std::vector<Shape>& bottoms) {
  return ShapesFor(layer.margin_inner_product_param(), bottoms, layer.top_size());
}

const bool margin_inner_product_registered =
    OperationTable::Add(Operation("MarginInnerProduct")
                            .Shapes(TopShapesOfMarginInnerProduct)
                            .BackwardReads(Operation::kBottomData)
                            .FloatBottoms({1})
                            .FloatTops({1}));

/// psi as a function of c = cos(theta), and its derivative.
struct Margin {
  double psi, slope;
};

Margin MarginAt(int m, double c) {
  // cos(m theta) and its derivative by cos(theta): Chebyshev's polynomials.
  double value = c, slope = 1, value_before = 1, slope_before = 0;
  for (int i = 1; i < m; ++i) {
    const double next = 2 * c * value - value_before;
    const double next_slope = 2 * value + 2 * c * slope - slope_before;
    value_before = value;
    slope_before = slope;
    value = next;
    slope = next_slope;
  }
  const double theta = std::acos(std::min(1., std::max(-1., c)));
  const int k = std::min(m - 1, static_cast<int>(m * theta / M_PI));
  const int sign = k % 2 == 0 ? 1 : -1;
  return {sign * value - 2 * k, sign * slope};
}

}  // namespace

template <typename Dtype>
void MarginInnerProductLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                                const vector<Blob<Dtype>*>&) {
  const MarginInnerProductParameter& param = this->layer_param_.margin_inner_product_param();
  N_ = param.num_output();
  Require(N_ > 0, "margin_inner_product_param: num_output must be positive, got ",
          param.num_output());
  K_ = bottom[0]->count(MarginAxis(param, bottom[0]->shape()));
  margin_ = 1 + static_cast<int>(param.type());
  iter_ = param.iteration();
  MakeOrCheckParameters<Dtype>({{{N_, K_}, param.weight_filler()}}, &this->blobs_);
  this->param_propagate_down_.resize(this->blobs_.size(), true);
}

template <typename Dtype>
void MarginInnerProductLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                             const vector<Blob<Dtype>*>& top) {
  const MarginInnerProductParameter& param = this->layer_param_.margin_inner_product_param();
  const std::vector<Shape> shapes =
      ShapesFor(param, {bottom[0]->shape(), bottom[1]->shape()}, top.size());
  for (size_t i = 0; i < top.size(); ++i) top[i]->Reshape(shapes[i]);
  const int axis = MarginAxis(param, bottom[0]->shape());
  Require(bottom[0]->count(axis) == K_, "the bottom of shape ", ShapeString(bottom[0]->shape()),
          " has ", bottom[0]->count(axis), " inputs per row where the weights are for ", K_);
  M_ = bottom[0]->count(0, axis);
  weights_.ReshapeLike(*this->blobs_[0]);
  norm_.Reshape({M_});
}

template <typename Dtype>
void MarginInnerProductLayer<Dtype>::RestoreState(const std::string& state) {
  StringReader stream(state);
  Require(bool(stream >> iter_), "the saved state, a number of passes, is '", state, "'");
}

template <typename Dtype>
void MarginInnerProductLayer<Dtype>::NextLambda() {
  const MarginInnerProductParameter& param = this->layer_param_.margin_inner_product_param();
  ++iter_;
  lambda_ = std::max<Dtype>(
      param.base() * std::pow(Dtype(1) + Dtype(param.gamma()) * iter_, -Dtype(param.power())),
      param.lambda_min());
}

template <typename Dtype>
void MarginInnerProductLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                                 const vector<Blob<Dtype>*>& top) {
  NextLambda();
  if (top.size() > 1) top[1]->mutable_cpu_data()[0] = lambda_;

  const Dtype* given = this->blobs_[0]->template cpu_data_as<Dtype>();
  Dtype* weights = weights_.mutable_cpu_data();
  for (size_t n = 0; n < size_t(N_); ++n) {
    const Dtype length = static_cast<Dtype>(std::sqrt(kernels::Sumsq(K_, given + n * K_)));
    kernels::Affine(K_, length > 0 ? 1 / length : 0, Dtype(0), given + n * K_, weights + n * K_);
  }
  if (this->phase_ == TRAIN) {
    std::copy_n(weights, weights_.count(), this->blobs_[0]->mutable_cpu_data());
  }

  const Dtype* x = bottom[0]->cpu_data();
  const Dtype* labels = bottom[1]->cpu_data();
  Dtype* norm = norm_.mutable_cpu_data();
  Dtype* y = top[0]->mutable_cpu_data();
  kernels::Gemm(false, true, M_, N_, K_, Dtype(1), x, weights, Dtype(0), y);
  for (int m = 0; m < M_; ++m) {
    norm[m] = static_cast<Dtype>(std::sqrt(kernels::Sumsq(K_, x + size_t(m) * K_)));
    const int label = ReadLabel(labels[m], m, N_, nullptr);
    Dtype& at_label = y[size_t(m) * N_ + label];
    if (margin_ == 1 || norm[m] == 0) continue;
    const Margin margin = MarginAt(margin_, at_label / norm[m]);
    at_label = (lambda_ * at_label + norm[m] * static_cast<Dtype>(margin.psi)) / (1 + lambda_);
  }
}

template <typename Dtype>
void MarginInnerProductLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                                  const vector<bool>& propagate_down,
                                                  const vector<Blob<Dtype>*>& bottom) {
  const Dtype* dy = top[0]->cpu_diff();
  const Dtype* x = bottom[0]->cpu_data();
  if (this->param_propagate_down_[0]) {
    kernels::Gemm(true, false, N_, K_, M_, Dtype(1), dy, x, Dtype(1),
                  this->blobs_[0]->mutable_cpu_diff());
  }
  if (!propagate_down[0]) return;
  const Dtype* weights = weights_.cpu_data();
  const Dtype* labels = bottom[1]->cpu_data();
  const Dtype* norm = norm_.cpu_data();
  Dtype* dx = bottom[0]->mutable_cpu_diff();
  kernels::Gemm(false, false, M_, K_, N_, Dtype(1), dy, weights, Dtype(0), dx);
  if (margin_ == 1) return;
  for (int m = 0; m < M_; ++m) {
    if (norm[m] == 0) continue;
    const size_t label = ReadLabel(labels[m], m, N_, nullptr);
    const Dtype* w = weights + label * K_;
    const Dtype* row = x + size_t(m) * K_;
    const double c = kernels::Dot(K_, row, w) / norm[m];
    const Margin margin = MarginAt(margin_, c);
    const double a = margin.slope, b = (margin.slope * c - margin.psi) / norm[m];
    const double length = std::sqrt(a * a + b * b);
    // The product above gave w its whole weight; of that, lambda / (1 + lambda) stays.
    const double weight = dy[size_t(m) * N_ + label] / (1 + lambda_);
    kernels::Axpy(K_, static_cast<Dtype>(weight * (a / length - 1)), w, dx + size_t(m) * K_);
    kernels::Axpy(K_, static_cast<Dtype>(-weight * b / length), row, dx + size_t(m) * K_);
  }
}

INSTANTIATE_CLASS(MarginInnerProductLayer);
REGISTER_LAYER_CLASS(MarginInnerProduct);

}  // namespace caffe
