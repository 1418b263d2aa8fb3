#ifndef CAFFE_ONEDNN_LINEAR_MAP_HPP_
#define CAFFE_ONEDNN_LINEAR_MAP_HPP_

#include <functional>
#include <memory>
#include <vector>

#include "primitives.hpp"

namespace caffe::onednn {

/// The sizes of a linear map as oneDNN sees them.
struct LinearProblem {
  Dims source_dims, target_dims, weights_dims;
  memory::desc plain_weights;  ///< Caffe's order of the weights
  int outputs = 0;
  Dims strides, dilation, pad;  ///< of windows
  Layout source, target;        ///< of maps without windows; others leave the choice to oneDNN
};

/// A LinearMap by the primitives of `Family`, which names them (Forward, BackwardData,
/// BackwardWeights), their algorithm, whether they have windows, and whether implementations by
/// matrix products are welcome.
template <typename Family>
class LinearMapOf : public LinearMap {
 public:
  /// Throws dnnl::error where there is no implementation.
  static std::unique_ptr<LinearMap> Make(const LinearProblem& problem, const Options& options) {
    std::unique_ptr<LinearMapOf> map(new LinearMapOf(problem, options));
    if (!map->MakeForward(options)) return nullptr;
    if (options.training && !map->MakeBackward()) return nullptr;
    return map;
  }

  const Layout& source() const override { return source_; }
  const Layout& target() const override { return target_; }
  const Layout& data_source() const override { return data_source_; }
  const Layout& data_target() const override { return data_target_; }
  const Layout& weights_source() const override { return weights_source_; }
  const Layout& weights_target() const override { return weights_target_; }

  void SetWeights(const float* weights) override {
    weights_ = Wrap(problem_.plain_weights, weights);
    if (!packed_.get(true)) return;
    Run(pack_, weights_, packed_);
    weights_ = packed_;
  }

  void Forward(const float* x, const float* bias, float* y) override {
    if (!packs_for_each_pass_) return RunForward(weights_, x, bias, y);
    Scratch packed(forward_desc_.weights_desc());
    Run(pack_, weights_, packed);
    RunForward(packed, x, bias, y);
  }

  size_t packed_size() const override {
    return forward_desc_.weights_desc().get_size() / sizeof(float);
  }
  void PackWeights(const float* weights, float* packed) const override {
    Run(pack_, Wrap(problem_.plain_weights, weights), Wrap(forward_desc_.weights_desc(), packed));
  }
  std::function<void(const float*, float*)> Unpacker() const override {
    return [packed_desc = forward_desc_.weights_desc(), plain_desc = problem_.plain_weights](
               const float* packed, float* weights) {
      Run(Reorder(packed_desc, plain_desc), Wrap(packed_desc, packed), Wrap(plain_desc, weights));
    };
  }
  std::function<void(void*)> UnpackWeights() const override {
    if (!packed_.get(true)) return nullptr;
    return [packed = packed_, unpack = Unpacker()](void* weights) {
      unpack(static_cast<const float*>(packed.get_data_handle()), static_cast<float*>(weights));
    };
  }
  void ForwardPacked(const float* packed, const float* x, const float* bias, float* y) override {
    RunForward(Wrap(forward_desc_.weights_desc(), packed), x, bias, y);
  }

  void BackwardData(const float* dy, const float* weights, float* dx) override {
    const auto run = [&](const memory& ordered) {
      Run(data_primitive_, {{DNNL_ARG_DIFF_DST, Wrap(data_desc_.diff_dst_desc(), dy)},
                            {DNNL_ARG_WEIGHTS, ordered},
                            {DNNL_ARG_DIFF_SRC, Wrap(data_desc_.diff_src_desc(), dx)}});
    };
    const memory plain = Wrap(problem_.plain_weights, weights);
    if (data_desc_.weights_desc() == problem_.plain_weights) return run(plain);
    Scratch packed(data_desc_.weights_desc());
    Run(data_pack_, plain, packed);
    run(packed);
  }

  void BackwardWeights(const float* x, const float* dy, float* d_weights, float* d_bias) override {
    Scratch packed(weights_desc_.diff_weights_desc());
    std::vector<float> bias_gradient(bias_ ? problem_.outputs : 0);
    Arguments arguments = {{DNNL_ARG_SRC, Wrap(weights_desc_.src_desc(), x)},
                           {DNNL_ARG_DIFF_DST, Wrap(weights_desc_.diff_dst_desc(), dy)},
                           {DNNL_ARG_DIFF_WEIGHTS, packed}};
    if (bias_) {
      arguments.emplace(DNNL_ARG_DIFF_BIAS, Wrap(Plain({problem_.outputs}), bias_gradient.data()));
    }
    Run(weights_primitive_, arguments);
    Run(add_, packed, Wrap(problem_.plain_weights, d_weights));
    if (!d_bias) return;
    for (size_t i = 0; i < bias_gradient.size(); ++i) d_bias[i] += bias_gradient[i];
  }

 private:
  using ForwardDesc = typename Family::Forward::primitive_desc;
  using DataDesc = typename Family::BackwardData::primitive_desc;
  using WeightsDesc = typename Family::BackwardWeights::primitive_desc;

  LinearMapOf(const LinearProblem& problem, const Options& options)
      : problem_(problem), bias_(options.bias) {}

  memory::desc SourceDesc() const {
    return Family::kWindows ? Any(problem_.source_dims)
                            : Described(problem_.source_dims, problem_.source);
  }
  memory::desc TargetDesc() const {
    return Family::kWindows ? Any(problem_.target_dims) : Plain(problem_.target_dims);
  }
  memory::desc BiasDesc() const { return bias_ ? Plain({problem_.outputs}) : memory::desc(); }

