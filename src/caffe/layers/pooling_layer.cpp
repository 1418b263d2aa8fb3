#include "caffe/layers/pooling_layer.hpp"

#include <cmath>

#include "caffe/context.hpp"

namespace caffe {
namespace {

/// kernel_size or kernel_h and kernel_w, likewise stride and pad, for a bottom of these extents.
kernels::PoolingShape ReadShape(const PoolingParameter& param, int height, int width) {
  kernels::PoolingShape s;
  s.height = height;
  s.width = width;
  if (param.global_pooling()) {
    Require(!param.has_kernel_size() && !param.has_kernel_h() && !param.has_kernel_w(),
            "pooling_param: global_pooling takes the whole image: do not give kernel_size");
    s.kernel_h = height;
    s.kernel_w = width;
  } else {
    Require(param.has_kernel_size() != (param.has_kernel_h() || param.has_kernel_w()),
            "pooling_param: give kernel_size, or kernel_h and kernel_w");
    Require(param.has_kernel_size() || (param.has_kernel_h() && param.has_kernel_w()),
            "pooling_param: give both kernel_h and kernel_w");
    s.kernel_h = param.has_kernel_size() ? param.kernel_size() : param.kernel_h();
    s.kernel_w = param.has_kernel_size() ? param.kernel_size() : param.kernel_w();
  }
  Require(!param.has_stride() || !(param.has_stride_h() || param.has_stride_w()),
          "pooling_param: give stride or stride_h and stride_w, not both");
  Require(!param.has_pad() || !(param.has_pad_h() || param.has_pad_w()),
          "pooling_param: give pad or pad_h and pad_w, not both");
  s.stride_h = param.has_stride_h() ? param.stride_h() : param.stride();
  s.stride_w = param.has_stride_w() ? param.stride_w() : param.stride();
  s.pad_h = param.has_pad_h() ? param.pad_h() : param.pad();
  s.pad_w = param.has_pad_w() ? param.pad_w() : param.pad();
  Require(s.kernel_h > 0 && s.kernel_w > 0,
          "pooling_param: the kernel must be at least 1 x 1, got ", s.kernel_h, " x ", s.kernel_w);
  Require(s.stride_h > 0 && s.stride_w > 0, "pooling_param: stride must be positive, got ",
          s.stride_h, " x ", s.stride_w);
  Require(s.pad_h >= 0 && s.pad_w >= 0 && s.pad_h < s.kernel_h && s.pad_w < s.kernel_w,
          "pooling_param: pad must be smaller than the kernel, got ", s.pad_h, " x ", s.pad_w,
          " for ", s.kernel_h, " x ", s.kernel_w);
  if (param.global_pooling()) {
    Require(s.pad_h == 0 && s.pad_w == 0 && s.stride_h == 1 && s.stride_w == 1,
            "pooling_param: global_pooling has pad 0 and stride 1");
  }
  return s;
}

// A window may reach over the end, so a kernel may be larger than what it pools as long as one
// window begins on it.
int PooledExtent(const PoolingParameter& param, int extent, int kernel, int stride, int pad) {
  const double steps = double(extent + 2 * pad - kernel) / stride;
  const bool floor = param.round_mode() == PoolingParameter_RoundMode_FLOOR;
  int pooled = static_cast<int>(floor ? std::floor(steps) : std::ceil(steps)) + 1;
  Require(pooled >= 1, "pooling_param: the kernel covers ", kernel,
          " positions, the padded bottom has ", extent + 2 * pad);
  if (pad > 0 && (pooled - 1) * stride >= extent + pad) --pooled;
  return pooled;
}

kernels::PoolingShape PooledShape(const PoolingParameter& param, const Shape& bottom) {
  Require(bottom.size() == 4, "Pooling takes a bottom of 4 axes (N, C, H, W), not ",
          ShapeString(bottom));
  kernels::PoolingShape s = ReadShape(param, bottom[2], bottom[3]);
  s.planes = size_t(bottom[0]) * bottom[1];
  s.pooled_height = PooledExtent(param, s.height, s.kernel_h, s.stride_h, s.pad_h);
  s.pooled_width = PooledExtent(param, s.width, s.kernel_w, s.stride_w, s.pad_w);
  return s;
}

std::vector<Shape> TopShapes(const LayerParameter& layer, const std::vector<Shape>& bottoms) {
  const Shape& bottom = bottoms.at(0);
  const kernels::PoolingShape s = PooledShape(layer.pooling_param(), bottom);
  const Shape top = {bottom[0], bottom[1], s.pooled_height, s.pooled_width};
  return std::vector<Shape>(std::max(1, layer.top_size()), top);
}

const bool registered = OperationTable::Add(Operation("Pooling")
                                                .Shapes(TopShapes)
                                                .BackwardReads(Operation::kBottomData)
                                                .Native()
                                                .FloatTops({1})
                                                .Homogeneous()
                                                .Quantizable());

}  // namespace

template <typename Dtype>
void PoolingLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) {
  const PoolingParameter& param = this->layer_param_.pooling_param();
  Require(param.pool() != PoolingParameter_PoolMethod_STOCHASTIC,
          "pooling_param: pool STOCHASTIC is not available: use MAX or AVE");
}

template <typename Dtype>
void PoolingLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top) {
  shape_ = PooledShape(this->layer_param_.pooling_param(), bottom[0]->shape());
  const vector<int> pooled = {bottom[0]->num(), bottom[0]->channels(), shape_.pooled_height,
                              shape_.pooled_width};
  for (Blob<Dtype>* blob : top) blob->Reshape(pooled);
}

template <typename Dtype>
void PoolingLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  const bool keep_index = is_max() && (this->phase_ == TRAIN || top.size() > 1);
  index_.resize(keep_index ? top[0]->count() : 0);
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = bottom[0]->template cpu_data_as<T>();
    T* y = top[0]->template overwrite_cpu_data_as<T>();
    if (is_max()) {
      kernels::MaxPoolingForward(shape_, x, y, keep_index ? index_.data() : nullptr);
    } else {
      kernels::AveragePoolingForward(shape_, x, y);
    }
  });
  if (top.size() > 1) {
    std::copy(index_.begin(), index_.end(), top[1]->template overwrite_cpu_data_as<Dtype>());
  }
}

// A TEST net that is asked for gradients all the same finds the maxima again.
template <typename Dtype>
const vector<int>& PoolingLayer<Dtype>::IndexOfMaxima(const Blob<Dtype>& bottom) {
  const size_t count = shape_.planes * shape_.output_plane();
  if (index_.size() == count) return index_;
  index_.resize(count);
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    Workspace::Buffer<T> pooled(Context::Current().workspace(), count);
    kernels::MaxPoolingForward(shape_, bottom.template cpu_data_as<T>(), pooled.get(),
                               index_.data());
  });
  return index_;
}

template <typename Dtype>
void PoolingLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                       const vector<bool>& propagate_down,
                                       const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    const D* dy = top[0]->template cpu_diff_as<D>();
    D* dx = bottom[0]->template overwrite_cpu_diff_as<D>();
    if (is_max()) {
      kernels::MaxPoolingBackward(shape_, dy, IndexOfMaxima(*bottom[0]).data(), dx);
    } else {
      kernels::AveragePoolingBackward(shape_, dy, dx);
    }
  });
}

INSTANTIATE_CLASS(PoolingLayer);
REGISTER_LAYER_CLASS(Pooling);

}  // namespace caffe
