#include "caffe/layers/multi_stage_meanfield_layer.hpp"

#include "caffe/kernels/blas.hpp"
#include "caffe/kernels/elementwise.hpp"
#include "caffe/kernels/permutohedral_lattice.hpp"
#include "caffe/kernels/softmax.hpp"
#include "caffe/layers/parameter_blobs.hpp"
#include "caffe/util/string_stream.hpp"

namespace caffe {
namespace {

std::vector<Shape> TopShapesOfMultiStageMeanfield(const LayerParameter&,
                                                  const std::vector<Shape>& bottoms) {
  const Shape &unary = bottoms.at(0), &first = bottoms.at(1), &image = bottoms.at(2);
  Require(unary.size() == 4 && unary == first,
          "MultiStageMeanfield needs scores (N, C, H, W) as bottoms 0 and 1: they are ",
          ShapeString(unary), " and ", ShapeString(first));
  Require(image.size() == 4 && image[0] == unary[0] && image[2] == unary[2] && image[3] == unary[3],
          "MultiStageMeanfield needs an image for each item, as large as the scores ",
          ShapeString(unary), ": bottom 2 is ", ShapeString(image));
  return {unary};
}

const bool multi_stage_meanfield_registered =
    OperationTable::Add(Operation("MultiStageMeanfield")
                            .Shapes(TopShapesOfMultiStageMeanfield)
                            .BackwardReads(Operation::kBottomData)
                            .CpuOnly("its filters' lattices are tables made on the host"));

/// The diagonal of a filter's parameter: `list`, one number a class, or `weight` for all.
vector<float> Diagonal(const char* field, const string& list, float weight, int classes) {
  if (list.empty()) return vector<float>(classes, weight);
  StringReader stream(list);
  vector<float> numbers;
  for (float number = 0; stream >> number;) numbers.push_back(number);
  Require(stream.eof() && static_cast<int>(numbers.size()) == classes,
          Error::Field{"multi_stage_meanfield_param"}, ": ", field, " must be ", classes,
          " numbers, one for each class, not '", list, "'");
  return numbers;
}

}  // namespace

/// A Gaussian filter whose weights of each pixel add up to 1.
template <typename Dtype>
class MultiStageMeanfieldLayer<Dtype>::Filter {
 public:
  /// `features`: for each pixel, `dimensions` of them.
  Filter(int dimensions, size_t pixels, const std::vector<double>& features);
  void Forward(size_t channels, const Dtype* x, Dtype* y) const;
  /// The gradient of x for that of y.
  void Backward(size_t channels, const Dtype* dy, Dtype* dx) const;

 private:
  kernels::PermutohedralLattice lattice_;
  std::vector<Dtype> norm_;  // by which each pixel's sum is multiplied
};

template <typename Dtype>
MultiStageMeanfieldLayer<Dtype>::Filter::Filter(int dimensions, size_t pixels,
                                                const std::vector<double>& features)
    : lattice_(dimensions, pixels, features.data()), norm_(pixels, Dtype(1)) {
  lattice_.Filter(1, norm_.data(), norm_.data());
  for (Dtype& norm : norm_) norm = 1 / norm;  // a pixel is a neighbour of itself
}

template <typename Dtype>
void MultiStageMeanfieldLayer<Dtype>::Filter::Forward(size_t channels, const Dtype* x,
                                                      Dtype* y) const {
  lattice_.Filter(channels, x, y);
  for (size_t c = 0; c < channels; ++c) {
    kernels::Multiply(norm_.size(), y + c * norm_.size(), norm_.data(), y + c * norm_.size());
  }
}

template <typename Dtype>
void MultiStageMeanfieldLayer<Dtype>::Filter::Backward(size_t channels, const Dtype* dy,
                                                       Dtype* dx) const {
  for (size_t c = 0; c < channels; ++c) {
    kernels::Multiply(norm_.size(), dy + c * norm_.size(), norm_.data(), dx + c * norm_.size());
  }
  lattice_.Filter(channels, dx, dx, true);
}

template <typename Dtype>
void MultiStageMeanfieldLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                                 const vector<Blob<Dtype>*>&) {
  const MultiStageMeanfieldParameter& p = this->layer_param_.multi_stage_meanfield_param();
  const auto positive = [](const char* field, double value) {
    Require(value > 0, Error::Field{"multi_stage_meanfield_param"}, ": ", field,
            " must be positive, got ", value);
  };
  positive("num_iterations", p.num_iterations());
  positive("theta_alpha", p.theta_alpha());
  positive("theta_beta", p.theta_beta());
  positive("theta_gamma", p.theta_gamma());
  Require(!p.is_no_class_weights(), Error::Field{"multi_stage_meanfield_param"},
          ": is_no_class_weights is not available", Error::Remedy{"leave it out"});
  spatial_.reset();
  const int classes = bottom[0]->shape(1);
  const vector<float> diagonals[] = {
      Diagonal("spatial_filter_weights_str", p.spatial_filter_weights_str(),
               p.spatial_filter_weight(), classes),
      Diagonal("bilateral_filter_weights_str", p.bilateral_filter_weights_str(),
               p.bilateral_filter_weight(), classes),
      vector<float>(classes, -1)};
  const bool given = !this->blobs_.empty();
  const ParameterBlob matrix = {{1, 1, classes, classes}, ConstantOf(0)};
  MakeOrCheckParameters<Dtype>({matrix, matrix, matrix}, &this->blobs_);
  for (size_t i = 0; i < this->blobs_.size() && !given; ++i) {
    Dtype* values = this->blobs_[i]->mutable_cpu_data();
    for (int c = 0; c < classes; ++c) values[c * classes + c] = diagonals[i][c];
  }
  this->param_propagate_down_.resize(this->blobs_.size(), true);
}

