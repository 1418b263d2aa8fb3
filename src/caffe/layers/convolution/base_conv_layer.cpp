#include "caffe/layers/base_conv_layer.hpp"

#include "caffe/core/as_stored.hpp"
#include "caffe/kernels/blas.hpp"
#include "caffe/kernels/elementwise.hpp"
#include "caffe/layers/parameter_blobs.hpp"
#include "convolution_products.hpp"

namespace caffe {
namespace {

/// A field given once for all axes, once per axis, not at all, or as _h and _w for two axes: of
/// these one alone will do where the other may be 0, which is its default.
template <typename Field>
vector<int> PerAxis(const char* name, const char* short_name, const Field& values, bool has_h,
                    int h, bool has_w, int w, int axes, int otherwise, int least) {
  vector<int> result;
  if (has_h || has_w) {
    const std::string both = Join(short_name, "_h and ", short_name, "_w");
    Require(axes == 2, "convolution_param: ", both, " are for 2 spatial axes; the input has ",
            axes);
    Require(values.size() == 0, "convolution_param: give ", name, " or ", both, ", not both");
    Require((has_h && has_w) || least <= 0, "convolution_param: give both ", both);
    result = {h, w};
  } else if (values.size() == 0) {
    result.assign(axes, otherwise);
  } else {
    Require(values.size() == 1 || values.size() == axes, "convolution_param: ", name, " is given ",
            values.size(), " times: give it once, or once for each of the ", axes, " spatial axes");
    for (int i = 0; i < axes; ++i) result.push_back(values.Get(values.size() == 1 ? 0 : i));
  }
  for (int value : result) {
    Require(value >= least, "convolution_param: ", name, " must be at least ", least, ", got ",
            value);
  }
  return result;
}

}  // namespace

ConvolutionGeometry ReadConvolutionGeometry(const ConvolutionParameter& param, int axes) {
  const bool has_kernel =
      param.kernel_size_size() > 0 || param.has_kernel_h() || param.has_kernel_w();
  Require(has_kernel || axes == 0, "convolution_param: kernel_size is missing");
  ConvolutionGeometry g;
  g.kernel = PerAxis("kernel_size", "kernel", param.kernel_size(), param.has_kernel_h(),
                     param.kernel_h(), param.has_kernel_w(), param.kernel_w(), axes, 0, 1);
  g.stride = PerAxis("stride", "stride", param.stride(), param.has_stride_h(), param.stride_h(),
                     param.has_stride_w(), param.stride_w(), axes, 1, 1);
  g.pad = PerAxis("pad", "pad", param.pad(), param.has_pad_h(), param.pad_h(), param.has_pad_w(),
                  param.pad_w(), axes, 0, 0);
  g.dilation = PerAxis("dilation", "dilation", param.dilation(), false, 0, false, 0, axes, 1, 1);
  return g;
}

std::vector<Shape> ConvolutionTopShapes(const ConvolutionParameter& param,
                                        const std::vector<Shape>& bottoms,
                                        ConvolutionExtents* extents) {
  std::vector<Shape> tops;
  for (const Shape& bottom : bottoms) {
    const int axes = static_cast<int>(bottom.size());
    Require(param.axis() >= -axes && param.axis() < axes, "convolution_param: axis ", param.axis(),
            " is out of range for a bottom of shape ", ShapeString(bottom));
    const int axis = param.axis() < 0 ? param.axis() + axes : param.axis();
    const vector<int> input(bottom.begin() + axis + 1, bottom.end());
    Shape top(bottom.begin(), bottom.begin() + axis);
    top.push_back(param.num_output());
    const vector<int> output = extents(ReadConvolutionGeometry(param, input.size()), input);
    top.insert(top.end(), output.begin(), output.end());
    tops.push_back(top);
  }
  return tops;
}

namespace {

/// Fields or extents, one per spatial axis, as products take them: where there is no spatial
/// axis, the one position counts as one.
vector<int> OneAxisAtLeast(const vector<int>& values, int otherwise) {
  return values.empty() ? vector<int>{otherwise} : values;
}

void Store(const vector<int>& values, Blob<int>* blob) {
  blob->Reshape(vector<int>(1, static_cast<int>(values.size())));
  std::copy(values.begin(), values.end(), blob->mutable_cpu_data());
}

}  // namespace

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                             const vector<Blob<Dtype>*>&) {
  const ConvolutionParameter& param = this->layer_param_.convolution_param();
  force_nd_im2col_ = param.force_nd_im2col();
  channel_axis_ = bottom[0]->CanonicalAxisIndex(param.axis());
  num_spatial_axes_ = bottom[0]->num_axes() - channel_axis_ - 1;
  geometry_ = ReadConvolutionGeometry(param, num_spatial_axes_);
  products_ = std::make_shared<Products>();
  kernels::ConvolutionShape& shape = products_->problem.shape;
  shape.kernel = OneAxisAtLeast(geometry_.kernel, 1);
  shape.stride = OneAxisAtLeast(geometry_.stride, 1);
  shape.pad = OneAxisAtLeast(geometry_.pad, 0);
  shape.dilation = OneAxisAtLeast(geometry_.dilation, 1);
  Store(geometry_.kernel, &kernel_shape_);
  Store(geometry_.stride, &stride_);
  Store(geometry_.pad, &pad_);
  Store(geometry_.dilation, &dilation_);

  channels_ = bottom[0]->shape(channel_axis_);
  num_output_ = param.num_output();
  Require(num_output_ > 0, "convolution_param: num_output must be positive, got ", num_output_);
  group_ = param.group();
  Require(group_ > 0, "convolution_param: group must be positive, got ", group_);
  Require(channels_ % group_ == 0, "convolution_param: group ", group_,
          " does not divide the bottom's ", channels_, " channels");
  Require(num_output_ % group_ == 0, "convolution_param: group ", group_,
          " does not divide num_output ", num_output_);
  shape.channels = reverse_dimensions() ? num_output_ : channels_;
  shape.outputs = reverse_dimensions() ? channels_ : num_output_;
  shape.group = group_;
  is_1x1_ = shape.is_pointwise();

  vector<int> weight_shape = {shape.outputs, shape.channels / group_};
  weight_shape.insert(weight_shape.end(), geometry_.kernel.begin(), geometry_.kernel.end());
  bias_term_ = param.bias_term();
  std::vector<ParameterBlob> parameters = {{weight_shape, param.weight_filler()}};
  if (bias_term_) parameters.push_back({{num_output_}, param.bias_filler()});
  MakeOrCheckParameters(parameters, &this->blobs_);
  weight_offset_ = this->blobs_[0]->count() / group_;
  this->param_propagate_down_.resize(this->blobs_.size(), true);
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  Require(bottom[0]->num_axes() == channel_axis_ + 1 + num_spatial_axes_,
          "the number of spatial axes cannot change: there were ", num_spatial_axes_,
          ", the bottom is now ", ShapeString(bottom[0]->shape()));
  Require(bottom[0]->shape(channel_axis_) == channels_, "the bottom has ",
          bottom[0]->shape(channel_axis_), " channels where the weights are for ", channels_);
  for (size_t i = 1; i < bottom.size(); ++i) {
    Require(bottom[i]->shape() == bottom[0]->shape(), "all bottoms have one shape: bottom 0 is ",
            ShapeString(bottom[0]->shape()), ", bottom ", i, " is ",
            ShapeString(bottom[i]->shape()));
  }
  num_ = bottom[0]->count(0, channel_axis_);
  bottom_shape_ = &bottom[0]->shape();
  compute_output_shape();
  vector<int> top_shape(bottom[0]->shape().begin(), bottom[0]->shape().begin() + channel_axis_);
  top_shape.push_back(num_output_);
  top_shape.insert(top_shape.end(), output_shape_.begin(), output_shape_.end());
  for (Blob<Dtype>* blob : top) blob->Reshape(top_shape);

  kernels::ConvolutionShape& shape = products_->problem.shape;
  vector<int> input = OneAxisAtLeast(reverse_dimensions() ? output_shape_ : input_extents(), 1);
  vector<int> output = OneAxisAtLeast(reverse_dimensions() ? input_extents() : output_shape_, 1);
  if (input == shape.input && output == shape.output) return;  // as in most passes
  out_spatial_dim_ = top[0]->count(channel_axis_ + 1);
  bottom_dim_ = bottom[0]->count(channel_axis_);
  top_dim_ = top[0]->count(channel_axis_);
  vector<int> product_input = {shape.channels};
  product_input.insert(product_input.end(), input.begin(), input.end());
  product_input.resize(1 + num_spatial_axes_);
  Store(product_input, &conv_input_shape_);
  col_buffer_shape_ = {static_cast<int>(shape.column_rows()) * group_};
  col_buffer_shape_.insert(col_buffer_shape_.end(), output.begin(), output.end());
  col_buffer_shape_.resize(1 + num_spatial_axes_);
  shape.input.swap(input);  // last: with what an error interrupts, the next call begins again
  shape.output.swap(output);
}

