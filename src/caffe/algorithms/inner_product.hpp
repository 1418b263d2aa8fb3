#ifndef CAFFE_ALGORITHMS_INNER_PRODUCT_HPP_
#define CAFFE_ALGORITHMS_INNER_PRODUCT_HPP_

#include "algorithm.hpp"
#include "caffe/onednn/onednn.hpp"
#include "settings.hpp"

namespace caffe::algorithms {

// Each way of y (rows, outputs) = post(x (rows, inputs) W^T); weights are (outputs, inputs), or
// (inputs, outputs) if `transposed`.

/// Few rows of FLOAT, FLOAT16 or BFLOAT16 with weights of any of them (inner_product.hpp). `math`:
/// as for kernels::InnerProduct.
AlgorithmPtr PackedInnerProduct(int rows, int inputs, int outputs,
                                ElementType math = ElementType::FLOAT);

/// FLOAT, by the BLAS, with weights in Caffe's order and PostOps in a second pass.
AlgorithmPtr BlasInnerProduct(int rows, int inputs, int outputs);

/// oneDNN's, null where it has none; x in `source`. Weights are packed for `packed_rows` (0:
/// `rows`): if it has one for so many, in Caffe's order, it has one for fewer.
AlgorithmPtr OneDnnInnerProduct(int rows, int inputs, int outputs, bool transposed,
                                const Layout& source,
                                const onednn::WeightedPrimitive::Options& options,
                                int packed_rows = 0);

/// All that the algorithm of a layer depends on.
struct InnerProductProblem {
  int rows = 0, inputs = 0, outputs = 0;
  bool transposed = false;
  Layout source;  ///< in which the bottom lies: blocks of channels, or Caffe's order
  bool bias = false;
  Settings settings;

  int output_count() const { return outputs; }
  bool operator==(const InnerProductProblem& other) const;
};

/// Few rows of FLOAT16 in AMX's tiles, with their gradients; null where the processor has no tiles,
/// for transposed weights, and unless inputs and outputs are multiples of 32.
AlgorithmPtr TileInnerProduct(const InnerProductProblem& problem);

/// The fastest algorithm that a layer's settings allow.
AlgorithmPtr Choose(const InnerProductProblem& problem);
/// The BLAS and the library's own products, or the definition in loops: in every type, with all
/// gradients.
AlgorithmPtr Plain(const InnerProductProblem& problem);

}  // namespace caffe::algorithms

#endif  // CAFFE_ALGORITHMS_INNER_PRODUCT_HPP_
