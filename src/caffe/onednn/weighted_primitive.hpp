#ifndef CAFFE_ONEDNN_WEIGHTED_PRIMITIVE_HPP_
#define CAFFE_ONEDNN_WEIGHTED_PRIMITIVE_HPP_

#include <memory>

#include "parameter_gradients.hpp"
#include "primitives.hpp"
#include "weighted_problem.hpp"

namespace caffe::onednn {

inline WeightedTypes ForwardTypes(const WeightedPrimitive::Options& options) {
  const memory::data_type type = DataTypeOf(options.type);
  return {type, type, DataTypeOf(options.result)};
}

/// A WeightedPrimitive by the primitives of `Family`, which names them (Forward, BackwardData,
/// BackwardWeights), their algorithm, whether they have windows, and whether implementations by
/// matrix products are welcome.
template <typename Family>
class WeightedPrimitiveOf : public WeightedPrimitive {
 public:
  using ForwardDesc = typename Family::Forward::primitive_desc;

  /// `problem_of(types, parts)` is the WeightedProblem for one of so many equal parts of the
  /// images. In training the gradients of the parameters are computed in `parts` of them. Null
  /// where there is no good implementation. Throws dnnl::error where there is none at all.
  template <typename ProblemOf>
  static std::unique_ptr<WeightedPrimitive> Make(const Options& options,
                                                 const ProblemOf& problem_of, int parts = 1) {
    const WeightedTypes forward = ForwardTypes(options);
    std::unique_ptr<WeightedPrimitiveOf> primitive(
        new WeightedPrimitiveOf(problem_of(forward, 1), options));
    if (!primitive->MakeForward(options)) return nullptr;
    if (!options.training) return primitive;
    const WeightedTypes data = {kFloat, forward.weights, forward.source};
    const WeightedTypes parameters = {forward.source, kFloat, forward.source};
    if (!primitive->MakeData(problem_of(data, 1)) ||
        !primitive->MakeGradients(options, problem_of(forward, parts),
                                  problem_of(parameters, parts), parts)) {
      return nullptr;
    }
    return primitive;
  }

  static ForwardDesc DescribeForward(const WeightedProblem& p, const Options& options) {
    dnnl::post_ops operations;
    if (options.residual) operations.append_binary(dnnl::algorithm::binary_add, p.residual);
    AppendActivation(options.activation, &operations);
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(operations);
    const auto kind = ForwardKind(options.training);
    const memory::desc bias = BiasDesc(p, options.bias);
    if constexpr (Family::kWindows) {
      return Describe<typename Family::Forward>(attributes, kind, Family::kAlgorithm, p.source,
                                                p.weights, bias, p.target, p.strides, p.dilation,
                                                p.pad, p.pad);
    } else {
      return Describe<typename Family::Forward>(attributes, kind, p.source, p.weights, bias,
                                                p.target);
    }
  }

  const Layout& source() const override { return source_; }
  const Layout& target() const override { return target_; }
  const Layout& data_source() const override { return data_source_; }
  const Layout& data_target() const override { return data_target_; }
  const Layout& weights_source() const override { return weights_source_; }
  const Layout& weights_target() const override { return weights_target_; }

  bool packs() const override { return packs_; }
  size_t packed_size() const override { return packed_weights_.get_size() / SizeOf(type_); }
  void PackWeights(const float* weights, void* packed) const override {
    Run(pack_, Wrap(problem_.plain_weights, weights), Wrap(packed_weights_, packed));
  }
  void UnpackWeights(const void* packed, float* weights) const override {
    Run(Reorder(packed_weights_, problem_.plain_weights), Wrap(packed_weights_, packed),
        Wrap(problem_.plain_weights, weights));
  }

  void Forward(const void* x, const void* packed, const kernels::PostOps& post,
               void* y) const override {
    if (!repacks_) return RunForward(x, packed, post, y);
    Scratch read(forward_weights_);
    Run(repack_, Wrap(packed_weights_, packed), read);
    RunForward(x, static_cast<const memory&>(read).get_data_handle(), post, y);
  }

