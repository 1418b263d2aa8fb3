#include <vector>

#include "caffe/kernels/elementwise.hpp"
#include "convolution.hpp"

namespace caffe::algorithms {
namespace {

using kernels::Destination;
using kernels::Numbers;

/// Seen from the convolution, a Deconvolution's forward pass is the gradient of x.
class PlainConvolution : public Algorithm, public Gradients {
 public:
  explicit PlainConvolution(const ConvolutionProblem& problem)
      : shape_(problem.shape),
        num_(problem.num),
        transposed_(problem.transposed),
        reference_(problem.settings.is_reference()) {}

  const char* engine() const override { return reference_ ? "reference" : "native"; }
  bool packs() const override { return false; }
  void Run(const Numbers& x, const Weights& weights, const kernels::PostOps&, void*,
           const Destination& y) const override {
    Dispatch(x.type, [&](auto tag) {
      using T = decltype(tag);
      (transposed_ ? Transposed<T, T>() : Forward<T, T>())(
          shape_, num_, static_cast<const T*>(x.data), static_cast<const T*>(weights.values.data),
          static_cast<const T*>(weights.bias.data), static_cast<T*>(y.y));
    });
  }

  const Gradients* gradients() const override { return this; }
  void Data(const Numbers& dy, const Numbers& weights, const Destination& dx) const override {
    Dispatch(weights.type, dy.type, [&](auto data_tag, auto diff_tag) {
      using T = decltype(data_tag);
      using D = decltype(diff_tag);
      (transposed_ ? Forward<T, D>() : Transposed<T, D>())(
          shape_, num_, static_cast<const D*>(dy.data), static_cast<const T*>(weights.data),
          nullptr, static_cast<D*>(dx.y));
    });
  }
  void Parameters(const Numbers& x, const Numbers& dy, void* d_weights,
                  void* d_bias) const override {
    Dispatch(x.type, dy.type, [&](auto data_tag, auto diff_tag) {
      using T = decltype(data_tag);
      using D = decltype(diff_tag);
      using G = AccumulatorType<D>;
      const T* bottom = static_cast<const T*>(x.data);
      const D* top = static_cast<const D*>(dy.data);
      if (d_bias) AddBiasGradient(top, static_cast<G*>(d_bias));
      if (!d_weights) return;
      if (transposed_) {
        WeightGradient<D, T>()(shape_, num_, top, bottom, static_cast<G*>(d_weights));
      } else {
        WeightGradient<T, D>()(shape_, num_, bottom, top, static_cast<G*>(d_weights));
      }
    });
  }

 private:
  template <typename W, typename X>
  auto Forward() const {
    return reference_ ? kernels::ReferenceConvolutionForward<W, X>
                      : kernels::ConvolutionForward<W, X>;
  }
  template <typename W, typename X>
  auto Transposed() const {
    return reference_ ? kernels::ReferenceConvolutionBackwardData<W, X>
                      : kernels::ConvolutionBackwardData<W, X>;
  }
  template <typename X, typename D>
  auto WeightGradient() const {
    return reference_ ? kernels::ReferenceConvolutionBackwardWeights<X, D>
                      : kernels::ConvolutionBackwardWeights<X, D>;
  }
  template <typename D, typename G>
  void AddBiasGradient(const D* dy, G* d_bias) const {
    const int outputs = transposed_ ? shape_.channels : shape_.outputs;
    const size_t spatial = transposed_ ? shape_.input_spatial() : shape_.output_spatial();
    std::vector<double> sums(outputs);
    kernels::ChannelSums(num_, outputs, spatial, dy, dy, sums.data(), nullptr);
    for (int o = 0; o < outputs; ++o) d_bias[o] += static_cast<G>(sums[o]);
  }

  const kernels::ConvolutionShape shape_;
  const int num_;
  const bool transposed_, reference_;
};

}  // namespace

AlgorithmPtr Plain(const ConvolutionProblem& problem) {
  return std::make_shared<PlainConvolution>(problem);
}

}  // namespace caffe::algorithms