  bool FindLayouts(const memory::desc& source, const memory::desc& target, Layout* source_layout,
                   Layout* target_layout) const {
    if constexpr (Family::kWindows) {
      return LayoutOf(source, problem_.source_dims, source_layout) &&
             LayoutOf(target, problem_.target_dims, target_layout);
    }
    *source_layout = problem_.source;
    *target_layout = problem_.target;
    return true;
  }

  bool MakeForward(const Options& options) {
    const auto kind = ForwardKind(options.training);
    const dnnl::primitive_attr attributes = AttributesOf(options.activation);
    const LinearProblem& p = problem_;
    if constexpr (Family::kWindows) {
      forward_desc_ = Describe<typename Family::Forward>(
          attributes, kind, Family::kAlgorithm, SourceDesc(), Any(p.weights_dims), BiasDesc(),
          TargetDesc(), p.strides, p.dilation, p.pad, p.pad);
    } else {
      forward_desc_ = Describe<typename Family::Forward>(
          attributes, kind, SourceDesc(), Any(p.weights_dims), BiasDesc(), TargetDesc());
    }
    if (IsPlainLoop(forward_desc_, !Family::kByProducts) ||
        !FindLayouts(forward_desc_.src_desc(), forward_desc_.dst_desc(), &source_, &target_)) {
      return false;
    }
    forward_ = typename Family::Forward(forward_desc_);
    // Those of a convolution are the caller's for the call only: they may be folded ones.
    const bool packs = Family::kWindows || forward_desc_.weights_desc() != p.plain_weights;
    packs_for_each_pass_ = packs && options.training;  // weights change in every step
    if (packs || !options.keep_weights)
      pack_ = Reorder(p.plain_weights, forward_desc_.weights_desc());
    if (packs && !options.training && options.keep_weights)
      packed_ = memory(forward_desc_.weights_desc(), CpuEngine());
    return true;
  }

  bool MakeBackward() {
    const LinearProblem& p = problem_;
    if constexpr (Family::kWindows) {
      data_desc_ = DescribeBackward<typename Family::BackwardData>(
          forward_desc_, Family::kAlgorithm, SourceDesc(), Any(p.weights_dims), TargetDesc(),
          p.strides, p.dilation, p.pad, p.pad);
      weights_desc_ = DescribeBackward<typename Family::BackwardWeights>(
          forward_desc_, Family::kAlgorithm, SourceDesc(), Any(p.weights_dims), BiasDesc(),
          TargetDesc(), p.strides, p.dilation, p.pad, p.pad);
    } else {
      data_desc_ = DescribeBackward<typename Family::BackwardData>(
          forward_desc_, SourceDesc(), Any(p.weights_dims), TargetDesc());
      weights_desc_ = DescribeBackward<typename Family::BackwardWeights>(
          forward_desc_, SourceDesc(), Any(p.weights_dims), BiasDesc(), TargetDesc());
    }
    if (IsPlainLoop(data_desc_, !Family::kByProducts) ||
        IsPlainLoop(weights_desc_, !Family::kByProducts) ||
        !FindLayouts(data_desc_.diff_src_desc(), data_desc_.diff_dst_desc(), &data_source_,
                     &data_target_) ||
        !FindLayouts(weights_desc_.src_desc(), weights_desc_.diff_dst_desc(), &weights_source_,
                     &weights_target_)) {
      return false;
    }
    data_primitive_ = typename Family::BackwardData(data_desc_);
    if (data_desc_.weights_desc() != p.plain_weights) {
      data_pack_ = Reorder(p.plain_weights, data_desc_.weights_desc());
    }
    weights_primitive_ = typename Family::BackwardWeights(weights_desc_);
    dnnl::primitive_attr adding;
    dnnl::post_ops sum;
    sum.append_sum(1.f);
    adding.set_post_ops(sum);
    add_ = Reorder(weights_desc_.diff_weights_desc(), p.plain_weights, adding);
    return true;
  }

  void RunForward(const memory& weights, const float* x, const float* bias, float* y) {
    Arguments arguments = {{DNNL_ARG_SRC, Wrap(forward_desc_.src_desc(), x)},
                           {DNNL_ARG_WEIGHTS, weights},
                           {DNNL_ARG_DST, Wrap(forward_desc_.dst_desc(), y)}};
    if (bias_) arguments.emplace(DNNL_ARG_BIAS, Wrap(forward_desc_.bias_desc(), bias));
    Run(forward_, arguments);
  }

  const LinearProblem problem_;
  const bool bias_;
  Layout source_, target_, data_source_, data_target_, weights_source_, weights_target_;

  ForwardDesc forward_desc_;
  typename Family::Forward forward_;
  dnnl::reorder pack_;
  bool packs_for_each_pass_ = false;
  memory packed_;   // where the weights are packed once
  memory weights_;  // the same, or Caffe's

  DataDesc data_desc_;
  typename Family::BackwardData data_primitive_;
  dnnl::reorder data_pack_;

  WeightsDesc weights_desc_;
  typename Family::BackwardWeights weights_primitive_;
  dnnl::reorder add_;  // to the gradients so far
};

/// `weights_dims` and windows of a convolution, or with `transposed` of its transpose.
LinearProblem WindowProblem(const kernels::ConvolutionShape& shape, int num, bool transposed);
/// False for what oneDNN does not compute: more than three spatial axes, nothing at all.
bool HasWindows(const kernels::ConvolutionShape& shape, int num);

}  // namespace caffe::onednn

#endif  // CAFFE_ONEDNN_LINEAR_MAP_HPP_
