#include "inner_product.hpp"
#include "onednn_algorithm.hpp"

namespace caffe::algorithms {

AlgorithmPtr OneDnnInnerProduct(int rows, int inputs, int outputs, bool transposed,
                                const Layout& source,
                                const onednn::WeightedPrimitive::Options& options,
                                int packed_rows) {
  OneDnnSizes sizes;
  sizes.inputs = size_t(rows) * inputs;
  sizes.outputs = size_t(rows) * outputs;
  sizes.weights = size_t(inputs) * outputs;
  sizes.weights_of_an_output = inputs;
  sizes.images = rows;
  return OneDnnAlgorithm(
      onednn::InnerProduct::Make(rows, inputs, outputs, transposed, source, options, packed_rows),
      sizes, options);
}

}  // namespace caffe::algorithms
