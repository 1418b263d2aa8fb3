#ifndef CAFFE_ONEDNN_VERSIONS_HPP_
#define CAFFE_ONEDNN_VERSIONS_HPP_

#include <oneapi/dnnl/dnnl.hpp>
#include <vector>
#if __has_include(<oneapi/dnnl/dnnl_version.h>)
#include <oneapi/dnnl/dnnl_version.h>
#endif

namespace caffe::onednn {

// All in which oneDNN 2.6 and 3.x differ: version 2 makes a descriptor of an operation first, and
// describes data that source and target share once; version 3 takes the same arguments at once,
// and describes both.

inline dnnl::engine& CpuEngine() {
  // Never destroyed: destructors of statics may run a net.
  static dnnl::engine& engine = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

/// `attributes` of a primitive that gets its scratch memory in each run (Run). Memory that oneDNN
/// keeps for it instead belongs to the thread that makes the primitive: in another one it is
/// missing or too small.
inline dnnl::primitive_attr WithGivenScratch(
    dnnl::primitive_attr attributes = dnnl::primitive_attr()) {
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

/// The descriptor of a forward pass, or of an operation that has only one.
template <typename Primitive, typename... Arguments>
typename Primitive::primitive_desc Describe(const dnnl::primitive_attr& attributes,
                                            const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return
      typename Primitive::primitive_desc(CpuEngine(), arguments..., WithGivenScratch(attributes));
#else
  return typename Primitive::primitive_desc(typename Primitive::desc(arguments...),
                                            WithGivenScratch(attributes), CpuEngine());
#endif
}

/// The descriptor of a backward pass, for the forward pass that `forward` describes.
template <typename Primitive, typename Forward, typename... Arguments>
typename Primitive::primitive_desc DescribeBackward(const dnnl::primitive_attr& attributes,
                                                    const Forward& forward,
                                                    const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Primitive::primitive_desc(CpuEngine(), arguments..., forward,
                                            WithGivenScratch(attributes));
#else
  return typename Primitive::primitive_desc(typename Primitive::desc(arguments...),
                                            WithGivenScratch(attributes), CpuEngine(), forward);
#endif
}

/// Version 2 wants the shift in the backward pass, version 3 refuses it.
constexpr bool kBatchNormBackwardTakesShift = DNNL_VERSION_MAJOR < 3;

inline void AppendEltwise(dnnl::algorithm algorithm, float alpha, float beta,
                          dnnl::post_ops* operations) {
#if DNNL_VERSION_MAJOR >= 3
  operations->append_eltwise(algorithm, alpha, beta);
#else
  operations->append_eltwise(1.f, algorithm, alpha, beta);
#endif
}

#if DNNL_VERSION_MAJOR >= 3

using PoolingForward = dnnl::pooling_forward;
using PoolingBackward = dnnl::pooling_backward;
using SoftmaxForward = dnnl::softmax_forward;
using SoftmaxBackward = dnnl::softmax_backward;

inline auto DescribeLrn(dnnl::prop_kind kind, dnnl::algorithm algorithm,
                        const dnnl::memory::desc& data, int size, float alpha, float beta,
                        float k) {
  return Describe<dnnl::lrn_forward>({}, kind, algorithm, data, data, size, alpha, beta, k);
}
inline auto DescribeLrnBackward(const dnnl::lrn_forward::primitive_desc& forward,
                                dnnl::algorithm algorithm, const dnnl::memory::desc& data, int size,
                                float alpha, float beta, float k) {
  return DescribeBackward<dnnl::lrn_backward>({}, forward, algorithm, data, data, data, size, alpha,
                                              beta, k);
}

inline auto DescribeEltwise(dnnl::prop_kind kind, dnnl::algorithm algorithm,
                            const dnnl::memory::desc& data, float alpha, float beta) {
  return Describe<dnnl::eltwise_forward>({}, kind, algorithm, data, data, alpha, beta);
}
inline auto DescribeEltwiseBackward(const dnnl::eltwise_forward::primitive_desc& forward,
                                    dnnl::algorithm algorithm, const dnnl::memory::desc& data,
                                    float alpha, float beta) {
  return DescribeBackward<dnnl::eltwise_backward>({}, forward, algorithm, data, data, data, alpha,
                                                  beta);
}

inline auto DescribeBatchNorm(dnnl::prop_kind kind, const dnnl::memory::desc& data, float epsilon,
                              dnnl::normalization_flags flags) {
  return Describe<dnnl::batch_normalization_forward>({}, kind, data, data, epsilon, flags);
}
inline auto DescribeBatchNormBackward(
    const dnnl::batch_normalization_forward::primitive_desc& forward, dnnl::prop_kind kind,
    const dnnl::memory::desc& data, float epsilon, dnnl::normalization_flags flags) {
  return DescribeBackward<dnnl::batch_normalization_backward>({}, forward, kind, data, data, data,
                                                              epsilon, flags);
}

inline auto DescribeConcat(const dnnl::memory::desc& target, int axis,
                           const std::vector<dnnl::memory::desc>& sources) {
  return dnnl::concat::primitive_desc(CpuEngine(), target, axis, sources, WithGivenScratch());
}
inline auto DescribeSum(const dnnl::memory::desc& target, const std::vector<float>& scales,
                        const std::vector<dnnl::memory::desc>& sources) {
  return dnnl::sum::primitive_desc(CpuEngine(), target, scales, sources, WithGivenScratch());
}

#else

using PoolingForward = dnnl::pooling_v2_forward;
using PoolingBackward = dnnl::pooling_v2_backward;
using SoftmaxForward = dnnl::softmax_v2_forward;
using SoftmaxBackward = dnnl::softmax_v2_backward;

inline auto DescribeLrn(dnnl::prop_kind kind, dnnl::algorithm algorithm,
                        const dnnl::memory::desc& data, int size, float alpha, float beta,
                        float k) {
  return Describe<dnnl::lrn_forward>({}, kind, algorithm, data, size, alpha, beta, k);
}
inline auto DescribeLrnBackward(const dnnl::lrn_forward::primitive_desc& forward,
                                dnnl::algorithm algorithm, const dnnl::memory::desc& data, int size,
                                float alpha, float beta, float k) {
  return DescribeBackward<dnnl::lrn_backward>({}, forward, algorithm, data, data, size, alpha, beta,
                                              k);
}

inline auto DescribeEltwise(dnnl::prop_kind kind, dnnl::algorithm algorithm,
                            const dnnl::memory::desc& data, float alpha, float beta) {
  return Describe<dnnl::eltwise_forward>({}, kind, algorithm, data, alpha, beta);
}
inline auto DescribeEltwiseBackward(const dnnl::eltwise_forward::primitive_desc& forward,
                                    dnnl::algorithm algorithm, const dnnl::memory::desc& data,
                                    float alpha, float beta) {
  return DescribeBackward<dnnl::eltwise_backward>({}, forward, algorithm, data, data, alpha, beta);
}

inline auto DescribeBatchNorm(dnnl::prop_kind kind, const dnnl::memory::desc& data, float epsilon,
                              dnnl::normalization_flags flags) {
  return Describe<dnnl::batch_normalization_forward>({}, kind, data, epsilon, flags);
}
inline auto DescribeBatchNormBackward(
    const dnnl::batch_normalization_forward::primitive_desc& forward, dnnl::prop_kind kind,
    const dnnl::memory::desc& data, float epsilon, dnnl::normalization_flags flags) {
  return DescribeBackward<dnnl::batch_normalization_backward>({}, forward, kind, data, data,
                                                              epsilon, flags);
}

inline auto DescribeConcat(const dnnl::memory::desc& target, int axis,
                           const std::vector<dnnl::memory::desc>& sources) {
  return dnnl::concat::primitive_desc(target, axis, sources, CpuEngine(), WithGivenScratch());
}
inline auto DescribeSum(const dnnl::memory::desc& target, const std::vector<float>& scales,
                        const std::vector<dnnl::memory::desc>& sources) {
  return dnnl::sum::primitive_desc(target, scales, sources, CpuEngine(), WithGivenScratch());
}

#endif

}  // namespace caffe::onednn

#endif  // CAFFE_ONEDNN_VERSIONS_HPP_