  void BackwardData(const void* dy, const float* weights, float* dx) const override {
    const auto run = [&](const memory& ordered) {
      Run(data_primitive_, {{DNNL_ARG_DIFF_DST, Wrap(data_desc_.diff_dst_desc(), dy)},
                            {DNNL_ARG_WEIGHTS, ordered},
                            {DNNL_ARG_DIFF_SRC, Wrap(data_desc_.diff_src_desc(), dx)}});
    };
    const memory plain = Wrap(problem_.plain_weights, weights);
    if (!packs_for_data_) return run(plain);
    Scratch packed(data_desc_.weights_desc());
    Run(data_pack_, plain, packed);
    run(packed);
  }

  void BackwardWeights(const void* x, const void* dy, float* d_weights,
                       float* d_bias) const override {
    gradients_.Run(x, dy, d_weights, d_bias);
  }

 private:
  using DataDesc = typename Family::BackwardData::primitive_desc;

  WeightedPrimitiveOf(const WeightedProblem& problem, const Options& options)
      : problem_(problem),
        type_(options.type),
        has_bias_(options.bias),
        has_residual_(options.residual) {}

  static memory::desc BiasDesc(const WeightedProblem& problem, bool has_bias) {
    return has_bias ? Plain({problem.outputs}) : memory::desc();
  }

  void RunForward(const void* x, const void* weights, const kernels::PostOps& post, void* y) const {
    SetArgument(DNNL_ARG_SRC, forward_source_, x);
    SetArgument(DNNL_ARG_WEIGHTS, forward_weights_, weights);
    SetArgument(DNNL_ARG_DST, forward_target_, y);
    if (has_bias_) SetArgument(DNNL_ARG_BIAS, forward_bias_, post.bias);
    if (has_residual_) {
      SetArgument(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, problem_.residual,
                  post.residual.data);
    }
    if (const float* slopes = post.activation.slopes) {
      SetArgument(DNNL_ARG_ATTR_MULTIPLE_POST_OP(has_residual_) | DNNL_ARG_WEIGHTS,
                  Plain({problem_.outputs}), slopes);
    }
    Run(forward_, &arguments_);
  }

  // Describing memory in each pass takes as long as a small layer.
  void SetArgument(int argument, const memory::desc& desc, const void* data) const {
    const auto found = arguments_.find(argument);
    if (found == arguments_.end()) {
      arguments_.emplace(argument, Wrap(desc, data));
    } else {
      found->second.set_data_handle(const_cast<void*>(data));
    }
  }

  /// The caller's layouts, or those that oneDNN chose; false if Tensor has no name for these.
  static bool FindLayouts(const WeightedProblem& problem, const memory::desc& source,
                          const memory::desc& target, Layout* source_layout,
                          Layout* target_layout) {
    if (problem.chooses_layouts) {
      return LayoutOf(source, problem.source_dims, problem.types.source, source_layout) &&
             LayoutOf(target, problem.target_dims, problem.types.target, target_layout);
    }
    *source_layout = problem.source_layout;
    *target_layout = problem.target_layout;
    return true;
  }

  /// By column matrices windows of BFLOAT16 take longer than in float.
  template <typename Desc>
  bool IsSlow(const Desc& desc) const {
    return IsPlainLoop(desc, !Family::kByProducts) ||
           (type_ == ElementType::BFLOAT16 && !Family::kByProducts &&
            ImplementationOf(desc).rfind("x64:gemm", 0) == 0);
  }

