#include "caffe/layers/pooling_layer.hpp"

#include <cmath>

#include "caffe/context.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/pooling.hpp"
#include "caffe/kernels/reference.hpp"
#include "caffe/layers/channel_order.hpp"
#include "caffe/onednn/for_shape.hpp"

namespace caffe {
namespace {

/// kernel_size or kernel_h and kernel_w, likewise stride and pad, for a bottom of these extents.
kernels::PoolingShape ReadWindowShape(const PoolingParameter& param, int height, int width) {
  kernels::PoolingShape s;
  s.height = height;
  s.width = width;
  if (param.global_pooling()) {
    Require(!param.has_kernel_size() && !param.has_kernel_h() && !param.has_kernel_w(),
            Error::Field{"pooling_param"}, ": global_pooling takes the whole image",
            Error::Remedy{"do not give kernel_size"});
    s.kernel_h = height;
    s.kernel_w = width;
  } else {
    Require(param.has_kernel_size() != (param.has_kernel_h() || param.has_kernel_w()),
            Error::Field{"pooling_param"},
            Error::Remedy{"give kernel_size, or kernel_h and kernel_w"});
    Require(param.has_kernel_size() || (param.has_kernel_h() && param.has_kernel_w()),
            Error::Field{"pooling_param"}, Error::Remedy{"give both kernel_h and kernel_w"});
    s.kernel_h = param.has_kernel_size() ? param.kernel_size() : param.kernel_h();
    s.kernel_w = param.has_kernel_size() ? param.kernel_size() : param.kernel_w();
  }
  for (unsigned dilation : param.dilation()) {
    Require(dilation == 1, Error::Field{"pooling_param"}, ": dilation ", dilation,
            " is not available: windows have no gaps, leave it out");
  }
  Require(!param.has_stride() || !(param.has_stride_h() || param.has_stride_w()),
          Error::Field{"pooling_param"},
          Error::Remedy{"give stride or stride_h and stride_w, not both"});
  Require(!param.has_pad() || !(param.has_pad_h() || param.has_pad_w()),
          Error::Field{"pooling_param"}, Error::Remedy{"give pad or pad_h and pad_w, not both"});
  s.stride_h = param.has_stride_h() ? param.stride_h() : param.stride();
  s.stride_w = param.has_stride_w() ? param.stride_w() : param.stride();
  s.pad_h = param.has_pad_h() ? param.pad_h() : param.pad();
  s.pad_w = param.has_pad_w() ? param.pad_w() : param.pad();
  Require(s.kernel_h > 0 && s.kernel_w > 0, Error::Field{"pooling_param"},
          ": the kernel must be at least 1 x 1, got ", s.kernel_h, " x ", s.kernel_w);
  Require(s.stride_h > 0 && s.stride_w > 0, Error::Field{"pooling_param"},
          ": stride must be positive, got ", s.stride_h, " x ", s.stride_w);
  // Kernels count positions of windows in 32 bits.
  constexpr int kMost = 1 << 24;
  const bool counted = param.global_pooling() || int64_t(s.kernel_h) * s.kernel_w <= kMost;
  Require(counted && s.stride_h <= kMost && s.stride_w <= kMost, Error::Field{"pooling_param"},
          ": a kernel of ", s.kernel_h, " x ", s.kernel_w, " with stride ", s.stride_h, " x ",
          s.stride_w, " is larger than images are", Error::Remedy{Join("give up to ", kMost)});
  Require(s.pad_h >= 0 && s.pad_w >= 0 && s.pad_h < s.kernel_h && s.pad_w < s.kernel_w,
          Error::Field{"pooling_param"}, ": pad must be smaller than the kernel, got ", s.pad_h,
          " x ", s.pad_w, " for ", s.kernel_h, " x ", s.kernel_w);
  if (param.global_pooling()) {
    Require(s.pad_h == 0 && s.pad_w == 0 && s.stride_h == 1 && s.stride_w == 1,
            Error::Field{"pooling_param"}, ": global_pooling has pad 0 and stride 1");
  }
  return s;
}

/// round_mode, or one of its other names.
bool RoundsDown(const PoolingParameter& param) {
  if (param.has_round_mode()) return param.round_mode() == PoolingParameter_RoundMode_FLOOR;
  return param.torch_pooling() || !param.ceil_mode();
}

// A window may reach over the end, so a kernel may be larger than what it pools as long as one
// window begins on it. Where there is padding on either axis, a last window that begins behind the
// image and its padding on the near side is left out.
int PooledExtent(bool rounds_down, bool padded, int extent, int kernel, int stride, int pad) {
  const int64_t reach = int64_t(extent) + 2 * int64_t(pad);
  const double steps = double(reach - kernel) / stride;
  const double pooled = (rounds_down ? std::floor(steps) : std::ceil(steps)) + 1;
  Require(pooled >= 1, Error::Field{"pooling_param"}, ": the kernel covers ", kernel,
          " positions, the padded bottom has ", reach);
  Require(pooled <= std::numeric_limits<int>::max(), Error::Field{"pooling_param"},
          ": the output has ", pooled, " positions", Error::Remedy{"reduce pad"});
  const int result = static_cast<int>(pooled);
  const bool behind = (int64_t(result) - 1) * stride >= int64_t(extent) + pad;
  return padded && behind ? result - 1 : result;
}

}  // namespace

kernels::PoolingShape PooledShape(const PoolingParameter& param, const Shape& bottom) {
  Require(bottom.size() == 4, "Pooling takes a bottom of 4 axes (N, C, H, W), not ",
          ShapeString(bottom));
  kernels::PoolingShape s = ReadWindowShape(param, bottom[2], bottom[3]);
  s.planes = size_t(bottom[0]) * bottom[1];
  const bool down = RoundsDown(param), padded = s.pad_h > 0 || s.pad_w > 0;
  Require(!padded || param.pool() != PoolingParameter_PoolMethod_STOCHASTIC,
          Error::Field{"pooling_param"}, ": pool STOCHASTIC takes no pad");
  s.pooled_height = PooledExtent(down, padded, s.height, s.kernel_h, s.stride_h, s.pad_h);
  s.pooled_width = PooledExtent(down, padded, s.width, s.kernel_w, s.stride_w, s.pad_w);
  return s;
}

namespace {

std::vector<Shape> TopShapesOfPooling(const LayerParameter& layer,
                                      const std::vector<Shape>& bottoms) {
  const Shape& bottom = bottoms.at(0);
  const kernels::PoolingShape s = PooledShape(layer.pooling_param(), bottom);
  const Shape top = {bottom[0], bottom[1], s.pooled_height, s.pooled_width};
  return std::vector<Shape>(std::max(1, layer.top_size()), top);
}

const bool pooling_registered = OperationTable::Add(Operation("Pooling")
                                                        .Shapes(TopShapesOfPooling)
                                                        .BackwardReads(Operation::kBottomData)
                                                        .Native()
                                                        .FloatTops({1})
                                                        .Homogeneous()
                                                        .Quantizable());

}  // namespace

template <typename Dtype>
void PoolingLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top) {
  if (!shape_ || bottom[0]->shape() != bottom_shape_) {
    shape_ = std::make_shared<const kernels::PoolingShape>(
        PooledShape(this->layer_param_.pooling_param(), bottom[0]->shape()));
    bottom_shape_ = bottom[0]->shape();
  }
  const vector<int> pooled = {bottom[0]->num(), bottom[0]->channels(), shape_->pooled_height,
                              shape_->pooled_width};
  for (Blob<Dtype>* blob : top) blob->Reshape(pooled);
}

