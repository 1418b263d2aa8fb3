#include "caffe/fp16/inner_ranges.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "caffe/layer_factory.hpp"

namespace caffe {
namespace {

using Blobs = std::vector<Blob<float>*>;

void Raise(double magnitude, const char* what, InnerRanges* ranges) {
  double& largest = (*ranges)[what];
  // NaN stays out: it is reported where it comes from.
  if (std::abs(magnitude) > largest) largest = std::abs(magnitude);
}

/// Sums in which all positive terms, or all negative ones, come first are the largest on the way.
class Terms {
 public:
  void Add(double term) { (term > 0 ? positive_ : negative_) += std::abs(term); }
  double LargestOfAnyOrder() const { return std::max(positive_, negative_); }

 private:
  double positive_ = 0, negative_ = 0;
};

/// A layer that is linear in its bottom. With S its result without bias and A that of absolute
/// weights on absolute values, positive and negative terms sum up to (A + S) / 2 and (A - S) / 2.
class LinearWatch : public InnerWatch {
 public:
  /// `terms` values are averaged where the layer divides (1 where it does not); called with the
  /// bottom.
  using Divisor = std::function<double(const LayerParameter&, const Blob<float>&)>;
  LinearWatch(const Layer<float>& layer, const char* what, Divisor divisor)
      : param_(layer.layer_param()), what_(what), divisor_(std::move(divisor)) {
    param_.clear_blobs();
    param_.clear_param();
    param_.clear_loss_weight();
    if (param_.type() == "InnerProduct") {
      param_.mutable_inner_product_param()->set_bias_term(false);
    } else if (param_.type() != "Pooling") {
      param_.mutable_convolution_param()->set_bias_term(false);
    }
  }

  void Add(Layer<float>* layer, const Blobs& bottoms, InnerRanges* ranges) override {
    for (Blob<float>* bottom : bottoms) AddBottom(*layer, bottom, ranges);
  }

 private:
  void AddBottom(Layer<float>& layer, Blob<float>* bottom, InnerRanges* ranges) {
    absolute_bottom_.ReshapeLike(*bottom);
    const float* x = bottom->cpu_data();
    std::transform(x, x + bottom->count(), absolute_bottom_.mutable_cpu_data(),
                   [](float value) { return std::abs(value); });
    Run(layer, bottom, /*absolute=*/false, &sums_);
    Run(layer, &absolute_bottom_, /*absolute=*/true, &absolute_sums_);
    const double divisor = divisor_(param_, *bottom);
    double largest = 0;
    for (int i = 0; i < sums_.count(); ++i) {
      const double either = double(absolute_sums_.cpu_data()[i]) + std::abs(sums_.cpu_data()[i]);
      if (either > largest) largest = either;
    }
    Raise(divisor * largest / 2, what_, ranges);
  }

  void Run(Layer<float>& layer, Blob<float>* bottom, bool absolute, Blob<float>* top) {
    if (!twin_) {
      twin_ = LayerRegistry<float>::CreateLayer(param_);
      twin_->SetUp({bottom}, {top});
    }
    if (!twin_->blobs().empty()) {
      const Blob<float>& weights = *layer.blobs()[0];
      const float* w = weights.cpu_data();
      std::transform(w, w + weights.count(), twin_->blobs()[0]->mutable_cpu_data(),
                     [absolute](float value) { return absolute ? std::abs(value) : value; });
    }
    twin_->Forward({bottom}, {top});
  }

