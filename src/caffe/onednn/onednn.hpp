#ifndef CAFFE_ONEDNN_ONEDNN_HPP_
#define CAFFE_ONEDNN_ONEDNN_HPP_

#include <cstdint>
#include <memory>
#include <vector>

#include "caffe/kernels/convolution.hpp"
#include "caffe/pointwise.hpp"
#include "caffe/tensor.hpp"

namespace caffe {

/// oneDNN's primitives for fixed shapes, on float in host memory, in the layouts that it chose and
/// Tensor knows. Versions 2.6 and 3.x differ in onednn.cpp only; a build without oneDNN has the
/// same functions, and each make returns null. Objects are for one thread at a time.
///
/// Make returns null where oneDNN has nothing better than plain loops for the configuration.
namespace onednn {

/// False in builds without oneDNN and where the environment says CAFFE_ONEDNN=0.
bool Enabled();
/// For tests: turns it off and on in this process.
void SetEnabled(bool enabled);
/// "2.6.3", or "" in a build without oneDNN.
const char* Version();

/// y = activation(conv(x, w) + bias).
class Convolution {
 public:
  struct Options {
    bool bias = false;
    bool training = false;           ///< the backward functions will be called
    PointwiseActivation activation;  ///< not in training
  };
  static std::unique_ptr<Convolution> Make(const kernels::ConvolutionShape& shape, int num,
                                           const Options& options);
  ~Convolution();

  const Layout& source() const;  ///< of x, as Forward takes it
  const Layout& target() const;  ///< of y, as Forward writes it
  /// Weights as Caffe stores them, for Forward. In training they are not copied: they stay where
  /// they are until the last Forward with them.
  void SetWeights(const float* weights);
  void Forward(const float* x, const float* bias, float* y);

  /// Of dy and dx, for BackwardData; of x and dy, for BackwardWeights.
  const Layout& data_target() const;
  const Layout& data_source() const;
  const Layout& weights_source() const;
  const Layout& weights_target() const;
  /// dx; `weights` as Caffe stores them.
  void BackwardData(const float* dy, const float* weights, float* dx);
  /// Adds to d_weights and, if not null, d_bias.
  void BackwardWeights(const float* x, const float* dy, float* d_weights, float* d_bias);

 private:
  struct State;
  explicit Convolution(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Local response normalization across channels: y = x / (k + alpha / size sum x^2)^beta.
class Lrn {
 public:
  static std::unique_ptr<Lrn> Make(int num, int channels, int height, int width, int size,
                                   float alpha, float beta, float k, bool training,
                                   const Layout& layout);
  ~Lrn();

  const Layout& layout() const;  ///< of x, y, dy and dx
  void Forward(const float* x, float* y);
  /// After Forward, in training.
  void Backward(const float* x, const float* dy, float* dx);

 private:
  struct State;
  explicit Lrn(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace onednn
}  // namespace caffe

#endif  // CAFFE_ONEDNN_ONEDNN_HPP_