  bool MakeForward(const Options& options) {
    forward_desc_ = DescribeForward(problem_, options);
    forward_source_ = forward_desc_.src_desc();
    forward_weights_ = forward_desc_.weights_desc();
    forward_target_ = forward_desc_.dst_desc();
    if (has_bias_) forward_bias_ = forward_desc_.bias_desc();
    if ((!problem_.takes_plain_loops && IsSlow(forward_desc_)) ||
        !FindLayouts(problem_, forward_source_, forward_target_, &source_, &target_)) {
      return false;
    }
    forward_ = typename Family::Forward(forward_desc_);
    // Those of a convolution are always packed: the caller may have folded something into them.
    packs_ = Family::kWindows || forward_weights_ != problem_.plain_weights;
    repacks_ = problem_.packed_weights.get_size() > 0;
    packed_weights_ = repacks_ ? problem_.packed_weights : forward_weights_;
    if (repacks_) repack_ = Reorder(packed_weights_, forward_weights_);
    if (packs_) pack_ = Reorder(problem_.plain_weights, packed_weights_);
    return true;
  }

  bool MakeData(const WeightedProblem& p) {
    if constexpr (Family::kWindows) {
      data_desc_ = DescribeBackward<typename Family::BackwardData>(
          {}, forward_desc_, Family::kAlgorithm, p.source, p.weights, p.target, p.strides,
          p.dilation, p.pad, p.pad);
    } else {
      data_desc_ = DescribeBackward<typename Family::BackwardData>({}, forward_desc_, p.source,
                                                                   p.weights, p.target);
    }
    if (IsSlow(data_desc_) ||
        !FindLayouts(p, data_desc_.diff_src_desc(), data_desc_.diff_dst_desc(), &data_source_,
                     &data_target_)) {
      return false;
    }
    data_primitive_ = typename Family::BackwardData(data_desc_);
    packs_for_data_ = data_desc_.weights_desc() != p.plain_weights;
    if (packs_for_data_) data_pack_ = Reorder(p.plain_weights, data_desc_.weights_desc());
    return true;
  }

  /// `part`: of the gradients; `forward_part`: of what they are the gradients of.
  bool MakeGradients(const Options& options, const WeightedProblem& forward_part,
                     const WeightedProblem& part, int parts) {
    const memory::desc bias = BiasDesc(part, has_bias_);
    gradients_.Make(part, parts, has_bias_, [&] {
      const ForwardDesc forward =
          parts > 1 ? DescribeForward(forward_part, options) : forward_desc_;
      if constexpr (Family::kWindows) {
        return DescribeBackward<typename Family::BackwardWeights>(
            {}, forward, Family::kAlgorithm, part.source, part.weights, bias, part.target,
            part.strides, part.dilation, part.pad, part.pad);
      } else {
        return DescribeBackward<typename Family::BackwardWeights>({}, forward, part.source,
                                                                  part.weights, bias, part.target);
      }
    });
    const auto& desc = gradients_.desc();
    if (IsSlow(desc) || !FindLayouts(part, desc.src_desc(), desc.diff_dst_desc(), &weights_source_,
                                     &weights_target_)) {
      return false;
    }
    weights_source_.num *= parts;
    weights_target_.num *= parts;
    return true;
  }

  const WeightedProblem problem_;
  const ElementType type_;
  const bool has_bias_, has_residual_;
  Layout source_, target_, data_source_, data_target_, weights_source_, weights_target_;

  ForwardDesc forward_desc_;
  // What forward_desc_ says, which takes long to ask for in each pass.
  memory::desc forward_source_, forward_weights_, forward_bias_, forward_target_;
  bool packs_ = false, repacks_ = false;
  memory::desc packed_weights_;  // what Forward gets
  typename Family::Forward forward_;
  mutable Arguments arguments_;  // of forward_: by one thread at a time, as all of an Algorithm
  dnnl::reorder pack_, repack_;

  DataDesc data_desc_;
  typename Family::BackwardData data_primitive_;
  bool packs_for_data_ = false;
  dnnl::reorder data_pack_;

  ParameterGradients<typename Family::BackwardWeights> gradients_;
};

}  // namespace caffe::onednn

#endif  // CAFFE_ONEDNN_WEIGHTED_PRIMITIVE_HPP_
