#ifndef CAFFE_ONEDNN_ONEDNN_HPP_
#define CAFFE_ONEDNN_ONEDNN_HPP_

#include <cstdint>
#include <memory>
#include <vector>

#include "caffe/kernels/activation.hpp"
#include "caffe/kernels/convolution.hpp"
#include "caffe/kernels/pooling.hpp"
#include "caffe/kernels/post_ops.hpp"
#include "caffe/tensor.hpp"

namespace caffe {

/// oneDNN's primitives for fixed shapes, on float in host memory, in layouts that Tensor knows: for
/// the convolutions those that oneDNN chose, else those that the caller has. Versions 2.6 and 3.x
/// differ in versions.hpp only; a build without oneDNN has the same functions, and each Make
/// returns null. Objects are for one thread at a time.
///
/// Make returns null where oneDNN has nothing better than plain loops for the configuration.
namespace onednn {

/// False in builds without oneDNN and where the environment says CAFFE_ONEDNN=0.
bool Enabled();
/// For tests: turns it off and on in this process.
void SetEnabled(bool enabled);
/// True where oneDNN multiplies BFLOAT16 by instructions of the processor (AVX512-BF16, AMX), and
/// the instruction set in use has AVX-512. Elsewhere it multiplies floats, slowly.
bool MultipliesBFloat16();
/// The version of the library that the program runs with, "2.6.3"; "" in a build without oneDNN.
const char* Version();

/// y = activation(A x + bias + residual), A being made of weights: what convolutions, their
/// transposes and inner products have in common.
class WeightedPrimitive {
 public:
  struct Options {
    bool bias = false;
    bool residual = false;  ///< added, lying as y; not in training
    bool training = false;  ///< the backward functions will be called
    /// Of a convolution: images lie in the blocks of the library's own kernels, also where these
    /// are not full; else oneDNN chooses there.
    bool in_blocks = false;
    kernels::Activation activation;  ///< of PostOps, its slopes are Forward's; not in training
    /// FLOAT, or BFLOAT16 for convolutions and inner products: the type of all that is multiplied,
    /// x, the packed weights and in training dy.
    ElementType type = ElementType::FLOAT;
    /// The type of y and the residual, that of dx in training: FLOAT, or `type` where nothing is
    /// trained.
    ElementType result = ElementType::FLOAT;
  };
  virtual ~WeightedPrimitive() = default;

  virtual const Layout& source() const = 0;  ///< of x, as Forward takes it
  virtual const Layout& target() const = 0;  ///< of y, as Forward writes it

  /// False where Forward reads the weights as Caffe stores them.
  virtual bool packs() const = 0;
  /// Elements of the weights in oneDNN's order.
  virtual size_t packed_size() const = 0;
  virtual void PackWeights(const float* weights, void* packed) const = 0;
  virtual void UnpackWeights(const void* packed, float* weights) const = 0;
  /// Of `post` it reads what the options have: bias, residual, and the activation's slopes.
  virtual void Forward(const void* x, const void* packed, const kernels::PostOps& post,
                       void* y) const = 0;