// Calls f with the mask that has a byte per output where bytes are enough, resized.
template <typename Dtype>
template <typename Function>
void PoolingLayer<Dtype>::WithMask(size_t count, Function&& f) {
  if (kernels::ByteMask(*shape_)) {
    byte_mask_.resize(count);
    f(byte_mask_.data());
  } else {
    mask_.resize(count);
    f(mask_.data());
  }
}

template <typename Dtype>
void PoolingLayer<Dtype>::ForgetMask() {
  has_mask_ = false;
  vector<uint8_t>().swap(byte_mask_);
  vector<int>().swap(mask_);
}

template <typename Dtype>
template <typename T>
void PoolingLayer<Dtype>::PoolMaxima(const T* x, T* y, Blob<Dtype>* positions) {
  has_mask_ = this->phase_ == TRAIN;
  if (!has_mask_ && !positions) {
    kernels::MaxPoolingForward<T, int>(*shape_, x, y, nullptr);
    return;
  }
  WithMask(shape_->planes * shape_->output_plane(), [&](auto* mask) {
    kernels::MaxPoolingForward(*shape_, x, y, mask);
    if (positions) {
      kernels::MaskPositions(*shape_, mask, positions->template overwrite_cpu_data_as<Dtype>());
    }
  });
}

// One draw per output, in their order.
template <typename Dtype>
template <typename T>
void PoolingLayer<Dtype>::PoolAtRandom(const T* x, T* y) {
  const size_t count = shape_->planes * shape_->output_plane();
  Workspace::Buffer<float> draws(Context::Current().workspace(), count);
  caffe_rng_uniform<float>(static_cast<int>(count), 0, 1, draws.get());
  has_mask_ = true;
  WithMask(count, [&](auto* mask) {
    kernels::StochasticPoolingForward(*shape_, x, draws.get(), y, mask);
  });
}