  LayerParameter param_;
  const char* what_;
  Divisor divisor_;
  shared_ptr<Layer<float>> twin_;  // without bias
  Blob<float> absolute_bottom_, sums_, absolute_sums_;
};

double NotDivided(const LayerParameter&, const Blob<float>&) { return 1; }

double PoolingArea(const LayerParameter& layer, const Blob<float>& bottom) {
  const PoolingParameter& param = layer.pooling_param();
  if (param.global_pooling()) return double(bottom.count(2));
  const double height = param.has_kernel_h() ? param.kernel_h() : param.kernel_size();
  const double width = param.has_kernel_w() ? param.kernel_w() : param.kernel_size();
  return height * width;
}

/// Calls f(values, length, stride) for each set of values along `axis`.
template <typename Function>
void ForEachLine(const Blob<float>& blob, int axis, Function&& f) {
  const int length = blob.shape(axis), inner = blob.count(axis + 1);
  for (int outer = 0; outer < blob.count(0, axis); ++outer) {
    for (int k = 0; k < inner; ++k) {
      f(blob.cpu_data() + size_t(outer) * length * inner + k, length, inner);
    }
  }
}

void WatchReduction(Layer<float>* layer, const Blobs& bottoms, InnerRanges* ranges) {
  const ReductionParameter& param = layer->layer_param().reduction_param();
  const Blob<float>& bottom = *bottoms[0];
  const int axis = bottom.CanonicalAxisIndex(param.axis());
  const int rows = bottom.count(0, axis), length = bottom.count(axis);
  const bool squares = param.operation() == ReductionParameter_ReductionOp_SUMSQ;
  const bool absolute = param.operation() == ReductionParameter_ReductionOp_ASUM;
  for (int row = 0; row < rows; ++row) {
    Terms terms;
    for (int i = 0; i < length; ++i) {
      const double x = bottom.cpu_data()[size_t(row) * length + i];
      terms.Add(squares ? x * x : absolute ? std::abs(x) : x);
    }
    Raise(terms.LargestOfAnyOrder(), squares ? "sum of squares" : "sum", ranges);
  }
}

/// The largest sum of `size` neighbours among `length` squares that lie `stride` apart.
double LargestWindow(const float* x, int length, size_t stride, int size) {
  double sum = 0, largest = 0;
  const auto square = [&](int i) { return double(x[i * stride]) * x[i * stride]; };
  for (int i = 0; i < length; ++i) {
    sum += square(i);
    if (i >= size) sum -= square(i - size);
    if (sum > largest) largest = sum;
  }
  return largest;
}

void WatchLrn(Layer<float>* layer, const Blobs& bottoms, InnerRanges* ranges) {
  const LRNParameter& param = layer->layer_param().lrn_param();
  const Blob<float>& bottom = *bottoms[0];
  const int size = param.local_size();
  if (param.norm_region() == LRNParameter_NormRegion_ACROSS_CHANNELS) {
    ForEachLine(bottom, 1, [&](const float* x, int length, size_t stride) {
      Raise(LargestWindow(x, length, stride, size), "sum of squares", ranges);
    });
    return;
  }
  const int height = bottom.height(), width = bottom.width();
  for (int plane = 0; plane < bottom.num() * bottom.channels(); ++plane) {
    const float* x = bottom.cpu_data() + size_t(plane) * height * width;
    // Rows' sums of squares, one row after the other, are as good as the squares themselves.
    std::vector<float> roots(size_t(width) * height);
    for (int h = 0; h < height; ++h) {
      double sum = 0;
      for (int w = 0; w < width; ++w) {
        sum += double(x[h * width + w]) * x[h * width + w];
        if (w >= size) sum -= double(x[h * width + w - size]) * x[h * width + w - size];
        roots[size_t(w) * height + h] = static_cast<float>(std::sqrt(std::max(sum, 0.0)));
      }
    }
    for (int w = 0; w < width; ++w) {
      Raise(LargestWindow(&roots[size_t(w) * height], height, 1, size), "sum of squares", ranges);
    }
  }
}

double SumOfSquares(const float* x, int length, size_t stride) {
  double sum = 0;
  for (int i = 0; i < length; ++i) sum += double(x[i * stride]) * x[i * stride];
  return sum;
}

void WatchNormalize(Layer<float>* layer, const Blobs& bottoms, InnerRanges* ranges) {
  const LayerParameter& param = layer->layer_param();
  const Blob<float>& bottom = *bottoms[0];
  if (!param.has_normalize_param() && param.norm_param().across_spatial()) {
    for (int n = 0; n < bottom.shape(0); ++n) {
      const int length = bottom.count(1);
      Raise(SumOfSquares(bottom.cpu_data() + size_t(n) * length, length, 1), "sum of squares",
            ranges);
    }
    return;
  }
  ForEachLine(bottom, 1, [&](const float* x, int length, size_t stride) {
    Raise(SumOfSquares(x, length, stride), "sum of squares", ranges);
  });
}

/// Adds up one set of values after another.
class Moments {
 public:
  void Add(const float* x, int count) {
    for (int i = 0; i < count; ++i) terms_.Add(x[i]);
    squares_ += SumOfSquares(x, count, 1);
  }
  void Report(InnerRanges* ranges) const {
    Raise(terms_.LargestOfAnyOrder(), "sum", ranges);
    Raise(squares_, "sum of squares", ranges);
  }

