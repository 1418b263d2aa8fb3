#ifndef CAFFE_ALGORITHMS_ALGORITHM_HPP_
#define CAFFE_ALGORITHMS_ALGORITHM_HPP_

#include <cstddef>
#include <memory>
#include <utility>

#include "caffe/kernels/post_ops.hpp"
#include "caffe/tensor.hpp"

// How a convolution, a Deconvolution or an inner product can be computed on the CPU: each way is an
// object, planned once for fixed sizes, that layers and the steps of engines share. Blobs are the
// callers' business (layers/weighted_product.hpp,
// inference/backends/cpu/algorithm_convolution.hpp).
namespace caffe::algorithms {

/// The weights in the order that an algorithm reads, and the bias: one number an output, of the
/// type that the algorithm asks for; no data: none.
struct Weights {
  kernels::Numbers values, bias;
};

/// The gradients of y = A x + bias for the sizes of an algorithm. x is of one type, dy and dx of
/// one, which Dispatch(data, diff) has as a pair.
class Gradients {
 public:
  virtual ~Gradients() = default;
  struct Layouts {
    Layout bottom, top;
  };
  virtual Layouts data_layouts() const { return {}; }     ///< of dx and dy, for Data
  virtual Layouts weights_layouts() const { return {}; }  ///< of x and dy, for Parameters
  /// False where Parameters has no gradient of the bias without that of the weights.
  virtual bool has_bias_alone() const { return true; }

  /// dx; `weights` as Caffe stores them, in x's type.
  virtual void Data(const kernels::Numbers& dy, const kernels::Numbers& weights,
                    const kernels::Destination& dx) const = 0;
  /// Adds to the gradients of the weights, as Caffe stores them, and of the bias, each if it is not
  /// null: of AccumulatorType of dy's type.
  virtual void Parameters(const kernels::Numbers& x, const kernels::Numbers& dy, void* d_weights,
                          void* d_bias) const = 0;
};

/// y = post(A x + bias), A being made of weights. For one thread at a time.
class Algorithm {
 public:
  virtual ~Algorithm() = default;

  /// What Layer::forward_engine says: "native", "oneDNN", "oneDNN BFLOAT16" or "reference".
  virtual const char* engine() const { return "native"; }
  virtual Layout source() const { return Layout(); }  ///< of x
  virtual Layout target() const { return Layout(); }  ///< of y
  /// The type in which Run takes an x that is there in `newest`, in a layer of `type`.
  virtual ElementType SourceType(ElementType type, ElementType /*newest*/) const { return type; }

  /// False where Run reads weights as Caffe stores them, and the bias in their type; and knows no
  /// PostOps but the bias. Else the bias is FLOAT.
  virtual bool packs() const { return true; }
  /// The type in which a layer of `type` packs weights for a single pass.
  virtual ElementType PackedType(ElementType /*type*/) const { return ElementType::FLOAT; }
  /// The type in which it packs weights that it keeps. From `type` itself they can be unpacked; to
  /// another one they are rounded.
  virtual ElementType KeptType(ElementType type) const { return type; }
  /// Elements of the packed weights.
  virtual size_t packed_size() const { return 0; }
  /// From weights as Caffe stores them, times scale[output] if that is given.
  virtual void Pack(const kernels::Numbers& /*weights*/, const float* /*scale*/,
                    const kernels::Destination& /*packed*/) const {}
  /// The way back, without the scale, in the same type.
  virtual void Unpack(const kernels::Numbers& /*packed*/,
                      const kernels::Destination& /*weights*/) const {}
  /// True if weights that `other`, for the same parameters, has packed are packed for this one.
  virtual bool PacksAs(const Algorithm& other) const { return this == &other; }

  /// Bytes that Run needs, aligned to 64, with the threads that OpenMP would use now.
  virtual size_t scratch_bytes() const { return 0; }
  /// y = post(A x + bias); the bias of `post` is not read.
  virtual void Run(const kernels::Numbers& x, const Weights& weights, const kernels::PostOps& post,
                   void* scratch, const kernels::Destination& y) const = 0;

  /// Null where it has none.
  virtual const Gradients* gradients() const { return nullptr; }
};

using AlgorithmPtr = std::shared_ptr<const Algorithm>;

/// Another algorithm but for what a class overrides; without gradients.
class AroundAlgorithm : public Algorithm {
 public:
  explicit AroundAlgorithm(AlgorithmPtr inner) : inner_(std::move(inner)) {}

  const char* engine() const override { return inner_->engine(); }
  Layout source() const override { return inner_->source(); }
  Layout target() const override { return inner_->target(); }
  ElementType SourceType(ElementType type, ElementType newest) const override {
    return inner_->SourceType(type, newest);
  }
  bool packs() const override { return inner_->packs(); }
  ElementType PackedType(ElementType type) const override { return inner_->PackedType(type); }
  ElementType KeptType(ElementType type) const override { return inner_->KeptType(type); }
  size_t packed_size() const override { return inner_->packed_size(); }
  void Pack(const kernels::Numbers& weights, const float* scale,
            const kernels::Destination& packed) const override {
    inner_->Pack(weights, scale, packed);
  }
  void Unpack(const kernels::Numbers& packed, const kernels::Destination& weights) const override {
    inner_->Unpack(packed, weights);
  }
  size_t scratch_bytes() const override { return inner_->scratch_bytes(); }
  void Run(const kernels::Numbers& x, const Weights& weights, const kernels::PostOps& post,
           void* scratch, const kernels::Destination& y) const override {
    inner_->Run(x, weights, post, scratch, y);
  }

 protected:
  const Algorithm& inner() const { return *inner_; }

 private:
  const AlgorithmPtr inner_;
};

}  // namespace caffe::algorithms

#endif  // CAFFE_ALGORITHMS_ALGORITHM_HPP_