// Channels last, or in blocks: either way numbers of several channels lie side by side at each
// pixel of a plane, and the top's lie as the bottom's.
template <typename Dtype>
template <typename T>
bool PoolingLayer<Dtype>::ForwardPixels(const Blob<Dtype>& bottom,
                                        const vector<Blob<Dtype>*>& top) {
  const Layout layout = OrderedLayout<T>(bottom, bottom.num(), bottom.channels());
  if (layout.kind == Layout::PLAIN || bottom.count() == 0 || top.size() > 1 ||
      method() == PoolingParameter_PoolMethod_STOCHASTIC) {
    return false;
  }
  pixels_ = layout;
  pooled_layout_ = layout.kind == Layout::CHANNELS_LAST
                       ? ChannelsLast(top[0]->shape())
                       : Layout::ChannelsBlocked(layout.block, layout.num, layout.channels,
                                                 shape_->output_plane());
  const T* x = ReadAs<T>(bottom.data_tensor(), pixels_);
  T* y = OverwriteAs<T>(top[0]->data_tensor(), pooled_layout_);
  if (method() == PoolingParameter_PoolMethod_AVE) {
    kernels::PixelAveragePoolingForward(PixelShape(), PixelChannels(), x, y);
  } else if (this->phase_ == TEST) {
    kernels::PixelMaxPoolingForward<T, int>(PixelShape(), PixelChannels(), x, y, nullptr);
  } else {
    has_mask_ = true;
    WithMask(pooled_layout_.extent(top[0]->count()), [&](auto* mask) {
      kernels::PixelMaxPoolingForward(PixelShape(), PixelChannels(), x, y, mask);
    });
  }
  return true;
}

template <typename Dtype>
template <typename D>
void PoolingLayer<Dtype>::BackwardPixels(const Blob<Dtype>& top, Blob<Dtype>* bottom) {
  const D* dy = ReadAs<D>(top.diff_tensor(), pooled_layout_);
  D* dx = OverwriteAs<D>(bottom->diff_tensor(), pixels_);
  if (method() == PoolingParameter_PoolMethod_AVE) {
    return kernels::PixelAveragePoolingBackward(PixelShape(), PixelChannels(), dy, dx);
  }
  WithMask(pooled_layout_.extent(top.count()), [&](auto* mask) {
    kernels::PixelMaskPoolingBackward(PixelShape(), PixelChannels(), dy, mask, dx);
  });
}

/// The channels that lie side by side in pixels_.
template <typename Dtype>
size_t PoolingLayer<Dtype>::PixelChannels() const {
  return pixels_.kind == Layout::CHANNELS_BLOCKED ? pixels_.block : pixels_.channels;
}

/// shape_ with images, or their blocks of channels, for planes.
template <typename Dtype>
kernels::PoolingShape PoolingLayer<Dtype>::PixelShape() const {
  kernels::PoolingShape shape = *shape_;
  shape.planes = pixels_.num * kernels::CeilDiv(pixels_.channels, PixelChannels());
  return shape;
}

template <typename Dtype>
onednn::Pooling* PoolingLayer<Dtype>::OneDnn(const Blob<Dtype>& bottom, size_t tops) {
  // By benchmarks/engines maxima take 0.1 to 0.85 of oneDNN's time, forward and backward together.
  if (!onednn::IsWanted<Dtype>(engine_, this->types(), /*faster=*/false) || tops > 1 ||
      method() == PoolingParameter_PoolMethod_STOCHASTIC) {
    return nullptr;
  }
  const Layout layout = LayoutFor<float>(bottom.data_tensor(), bottom.shape());
  if (!onednn_) onednn_ = std::make_shared<onednn::ForShape<onednn::Pooling>>();
  return onednn_->Get(bottom.shape(), layout, [&] {
    return onednn::Pooling::Make(*shape_, bottom.num(), bottom.channels(),
                                 method() == PoolingParameter_PoolMethod_AVE, this->phase_ == TRAIN,
                                 layout);
  });
}