 private:
  Terms terms_;
  double squares_ = 0;
};

void WatchMvn(Layer<float>* layer, const Blobs& bottoms, InnerRanges* ranges) {
  const Blob<float>& bottom = *bottoms[0];
  const bool across = layer->layer_param().mvn_param().across_channels();
  const int rows = across ? bottom.num() : bottom.num() * bottom.channels();
  const int length = rows == 0 ? 0 : bottom.count() / rows;
  for (int row = 0; row < rows; ++row) {
    Moments moments;
    moments.Add(bottom.cpu_data() + size_t(row) * length, length);
    moments.Report(ranges);
  }
}

void WatchBatchStatistics(const Blob<float>& bottom, InnerRanges* ranges) {
  const int channels = bottom.num_axes() > 1 ? bottom.shape(1) : 1;
  const int outer = bottom.num_axes() > 1 ? bottom.shape(0) : 1;
  const int inner = bottom.count() / std::max(1, outer * channels);
  for (int c = 0; c < channels; ++c) {
    Moments moments;
    for (int n = 0; n < outer; ++n) {
      moments.Add(bottom.cpu_data() + (size_t(n) * channels + c) * inner, inner);
    }
    moments.Report(ranges);
  }
}

void WatchStoredStatistics(const Blob<float>& bottom, const Blob<float>& mean,
                           const Blob<float>& variance, double factor, InnerRanges* ranges) {
  for (int c = 0; c < mean.count(); ++c) {
    Raise(mean.cpu_data()[c], "stored mean", ranges);
    Raise(variance.cpu_data()[c], "stored variance", ranges);
  }
  const int channels = mean.count();
  const int outer = bottom.num_axes() > 1 ? bottom.shape(0) : 1;
  const int inner = bottom.count() / std::max(1, outer * channels);
  for (int row = 0; row < outer * channels; ++row) {
    const double center = factor * mean.cpu_data()[row % channels];
    const float* x = bottom.cpu_data() + size_t(row) * inner;
    for (int i = 0; i < inner; ++i) Raise(x[i] - center, "x - mean", ranges);
  }
}

void WatchBatchNorm(Layer<float>* layer, const Blobs& bottoms, InnerRanges* ranges) {
  const BatchNormParameter& param = layer->layer_param().batch_norm_param();
  if (param.has_use_global_stats() && !param.use_global_stats()) {
    return WatchBatchStatistics(*bottoms[0], ranges);
  }
  const double weight = layer->blobs()[2]->cpu_data()[0];
  WatchStoredStatistics(*bottoms[0], *layer->blobs()[0], *layer->blobs()[1],
                        weight == 0 ? 0 : 1 / weight, ranges);
}

void WatchBn(Layer<float>* layer, const Blobs& bottoms, InnerRanges* ranges) {
  if (layer->blobs().size() == 4) {
    WatchStoredStatistics(*bottoms[0], *layer->blobs()[2], *layer->blobs()[3], 1, ranges);
  } else if (layer->layer_param().bn_param().bn_mode() == BNParameter_BnMode_LEARN) {
    WatchBatchStatistics(*bottoms[0], ranges);
  }
}

void WatchScale(Layer<float>* layer, const Blobs& bottoms, InnerRanges* ranges) {
  if (bottoms.size() != 1 || !layer->layer_param().scale_param().bias_term()) return;
  const Blob<float>& scale = *layer->blobs()[0];
  const Blob<float>& bottom = *bottoms[0];
  int axis = 0;
  if (scale.num_axes() > 0) {
    axis = bottom.CanonicalAxisIndex(layer->layer_param().scale_param().axis());
  }
  const int factors = scale.count(), inner = bottom.count(axis) / std::max(1, factors);
  for (int i = 0; i < bottom.count(); ++i) {
    Raise(double(bottom.cpu_data()[i]) * scale.cpu_data()[i / inner % factors], "product", ranges);
  }
}

void WatchEltwise(Layer<float>* layer, const Blobs& bottoms, InnerRanges* ranges) {
  const EltwiseParameter& param = layer->layer_param().eltwise_param();
  const bool product = param.operation() == EltwiseParameter_EltwiseOp_PROD;
  if (bottoms.size() < 3 || param.operation() == EltwiseParameter_EltwiseOp_MAX) return;
  for (int k = 0; k < bottoms[0]->count(); ++k) {
    double result = product ? 1 : 0;
    for (size_t i = 0; i < bottoms.size(); ++i) {
      const double x = bottoms[i]->cpu_data()[k];
      const double coeff = static_cast<int>(i) < param.coeff_size() ? param.coeff(i) : 1;
      result = product ? result * x : result + coeff * x;
      Raise(result, product ? "partial product" : "partial sum", ranges);
    }
  }
}

void WatchSoftmax(Layer<float>* layer, const Blobs& bottoms, InnerRanges* ranges) {
  const Blob<float>& bottom = *bottoms[0];
  const int axis = bottom.CanonicalAxisIndex(layer->layer_param().softmax_param().axis());
  ForEachLine(bottom, axis, [&](const float* x, int length, size_t stride) {
    double largest = x[0], sum = 0;
    for (int i = 1; i < length; ++i) largest = std::max<double>(largest, x[i * stride]);
    for (int i = 0; i < length; ++i) {
      Raise(x[i * stride] - largest, "x - max", ranges);
      sum += std::exp(x[i * stride] - largest);
    }
    Raise(sum, "sum of exp(x - max)", ranges);
  });
}

/// Power, Exp and Log have fields of the same names.
template <typename Param>
void WatchArgument(const Param& param, const Blob<float>& bottom, InnerRanges* ranges) {
  for (int i = 0; i < bottom.count(); ++i) {
    Raise(param.shift() + double(param.scale()) * bottom.cpu_data()[i], "shift + scale x", ranges);
  }
}

/// A watch without a state.
class FunctionWatch : public InnerWatch {
 public:
  using Function = void (*)(Layer<float>*, const Blobs&, InnerRanges*);
  explicit FunctionWatch(Function function) : function_(function) {}
  void Add(Layer<float>* layer, const Blobs& bottoms, InnerRanges* ranges) override {
    function_(layer, bottoms, ranges);
  }

