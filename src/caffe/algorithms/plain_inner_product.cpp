#include <algorithm>
#include <vector>

#include "caffe/kernels/blas.hpp"
#include "caffe/kernels/elementwise.hpp"
#include "caffe/kernels/pointwise.hpp"
#include "caffe/kernels/reference.hpp"
#include "inner_product.hpp"

namespace caffe::algorithms {
namespace {

using kernels::Destination;
using kernels::Numbers;

/// y = x W^T + beta y; one row goes once through the weights as Caffe stores them.
template <typename T>
void Multiply(int rows, int inputs, int outputs, bool transposed, const T* x, const T* weights,
              AccumulatorType<T> beta, T* y) {
  using F = AccumulatorType<T>;
  if (rows == 1) {
    kernels::Gemv(transposed, transposed ? inputs : outputs, transposed ? outputs : inputs, F(1),
                  weights, x, beta, y);
  } else {
    kernels::Gemm(false, !transposed, rows, outputs, inputs, F(1), x, weights, beta, y);
  }
}

class PlainInnerProduct : public Algorithm, public Gradients {
 public:
  explicit PlainInnerProduct(const InnerProductProblem& problem) : p_(problem) {}

  bool packs() const override { return false; }
  void Run(const Numbers& x, const Weights& weights, const kernels::PostOps&, void*,
           const Destination& y) const override {
    Dispatch(x.type, [&](auto tag) {
      using T = decltype(tag);
      const T* bias = static_cast<const T*>(weights.bias.data);
      T* const to = static_cast<T*>(y.y);
      for (int m = 0; bias && m < p_.rows; ++m) {
        std::copy(bias, bias + p_.outputs, to + size_t(m) * p_.outputs);
      }
      Multiply<T>(p_.rows, p_.inputs, p_.outputs, p_.transposed, static_cast<const T*>(x.data),
                  static_cast<const T*>(weights.values.data), bias ? 1 : 0, to);
    });
  }

  const Gradients* gradients() const override { return this; }
  void Data(const Numbers& dy, const Numbers& weights, const Destination& dx) const override {
    Dispatch(weights.type, dy.type, [&](auto data_tag, auto diff_tag) {
      using T = decltype(data_tag);
      using D = decltype(diff_tag);
      using G = AccumulatorType<D>;
      kernels::Gemm(false, p_.transposed, p_.rows, p_.inputs, p_.outputs, G(1),
                    static_cast<const D*>(dy.data), static_cast<const T*>(weights.data), G(0),
                    static_cast<D*>(dx.y));
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
      G* const gradient = static_cast<G*>(d_weights);
      if (gradient && p_.transposed) {
        kernels::Gemm(true, false, p_.inputs, p_.outputs, p_.rows, G(1), bottom, top, G(1),
                      gradient);
      } else if (gradient) {
        kernels::Gemm(true, false, p_.outputs, p_.inputs, p_.rows, G(1), top, bottom, G(1),
                      gradient);
      }
      for (int m = 0; d_bias && m < p_.rows; ++m) {
        kernels::Axpy(p_.outputs, G(1), top + size_t(m) * p_.outputs, static_cast<G*>(d_bias));
      }
    });
  }

 private:
  const InnerProductProblem p_;
};

class ReferenceInnerProduct : public Algorithm, public Gradients {
 public:
  explicit ReferenceInnerProduct(const InnerProductProblem& problem) : p_(problem) {}

  const char* engine() const override { return "reference"; }
  bool packs() const override { return false; }
  void Run(const Numbers& x, const Weights& weights, const kernels::PostOps&, void*,
           const Destination& y) const override {
    Dispatch(x.type, [&](auto tag) {
      using T = decltype(tag);
      kernels::ReferenceInnerProduct(
          p_.rows, p_.outputs, p_.inputs, p_.transposed, static_cast<const T*>(x.data),
          static_cast<const T*>(weights.values.data), static_cast<const T*>(weights.bias.data),
          static_cast<T*>(y.y));
    });
  }

  const Gradients* gradients() const override { return this; }
  void Data(const Numbers& dy, const Numbers& weights, const Destination& dx) const override {
    Dispatch(weights.type, dy.type, [&](auto data_tag, auto diff_tag) {
      using T = decltype(data_tag);
      using D = decltype(diff_tag);
      kernels::ReferenceInnerProductBackwardData(
          p_.rows, p_.outputs, p_.inputs, p_.transposed, static_cast<const D*>(dy.data),
          static_cast<const T*>(weights.data), static_cast<D*>(dx.y));
    });
  }
  void Parameters(const Numbers& x, const Numbers& dy, void* d_weights,
                  void* d_bias) const override {
    Dispatch(x.type, dy.type, [&](auto data_tag, auto diff_tag) {
      using T = decltype(data_tag);
      using D = decltype(diff_tag);
      using G = AccumulatorType<D>;
      kernels::ReferenceInnerProductBackwardWeights(
          p_.rows, p_.outputs, p_.inputs, p_.transposed, static_cast<const T*>(x.data),
          static_cast<const D*>(dy.data), static_cast<G*>(d_weights), static_cast<G*>(d_bias));
    });
  }

 private:
  const InnerProductProblem p_;
};

class Blas : public Algorithm {
 public:
  Blas(int rows, int inputs, int outputs)
      : rows_(rows), inputs_(inputs), outputs_(outputs), ones_(outputs, 1.f) {}

  size_t packed_size() const override { return size_t(outputs_) * inputs_; }
  void Pack(const Numbers& weights, const float*, const Destination& packed) const override {
    Copy(weights, packed);
  }
  void Unpack(const Numbers& packed, const Destination& weights) const override {
    Copy(packed, weights);
  }
  void Run(const Numbers& x, const Weights& weights, const kernels::PostOps& post, void*,
           const Destination& to) const override {
    float* const y = static_cast<float*>(to.y);
    Multiply<float>(rows_, inputs_, outputs_, false, static_cast<const float*>(x.data),
                    static_cast<const float*>(weights.values.data), 0.f, y);
    using kernels::Activation;
    const Activation& f = post.activation;
    const bool is_clamp = f.kind == Activation::RELU || f.kind == Activation::CLIP;
    kernels::ApplyPointwise(rows_, outputs_, 1, 1, ones_.data(),
                            static_cast<const float*>(weights.bias.data),
                            is_clamp ? f : Activation(), y, y);
    if (is_clamp || f.kind == Activation::NONE) return;
    kernels::ActivateInPlace(rows_, outputs_, 1, outputs_, f, y);
  }

 private:
  void Copy(const Numbers& from, const Destination& to) const {
    std::copy_n(static_cast<const float*>(from.data), packed_size(), static_cast<float*>(to.y));
  }

  const int rows_, inputs_, outputs_;
  const std::vector<float> ones_;
};

}  // namespace

AlgorithmPtr Plain(const InnerProductProblem& problem) {
  if (problem.settings.is_reference()) return std::make_shared<ReferenceInnerProduct>(problem);
  return std::make_shared<PlainInnerProduct>(problem);
}

AlgorithmPtr BlasInnerProduct(int rows, int inputs, int outputs) {
  return std::make_shared<Blas>(rows, inputs, outputs);
}

}  // namespace caffe::algorithms