template <typename Dtype>
void MultiStageMeanfieldLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                              const vector<Blob<Dtype>*>& top) {
  const Shape& shape = bottom[0]->shape();
  TopShapesOfMultiStageMeanfield(this->layer_param_,
                                 {shape, bottom[1]->shape(), bottom[2]->shape()});
  classes_ = shape[1];
  Require(this->blobs_[0]->count() == classes_ * classes_, "the parameters are for ",
          this->blobs_[0]->shape(-1), " classes, the scores of shape ", ShapeString(shape),
          " have ", classes_);
  top[0]->Reshape(shape);
  if (spatial_ && height_ == shape[2] && width_ == shape[3]) return;
  spatial_.reset();
  height_ = shape[2];
  width_ = shape[3];
  pixels_ = size_t(height_) * width_;
  const double theta = this->layer_param_.multi_stage_meanfield_param().theta_gamma();
  std::vector<double> features;
  for (int h = 0; h < height_; ++h) {
    for (int w = 0; w < width_; ++w) features.insert(features.end(), {w / theta, h / theta});
  }
  spatial_ = std::make_shared<const Filter>(2, pixels_, features);
}

template <typename Dtype>
typename MultiStageMeanfieldLayer<Dtype>::Filter MultiStageMeanfieldLayer<Dtype>::BilateralFilter(
    const Dtype* image, int channels) const {
  const MultiStageMeanfieldParameter& p = this->layer_param_.multi_stage_meanfield_param();
  const int dimensions = 2 + channels;
  std::vector<double> features(pixels_ * dimensions);
  for (size_t i = 0; i < pixels_; ++i) {
    double* feature = features.data() + i * dimensions;
    feature[0] = i % width_ / double(p.theta_alpha());
    feature[1] = i / width_ / double(p.theta_alpha());
    for (int c = 0; c < channels; ++c)
      feature[2 + c] = image[c * pixels_ + i] / double(p.theta_beta());
  }
  return Filter(dimensions, pixels_, features);
}

template <typename Dtype>
void MultiStageMeanfieldLayer<Dtype>::Message(const Filter& bilateral, const Values& q,
                                              Values* message, Values* by_space,
                                              Values* by_color) const {
  for (Values* values : {message, by_space, by_color}) values->resize(q.size());
  spatial_->Forward(classes_, q.data(), by_space->data());
  bilateral.Forward(classes_, q.data(), by_color->data());
  const int pixels = static_cast<int>(pixels_);
  kernels::Gemm(false, false, classes_, pixels, classes_, Dtype(1),
                this->blobs_[0]->template cpu_data_as<Dtype>(), by_space->data(), Dtype(0),
                message->data());
  kernels::Gemm(false, false, classes_, pixels, classes_, Dtype(1),
                this->blobs_[1]->template cpu_data_as<Dtype>(), by_color->data(), Dtype(1),
                message->data());
}

template <typename Dtype>
void MultiStageMeanfieldLayer<Dtype>::Step(const Filter& bilateral, const Dtype* unary,
                                           const Values& q, Dtype* scores) const {
  Values message, by_space, by_color;
  Message(bilateral, q, &message, &by_space, &by_color);
  std::copy_n(unary, q.size(), scores);
  kernels::Gemm(false, false, classes_, static_cast<int>(pixels_), classes_, Dtype(-1),
                this->blobs_[2]->template cpu_data_as<Dtype>(), message.data(), Dtype(1), scores);
}

