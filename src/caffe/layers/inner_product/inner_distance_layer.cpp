#include "caffe/layers/inner_distance_layer.hpp"

#include "caffe/kernels/blas.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/layers/parameter_blobs.hpp"

namespace caffe {
namespace {

int DistanceAxis(const InnerDistanceParameter& param, const Shape& input) {
  const int axes = static_cast<int>(input.size());
  Require(param.axis() >= -axes && param.axis() < axes, "inner_distance_param: axis ", param.axis(),
          " is out of range for a bottom of shape ", ShapeString(input));
  return param.axis() < 0 ? param.axis() + axes : param.axis();
}

std::vector<Shape> TopShapesOfInnerDistance(const LayerParameter& layer,
                                            const std::vector<Shape>& bottoms) {
  const InnerDistanceParameter& param = layer.inner_distance_param();
  const Shape& input = bottoms.at(0);
  const int axis = DistanceAxis(param, input);
  Shape top(input.begin(), input.begin() + axis);
  if (bottoms.size() == 1) {
    top.push_back(param.num_output());
    return {top};
  }
  const Shape& centers = bottoms[1];
  int64_t values = 1, each = 1;
  for (size_t i = axis; i < input.size(); ++i) values *= input[i];
  for (size_t i = 1; i < centers.size(); ++i) each *= centers[i];
  Require(!centers.empty() && each == values, "bottom 1, the centers, must have ", values,
          " values each, like bottom 0 of shape ", ShapeString(input), "; it has shape ",
          ShapeString(centers));
  top.push_back(centers[0]);
  return {top};
}

const bool inner_distance_registered =
    OperationTable::Add(Operation("InnerDistance")
                            .Shapes(TopShapesOfInnerDistance)
                            .BackwardReads(Operation::kBottomData));

}  // namespace

template <typename Dtype>
void InnerDistanceLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                           const vector<Blob<Dtype>*>&) {
  const InnerDistanceParameter& param = this->layer_param_.inner_distance_param();
  Require(param.distance_type() == "L2" || param.distance_type() == "L1",
          "inner_distance_param: distance_type must be \"L2\" or \"L1\", not \"",
          param.distance_type(), "\"");
  squared_ = param.distance_type() == "L2";
  K_ = bottom[0]->count(DistanceAxis(param, bottom[0]->shape()));
  if (bottom.size() > 1) return;
  N_ = param.num_output();
  Require(N_ > 0, "inner_distance_param: num_output must be positive, got ", param.num_output());
  std::vector<ParameterBlob> parameters = {{{N_, K_}, param.center_filler()}};
  if (param.bias_term()) parameters.push_back({{N_}, param.bias_filler()});
  MakeOrCheckParameters(parameters, &this->blobs_);
  this->param_propagate_down_.resize(this->blobs_.size(), true);
}

template <typename Dtype>
void InnerDistanceLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                        const vector<Blob<Dtype>*>& top) {
  std::vector<Shape> shapes;
  for (const Blob<Dtype>* blob : bottom) shapes.push_back(blob->shape());
  top[0]->Reshape(TopShapesOfInnerDistance(this->layer_param_, shapes)[0]);
  const int axis = DistanceAxis(this->layer_param_.inner_distance_param(), shapes[0]);
  if (bottom.size() > 1) {
    K_ = bottom[0]->count(axis);
    N_ = bottom[1]->shape(0);
  }
  Require(bottom[0]->count(axis) == K_, "the bottom of shape ", ShapeString(bottom[0]->shape()),
          " has ", bottom[0]->count(axis), " inputs per row where the centers are for ", K_);
  M_ = bottom[0]->count(0, axis);
}

template <typename Dtype>
void InnerDistanceLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                            const vector<Blob<Dtype>*>& top) {
  const Dtype* x = bottom[0]->cpu_data();
  const Dtype* centers = Centers(bottom).cpu_data();
  const Dtype* bias =
      this->blobs_.size() > 1 ? this->blobs_[1]->template cpu_data_as<Dtype>() : nullptr;
  Dtype* y = top[0]->mutable_cpu_data();
  kernels::ParallelFor(size_t(M_) * N_, 64, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const Dtype* row = x + i / N_ * K_;
      const Dtype* center = centers + i % N_ * K_;
      Dtype sum = 0;
      for (int k = 0; k < K_; ++k) {
        const Dtype d = row[k] - center[k];
        sum += squared_ ? d * d : std::fabs(d);
      }
      y[i] = sum + (bias ? bias[i % N_] : 0);
    }
  });
}

template <typename Dtype>
void InnerDistanceLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                             const vector<bool>& propagate_down,
                                             const vector<Blob<Dtype>*>& bottom) {
  const Dtype* dy = top[0]->cpu_diff();
  const Dtype* x = bottom[0]->cpu_data();
  const Dtype* centers = Centers(bottom).cpu_data();
  // dx[k] += the gradient of y[m, n] with respect to x[m, k], times `sign`.
  const auto add = [&](int m, int n, Dtype sign, Dtype* dx) {
    const Dtype* row = x + size_t(m) * K_;
    const Dtype* center = centers + size_t(n) * K_;
    const Dtype factor = sign * dy[size_t(m) * N_ + n];
    for (int k = 0; k < K_; ++k) {
      const Dtype d = row[k] - center[k];
      dx[k] += factor * (squared_ ? 2 * d : Dtype(caffe_sign(d)));
    }
  };
  if (propagate_down[0]) {
    Dtype* dx = bottom[0]->mutable_cpu_diff();
    std::fill_n(dx, bottom[0]->count(), Dtype(0));
    kernels::ParallelFor(M_, 1, [&](size_t begin, size_t end) {
      for (size_t m = begin; m < end; ++m) {
        for (int n = 0; n < N_; ++n) add(m, n, 1, dx + m * K_);
      }
    });
  }
  const bool own = bottom.size() == 1;
  if (own ? this->param_propagate_down_[0] : propagate_down[1]) {
    Dtype* d_centers = Centers(bottom).mutable_cpu_diff();
    if (!own) std::fill_n(d_centers, bottom[1]->count(), Dtype(0));
    kernels::ParallelFor(N_, 1, [&](size_t begin, size_t end) {
      for (size_t n = begin; n < end; ++n) {
        for (int m = 0; m < M_; ++m) add(m, n, -1, d_centers + n * K_);
      }
    });
  }
  if (this->blobs_.size() > 1 && this->param_propagate_down_[1]) {
    Dtype* d_bias = this->blobs_[1]->mutable_cpu_diff();
    for (int m = 0; m < M_; ++m) kernels::Axpy(N_, Dtype(1), dy + size_t(m) * N_, d_bias);
  }
}

INSTANTIATE_CLASS(InnerDistanceLayer);
REGISTER_LAYER_CLASS(InnerDistance);

}  // namespace caffe
