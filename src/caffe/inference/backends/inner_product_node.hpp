#ifndef CAFFE_INFERENCE_BACKENDS_INNER_PRODUCT_NODE_HPP_
#define CAFFE_INFERENCE_BACKENDS_INNER_PRODUCT_NODE_HPP_

#include <vector>

#include "caffe/inference/graph/weighted_node.hpp"
#include "implementation.hpp"

namespace caffe::inference {

/// An InnerProduct of one input and one output, with nothing added to it, and weights that are not
/// packed yet.
bool IsInnerProduct(const LoweringContext& context, const Node& node);

/// Why a family of inner products has no candidate for other nodes.
constexpr char kNoInnerProduct[] = "is for inner products with at most an activation";

/// Candidates in Caffe's order, in those of `types` that blobs may have; narrow ones may also write
/// FLOAT. None if the node is not such an inner product.
std::vector<Candidate> PlainInnerProducts(const Implementation& implementation,
                                          const LoweringContext& context, const Node& node,
                                          const std::vector<ElementType>& types);

/// Throws Error unless the node has one input and one output, and an epilogue that kernels can
/// compute.
NodePostOps InnerProductPostOpsOf(const Node& node);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BACKENDS_INNER_PRODUCT_NODE_HPP_