template <typename Dtype>
void MultiStageMeanfieldLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                                  const vector<Blob<Dtype>*>& top) {
  const MultiStageMeanfieldParameter& p = this->layer_param_.multi_stage_meanfield_param();
  Values q(classes_ * pixels_);
  for (int n = 0; n < bottom[0]->shape(0); ++n) {
    const Filter bilateral =
        BilateralFilter(bottom[2]->cpu_data() + bottom[2]->offset(n), bottom[2]->shape(1));
    const size_t first = n * q.size();
    const Dtype* unary = bottom[0]->cpu_data() + first;
    const Dtype* scores = bottom[1]->cpu_data() + first;
    Dtype* to = top[0]->mutable_cpu_data() + first;
    for (uint32_t i = 0; i < p.num_iterations(); ++i, scores = to) {
      kernels::Softmax(1, classes_, pixels_, scores, q.data());
      Step(bilateral, unary, q, to);
    }
  }
}

template <typename Dtype>
void MultiStageMeanfieldLayer<Dtype>::StepBackward(const Filter& bilateral, const Values& q,
                                                   const Values& d_scores, Values* dq) {
  const int pixels = static_cast<int>(pixels_);
  Values message, by_space, by_color, d_message(q.size()), d_filtered(q.size());
  Message(bilateral, q, &message, &by_space, &by_color);
  // matrix += factor * a b^T, over pixels.
  const auto add_product = [&](Dtype factor, const Values& a, const Values& b, int parameter) {
    if (!this->param_propagate_down_[parameter]) return;
    kernels::Gemm(false, true, classes_, classes_, pixels, factor, a.data(), b.data(), Dtype(1),
                  this->blobs_[parameter]->mutable_cpu_diff());
  };
  add_product(-1, d_scores, message, 2);
  kernels::Gemm(true, false, classes_, pixels, classes_, Dtype(-1),
                this->blobs_[2]->template cpu_data_as<Dtype>(), d_scores.data(), Dtype(0),
                d_message.data());
  add_product(1, d_message, by_space, 0);
  add_product(1, d_message, by_color, 1);
  kernels::Gemm(true, false, classes_, pixels, classes_, Dtype(1),
                this->blobs_[0]->template cpu_data_as<Dtype>(), d_message.data(), Dtype(0),
                d_filtered.data());
  spatial_->Backward(classes_, d_filtered.data(), dq->data());
  kernels::Gemm(true, false, classes_, pixels, classes_, Dtype(1),
                this->blobs_[1]->template cpu_data_as<Dtype>(), d_message.data(), Dtype(0),
                d_filtered.data());
  bilateral.Backward(classes_, d_filtered.data(), d_filtered.data());
  kernels::Add(q.size(), dq->data(), d_filtered.data(), dq->data());
}

template <typename Dtype>
void MultiStageMeanfieldLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                                   const vector<bool>& propagate_down,
                                                   const vector<Blob<Dtype>*>& bottom) {
  Require(!propagate_down[2], "MultiStageMeanfield has no gradient for its images");
  const int steps = this->layer_param_.multi_stage_meanfield_param().num_iterations();
  const size_t count = classes_ * pixels_;
  Values scores(count), d_unary(count), d_scores(count), dq(count);
  std::vector<Values> q(steps, Values(count));
  for (int n = 0; n < bottom[0]->shape(0); ++n) {
    const Filter bilateral =
        BilateralFilter(bottom[2]->cpu_data() + bottom[2]->offset(n), bottom[2]->shape(1));
    const size_t first = n * count;
    const Dtype* before = bottom[1]->cpu_data() + first;
    for (int i = 0; i < steps; ++i, before = scores.data()) {
      kernels::Softmax(1, classes_, pixels_, before, q[i].data());
      if (i + 1 < steps) Step(bilateral, bottom[0]->cpu_data() + first, q[i], scores.data());
    }
    std::copy_n(top[0]->cpu_diff() + first, count, d_scores.begin());
    std::fill(d_unary.begin(), d_unary.end(), Dtype(0));
    for (int i = steps; i-- > 0;) {
      kernels::Add(count, d_unary.data(), d_scores.data(), d_unary.data());
      StepBackward(bilateral, q[i], d_scores, &dq);
      kernels::SoftmaxGradient(1, classes_, pixels_, q[i].data(), dq.data(), d_scores.data());
    }
    if (propagate_down[0])
      std::copy_n(d_unary.data(), count, bottom[0]->mutable_cpu_diff() + first);
    if (propagate_down[1])
      std::copy_n(d_scores.data(), count, bottom[1]->mutable_cpu_diff() + first);
  }
}

INSTANTIATE_CLASS(MultiStageMeanfieldLayer);
REGISTER_LAYER_CLASS(MultiStageMeanfield);

}  // namespace caffe