template <typename Dtype>
const algorithms::ConvolutionProblem& BaseConvolutionLayer<Dtype>::Products::ProblemOf(
    BaseConvolutionLayer& layer, const Blob<Dtype>& bottom, const Pointwise& behind) {
  const kernels::ConvolutionShape& shape = problem.shape;
  problem.transposed = layer.reverse_dimensions();
  problem.num = layer.num_;
  problem.bias = layer.bias_term_;
  problem.folds = !behind.scale.empty();
  problem.activation = behind.activation;
  problem.settings = SettingsOf<Dtype>(layer.types(), layer.phase_, layer.engine_);
  problem.plain_source =
      (problem.settings.is_native_half() || problem.settings.wants_tiles()) &&
      algorithms::MayBePlain(shape.channels, shape.group) &&
      LayoutFor<float16>(bottom.data_tensor(), bottom.shape()).kind == Layout::PLAIN;
  return problem;
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::ForwardAll(const vector<Blob<Dtype>*>& bottom,
                                             const vector<Blob<Dtype>*>& top, bool fused) {
  FusedFollowers<Dtype>& followers = products_->followers;
  const Pointwise nothing;
  const auto behind = fused ? followers.DescribeOnce(num_output_)
                            : typename FusedFollowers<Dtype>::Described{nothing, 1};
  auto& product = fused ? products_->fused : products_->alone;
  const bool fuses = product.Forward(products_->ProblemOf(*this, *bottom[0], behind.pointwise),
                                     this->blobs_, behind.pointwise, behind.stamp, bottom, top);
  products_->latest = &product;
  products_->ran_joined = false;
  products_->joined.RanApart();
  if (fused && !fuses) followers.Run(top);
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::BackwardAll(const vector<Blob<Dtype>*>& top,
                                              const vector<bool>& propagate_down,
                                              const vector<Blob<Dtype>*>& bottom) {
  products_->alone.Backward(products_->ProblemOf(*this, *bottom[0], Pointwise()), this->blobs_,
                            this->param_propagate_down_, top, propagate_down, bottom);
}

template <typename Dtype>
const char* BaseConvolutionLayer<Dtype>::forward_engine() const {
  if (products_ && products_->ran_joined) return "native, joined";
  const bool has_run = products_ && products_->latest;
  return has_run ? products_->latest->algorithm()->engine()
                 : EngineName(false, engine_ == Engine::REFERENCE);
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::forward_cpu_gemm(const Dtype* input, const Dtype* weights,
                                                   Dtype* output, bool /*skip_im2col*/) {
  kernels::ConvolutionForward<Dtype, Dtype>(products_->problem.shape, 1, input, weights, nullptr,
                                            output);
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::forward_cpu_bias(Dtype* output, const Dtype* bias) {
  for (int o = 0; o < num_output_; ++o) {
    Dtype* row = output + size_t(o) * out_spatial_dim_;
    for (int i = 0; i < out_spatial_dim_; ++i) row[i] += bias[o];
  }
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::backward_cpu_gemm(const Dtype* output, const Dtype* weights,
                                                    Dtype* input) {
  kernels::ConvolutionBackwardData<Dtype, Dtype>(products_->problem.shape, 1, output, weights,
                                                 nullptr, input);
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::weight_cpu_gemm(const Dtype* input, const Dtype* output,
                                                  Dtype* weights) {
  kernels::ConvolutionBackwardWeights(products_->problem.shape, 1, input, output, weights);
}

template <typename Dtype>
void BaseConvolutionLayer<Dtype>::backward_cpu_bias(Dtype* bias, const Dtype* input) {
  for (int o = 0; o < num_output_; ++o) {
    bias[o] += kernels::Sum(out_spatial_dim_, input + size_t(o) * out_spatial_dim_);
  }
}

INSTANTIATE_CLASS(BaseConvolutionLayer);

}  // namespace caffe
