#ifndef CAFFE_ONEDNN_PARAMETER_GRADIENTS_HPP_
#define CAFFE_ONEDNN_PARAMETER_GRADIENTS_HPP_

#include <omp.h>

#include <cstddef>

#include "caffe/allocator.hpp"
#include "caffe/kernels/blas.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/parallel.hpp"
#include "primitives.hpp"
#include "weighted_problem.hpp"

namespace caffe::onednn {

/// The gradients of weights and bias by a primitive `BackwardWeights`, for all images at once or in
/// equal parts, one thread each, whose sums are added up at the end.
template <typename BackwardWeights>
class ParameterGradients {
 public:
  using Desc = typename BackwardWeights::primitive_desc;

  /// `describe()` returns the Desc of the primitive for the images of a part.
  template <typename Describe>
  void Make(const WeightedProblem& part, int parts, bool has_bias, Describe&& describe) {
    parts_ = parts;
    outputs_ = has_bias ? part.outputs : 0;
    plain_weights_ = part.plain_weights;
    {
      const kernels::TeamSize team(parts > 1 ? 1 : omp_get_max_threads());
      desc_ = describe();
      primitive_ = BackwardWeights(desc_);
    }
    source_ = desc_.src_desc();
    target_ = desc_.diff_dst_desc();
    weights_ = desc_.diff_weights_desc();
    scratch_ = desc_.scratchpad_desc();
    if (outputs_ > 0) bias_ = Plain({outputs_});
    dnnl::primitive_attr adding;
    dnnl::post_ops sum;
    sum.append_sum(1.f);
    adding.set_post_ops(sum);
    add_ = Reorder(weights_, plain_weights_, adding);
  }

  const Desc& desc() const { return desc_; }

  /// Adds to d_weights and, if not null, d_bias.
  void Run(const void* x, const void* dy, float* d_weights, float* d_bias) const {
    const size_t weights = weights_.get_size() / sizeof(float);
    // Each part's sums and scratch memory begin at a cache line.
    const size_t gradients =
        kernels::RoundUp(weights + outputs_, Allocator::kAlignment / sizeof(float));
    const size_t scratch = kernels::RoundUp(scratch_.get_size(), Allocator::kAlignment);
    Workspace& workspace = Context::Current().workspace();
    const Workspace::Buffer<float> sums(workspace, parts_ * gradients);
    const Workspace::Buffer<char> scratches(workspace, parts_ * scratch);
    const auto sums_of = [&](size_t part) { return sums.get() + part * gradients; };
    const auto of_part = [](const memory::desc& desc, const void* all, size_t part) {
      return Wrap(desc, static_cast<const char*>(all) + part * desc.get_size());
    };
    const auto run = [&](size_t part) {
      Arguments arguments = {{DNNL_ARG_SRC, of_part(source_, x, part)},
                             {DNNL_ARG_DIFF_DST, of_part(target_, dy, part)},
                             {DNNL_ARG_DIFF_WEIGHTS, Wrap(weights_, sums_of(part))}};
      if (scratch > 0) {
        arguments.emplace(DNNL_ARG_SCRATCHPAD, Wrap(scratch_, scratches.get() + part * scratch));
      }
      if (outputs_ > 0) {
        arguments.emplace(DNNL_ARG_DIFF_BIAS, Wrap(bias_, sums_of(part) + weights));
      }
      onednn::Run(primitive_, &arguments);
    };
    kernels::ParallelFor(parts_, 1, [&](size_t begin, size_t end) {
      for (size_t part = begin; part < end; ++part) run(part);
    });
    for (int part = 1; part < parts_; ++part) {
      kernels::Axpy(weights + outputs_, 1.f, sums_of(part), sums_of(0));
    }
    onednn::Run(add_, Wrap(weights_, sums_of(0)), Wrap(plain_weights_, d_weights));
    if (!d_bias) return;
    for (int i = 0; i < outputs_; ++i) d_bias[i] += sums_of(0)[weights + i];
  }

 private:
  int parts_ = 1, outputs_ = 0;
  Desc desc_;
  // What desc_ says, which takes long to ask for in each pass.
  memory::desc source_, target_, weights_, bias_, scratch_, plain_weights_;
  BackwardWeights primitive_;
  dnnl::reorder add_;  // to the gradients so far
};

}  // namespace caffe::onednn

#endif  // CAFFE_ONEDNN_PARAMETER_GRADIENTS_HPP_