 private:
  Function function_;
};

FunctionWatch::Function FunctionFor(const std::string& type) {
  static const std::map<std::string, FunctionWatch::Function> functions = {
      {"Reduction", WatchReduction},
      {"LRN", WatchLrn},
      {"Normalize", WatchNormalize},
      {"MVN", WatchMvn},
      {"BatchNorm", WatchBatchNorm},
      {"BN", WatchBn},
      {"Scale", WatchScale},
      {"Eltwise", WatchEltwise},
      {"Softmax", WatchSoftmax},
      {"SoftmaxWithLoss", WatchSoftmax},
      {"Power",
       [](Layer<float>* layer, const Blobs& bottoms, InnerRanges* ranges) {
         WatchArgument(layer->layer_param().power_param(), *bottoms[0], ranges);
       }},
      {"Exp",
       [](Layer<float>* layer, const Blobs& bottoms, InnerRanges* ranges) {
         WatchArgument(layer->layer_param().exp_param(), *bottoms[0], ranges);
       }},
      {"Log", [](Layer<float>* layer, const Blobs& bottoms, InnerRanges* ranges) {
         WatchArgument(layer->layer_param().log_param(), *bottoms[0], ranges);
       }}};
  const auto found = functions.find(type);
  return found == functions.end() ? nullptr : found->second;
}

}  // namespace

std::unique_ptr<InnerWatch> InnerWatch::Make(const Layer<float>& layer) {
  const std::string type = layer.layer_param().type();
  if (LayerRegistry<float>::IsReplaced(type)) return nullptr;  // it may compute anything
  for (const char* linear : {"Convolution", "DepthwiseConvolution", "ConvolutionDepthwise",
                             "Deconvolution", "InnerProduct"}) {
    if (type == linear) {
      return std::make_unique<LinearWatch>(layer, "partial sum", NotDivided);
    }
  }
  const PoolingParameter_PoolMethod pool = layer.layer_param().pooling_param().pool();
  if (type == "Pooling" && pool == PoolingParameter_PoolMethod_AVE) {
    return std::make_unique<LinearWatch>(layer, "sum", PoolingArea);
  }
  const FunctionWatch::Function function = FunctionFor(type);
  return function ? std::make_unique<FunctionWatch>(function) : nullptr;
}

}  // namespace caffe
