#ifndef CAFFE_INFERENCE_QUANTIZE_INTEGER_OPERATIONS_HPP_
#define CAFFE_INFERENCE_QUANTIZE_INTEGER_OPERATIONS_HPP_

#include <optional>
#include <string>
#include <vector>

#include "caffe/inference/graph.hpp"

// Integer-only layers without weights, on 8-bit values (backends/cpu/integer_operation.cpp). Their
// arithmetic: kernels/integer_*.hpp.
namespace caffe::inference {

/// Why the node has no integer-only form, as part of a sentence for users ("its output's size
/// depends on the data"); "" if it has one, and for layers with weights.
std::string WhyNotIntegers(const Graph& graph, const Node& node);

/// The fixed scale and zero point of its output as UINT8: 1/256 and 0 for Softmax and Sigmoid,
/// 1/128 and 128 for TanH. Not set: they follow from its range.
std::optional<AffineParameters> FixedAffine(const Node& node);

/// True if output and inputs must share type, scale and zero point: pooling, resizing, layers that
/// move elements. Not Concat and Eltwise, which rescale.
bool SharesAffine(const Node& node);

/// The parameters with which the node, which has no weights, is computed, for a graph whose values
/// have type (UINT8 or INT8) and affine; node.parameters are still those of the layer (floats), and
/// node.integers says which bytes output 0 may be; without, all of its type.
///
/// * functions of one number: UINT8 (tables, 256), one for all channels or one for each;
/// * Concat whose scales differ, Eltwise MAX: UINT8 (inputs, 256), what each becomes first;
/// * Eltwise SUM, Axpy: INT32 (terms + 1, 2), value and shift of the terms' multipliers and of the
///   sum's (a negative value is subtracted);
/// * Eltwise PROD, Scale with two bottoms: INT32 (1, 2), value and shift of the product's;
/// * Softmax: INT32 (256), kernels::SoftmaxTable, and INT32 (1), 256 / scale;
/// * LRN, Normalize, MVN: INT32 (1 or channels, 2), multipliers, and INT32 (n),
///   kernels::FallingTable (not of an MVN without variance);
/// * pooling, resizing, moving: none.
///
/// Throws Error naming layer, field, reason.
std::vector<Constant> IntegerParameters(const Graph& graph, const Node& node,
                                        kernels::Rounding rounding);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_QUANTIZE_INTEGER_OPERATIONS_HPP_