template <typename Dtype>
void PoolingLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  if (this->phase_ == TEST) ForgetMask();
  pixels_ = Layout();
  active_ = OneDnn(*bottom[0], top.size());
  if (active_) {
    pooled_layout_ = onednn_->layout();
    pooled_layout_.spatial = shape_->output_plane();
    const float* x = ReadAs<float>(bottom[0]->data_tensor(), onednn_->layout());
    active_->Forward(x, OverwriteAs<float>(top[0]->data_tensor(), pooled_layout_));
    return;
  }
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (!std::is_same<T, double>::value) {
      const bool may = !is_reference(top.size()) && this->backward_type() != ElementType::DOUBLE;
      if (may && ForwardPixels<T>(*bottom[0], top)) return;
    }
    const T* x = bottom[0]->template cpu_data_as<T>();
    T* y = top[0]->template overwrite_cpu_data_as<T>();
    if (is_reference(top.size())) {
      const auto pool = method() == PoolingParameter_PoolMethod_MAX
                            ? kernels::ReferenceMaxPooling<T>
                            : kernels::ReferenceAveragePooling<T>;
      pool(*shape_, x, y);
    } else if (method() == PoolingParameter_PoolMethod_MAX) {
      PoolMaxima(x, y, top.size() > 1 ? top[1] : nullptr);
    } else if (method() == PoolingParameter_PoolMethod_AVE) {
      kernels::AveragePoolingForward(*shape_, x, y);
    } else if (this->phase_ == TRAIN) {
      PoolAtRandom(x, y);
    } else {
      kernels::ExpectedPoolingForward(*shape_, x, y);
    }
  });
}

template <typename Dtype>
void PoolingLayer<Dtype>::BackwardReference(const Blob<Dtype>& top, Blob<Dtype>* bottom) {
  Dispatch(this->forward_type(), this->backward_type(), [&](auto data_tag, auto diff_tag) {
    using T = decltype(data_tag);
    using D = decltype(diff_tag);
    const D* dy = top.template cpu_diff_as<D>();
    D* dx = bottom->template overwrite_cpu_diff_as<D>();
    if (method() == PoolingParameter_PoolMethod_MAX) {
      kernels::ReferenceMaxPoolingBackward(*shape_, bottom->template cpu_data_as<T>(), dy, dx);
    } else {
      kernels::ReferenceAveragePoolingBackward(*shape_, dy, dx);
    }
  });
}

// A TEST net that is asked for gradients all the same finds the maxima again.
template <typename Dtype>
void PoolingLayer<Dtype>::FindMask(const Blob<Dtype>& bottom) {
  if (has_mask_) return;
  Require(method() == PoolingParameter_PoolMethod_MAX, Error::Field{"pooling_param"},
          ": pool STOCHASTIC has a gradient in the TRAIN phase only");
  Dispatch(this->forward_type(), [&](auto tag) {
    using T = decltype(tag);
    Workspace::Buffer<T> pooled(Context::Current().workspace(),
                                shape_->planes * shape_->output_plane());
    WithMask(shape_->planes * shape_->output_plane(), [&](auto* mask) {
      kernels::MaxPoolingForward(*shape_, bottom.template cpu_data_as<T>(), pooled.get(), mask);
    });
  });
}

template <typename Dtype>
void PoolingLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                       const vector<bool>& propagate_down,
                                       const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  if (active_ && this->phase_ == TRAIN) {
    const float* dy = ReadAs<float>(top[0]->diff_tensor(), pooled_layout_);
    active_->Backward(dy, OverwriteAs<float>(bottom[0]->diff_tensor(), onednn_->layout()));
    return;
  }
  if (is_reference(top.size())) return BackwardReference(*top[0], bottom[0]);
  const bool has_pixels = pixels_.kind != Layout::PLAIN;
  if (method() != PoolingParameter_PoolMethod_AVE && !(has_pixels && has_mask_)) {
    FindMask(*bottom[0]);
    pixels_ = Layout();
  }
  Dispatch(this->backward_type(), [&](auto tag) {
    using D = decltype(tag);
    if constexpr (!std::is_same<D, double>::value) {
      if (pixels_.kind != Layout::PLAIN) {
        return this->template BackwardPixels<D>(*top[0], bottom[0]);
      }
    }
    const D* dy = top[0]->template cpu_diff_as<D>();
    D* dx = bottom[0]->template overwrite_cpu_diff_as<D>();
    if (method() == PoolingParameter_PoolMethod_AVE) {
      kernels::AveragePoolingBackward(*shape_, dy, dx);
    } else {
      WithMask(shape_->planes * shape_->output_plane(),
               [&](auto* mask) { kernels::MaskPoolingBackward(*shape_, dy, mask, dx); });
    }
  });
}

INSTANTIATE_CLASS(PoolingLayer);
REGISTER_LAYER_CLASS(Pooling);

}  // namespace caffe