  /// The layouts of dy and dx, for BackwardData; of x and dy, for BackwardWeights.
  virtual const Layout& data_target() const = 0;
  virtual const Layout& data_source() const = 0;
  virtual const Layout& weights_source() const = 0;
  virtual const Layout& weights_target() const = 0;
  /// dx; `weights` as Caffe stores them.
  virtual void BackwardData(const void* dy, const float* weights, float* dx) const = 0;
  /// Adds to d_weights and, if not null, d_bias.
  virtual void BackwardWeights(const void* x, const void* dy, float* d_weights,
                               float* d_bias) const = 0;
};

/// Where the images of a convolution lie if oneDNN is not to choose.
struct ConvolutionPlaces {
  int source_block = 1, target_block = 1;  ///< channels in a block; 1: Caffe's order
  kernels::ImageStrides strides;
  /// The convolution and the number of images, one behind another, for which weights are packed.
  kernels::ConvolutionShape packed_shape;
  int packed_num = 0;
  /// For sizes that have no fast implementation of weights in that order: they are reordered in
  /// each pass, and a plain loop will do.
  bool repacks = false;
};

/// x (num, channels, input...), y (num, outputs, output...).
struct Convolution {
  using Options = WeightedPrimitive::Options;
  static std::unique_ptr<WeightedPrimitive> Make(const kernels::ConvolutionShape& shape, int num,
                                                 const Options& options);
  static std::unique_ptr<WeightedPrimitive> Make(const kernels::ConvolutionShape& shape, int num,
                                                 const Options& options,
                                                 const ConvolutionPlaces& places);
};

/// The transposed convolution: `shape` is that of the convolution, so x is (num, outputs,
/// output...) and y (num, channels, input...).
struct Deconvolution {
  using Options = WeightedPrimitive::Options;
  static std::unique_ptr<WeightedPrimitive> Make(const kernels::ConvolutionShape& shape, int num,
                                                 const Options& options);
};

/// x (rows, inputs) in `source`, y (rows, outputs) in Caffe's order; weights (outputs, inputs), or
/// (inputs, outputs) if `transposed`. Weights are packed for `packed_rows`; 0: for `rows`.
struct InnerProduct {
  using Options = WeightedPrimitive::Options;
  static std::unique_ptr<WeightedPrimitive> Make(int rows, int inputs, int outputs, bool transposed,
                                                 const Layout& source, const Options& options,
                                                 int packed_rows = 0);
};

/// A function of each element, with its gradient.
class Activation {
 public:
  /// For `count` elements of x, y, dx and dy in `layout`. Null for functions that oneDNN lacks.
  static std::unique_ptr<Activation> Make(const kernels::Activation& f, size_t count,
                                          const Layout& layout, bool training);
  virtual ~Activation() = default;
  virtual void Forward(const float* x, float* y) = 0;
  /// `v` is x, or y where f.GradientArgument() says OUTPUT. In training.
  virtual void Backward(const float* v, const float* dy, float* dx) = 0;
};

/// Local response normalization across channels: y = x / (k + alpha / size sum x^2)^beta.
class Lrn {
 public:
  static std::unique_ptr<Lrn> Make(int num, int channels, int height, int width, int size,
                                   float alpha, float beta, float k, bool training,
                                   const Layout& layout);
  virtual ~Lrn() = default;
  /// x, y, dy and dx in the layout given to Make.
  virtual void Forward(const float* x, float* y) = 0;
  /// After Forward, in training.
  virtual void Backward(const float* x, const float* dy, float* dx) = 0;
};

/// Maxima, or means over windows whose padding counts. Null for means with windows that reach
/// beyond the padding, which oneDNN divides by another number.
class Pooling {
 public:
  /// Pooling of (num, channels, height, width), shape.planes being num * channels. The top lies in
  /// the layout of the same kind as `source`.
  static std::unique_ptr<Pooling> Make(const kernels::PoolingShape& shape, int num, int channels,
                                       bool mean, bool training, const Layout& source);
  virtual ~Pooling() = default;
  virtual void Forward(const float* x, float* y) = 0;
  /// After Forward, in training.
  virtual void Backward(const float* dy, float* dx) = 0;
};

/// y = exp(x) / sum over channels of exp(x).
class Softmax {
 public:
  /// Softmax of (outer, channels, inner), in `layout`.
  static std::unique_ptr<Softmax> Make(int outer, int channels, int inner, bool training,
                                       const Layout& layout);
  virtual ~Softmax() = default;
  virtual void Forward(const float* x, float* y) = 0;
  virtual void Backward(const float* y, const float* dy, float* dx) = 0;
};

/// y = scale (x - mean) / sqrt(variance + eps) + shift per channel, with the batch's statistics or
/// given ones, and its gradients. scale and shift: 1 and 0 where null.
class BatchNorm {
 public:
  struct Options {
    float eps = 0;
    bool global_statistics = false;
    bool scale = false;  ///< scale and shift are given, and have gradients
    bool training = false;
  };
  /// BatchNorm of (num, channels, spatial), in `layout`.
  static std::unique_ptr<BatchNorm> Make(int num, int channels, int spatial, const Options& options,
                                         const Layout& layout);
  virtual ~BatchNorm() = default;
  /// mean and variance (the biased one) are read with global_statistics, else written.
  virtual void Forward(const float* x, const float* scale, const float* shift, float* mean,
                       float* variance, float* y) = 0;
  /// d_scale and d_shift are written, not added to; with Options::scale.
  virtual void Backward(const float* x, const float* scale, const float* mean,
                        const float* variance, const float* dy, float* dx, float* d_scale,
                        float* d_shift) = 0;
};

/// One value from several of the same shape.
class Elementwise {
 public:
  enum Operation { SUM, PRODUCT, MAXIMUM };
  /// For as many inputs as there are coefficients (used by SUM), two at least.
  static std::unique_ptr<Elementwise> Make(Operation operation,
                                           const std::vector<float>& coefficients, size_t count,
                                           const Layout& layout);
  virtual ~Elementwise() = default;
  virtual void Forward(const std::vector<const float*>& x, float* y) = 0;
};

/// Inputs of (outer, channels[i], inner) behind one another on the axis of the channels.
class Concat {
 public:
  /// `block`: of the layout of all, 1 for Caffe's order.
  static std::unique_ptr<Concat> Make(int outer, const std::vector<int>& channels, int inner,
                                      int block);
  virtual ~Concat() = default;
  virtual void Forward(const std::vector<const float*>& x, float* y) = 0;
};

/// A long short-term memory over `steps` steps of `batch` sequences; the gates in Caffe's order i,
/// f, o, g.
class Lstm {
 public:
  static std::unique_ptr<Lstm> Make(int steps, int batch, int inputs, int outputs, bool training);
  virtual ~Lstm() = default;
  /// W_x (4 outputs, inputs), b (4 outputs), W_h (4 outputs, outputs); copied.
  virtual void SetWeights(const float* input_weights, const float* bias,
                          const float* hidden_weights) = 0;
  /// x (steps, batch, inputs); y (steps, batch, outputs). h and c (batch, outputs) are the state
  /// before the first step, and become that after the last one.
  virtual void Forward(const float* x, float* h, float* c, float* y) = 0;

  /// What Backward adds to; null where it is not wanted. Shapes as in SetWeights.
  struct WeightGradients {
    float *input_weights, *bias, *hidden_weights;
  };
  /// After Forward, in training, with its x and y: dx from dy. dh and dc are the gradients of the
  /// state after the last step, and become those of the state before the first one.
  virtual void Backward(const float* x, const float* y, const float* dy, float* dh, float* dc,
                        float* dx, const WeightGradients& gradients) = 0;
};

}  // namespace onednn
}  // namespace caffe

#endif  // CAFFE_ONEDNN_ONEDNN_HPP_
