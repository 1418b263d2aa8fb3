#include <algorithm>
#include <functional>
#include <numeric>

#include "caffe/kernels/convolution.hpp"

namespace caffe::kernels {
namespace {

size_t Product(const std::vector<int>& extents) {
  return std::accumulate(extents.begin(), extents.end(), size_t(1), std::multiplies<size_t>());
}

bool All(const std::vector<int>& values, int wanted) {
  return std::all_of(values.begin(), values.end(), [wanted](int v) { return v == wanted; });
}

}  // namespace

size_t ConvolutionShape::input_spatial() const { return Product(input); }
size_t ConvolutionShape::output_spatial() const { return Product(output); }
size_t ConvolutionShape::kernel_size() const { return Product(kernel); }

bool ConvolutionShape::is_pointwise() const {
  return All(kernel, 1) && All(stride, 1) && All(pad, 0) && input == output;
}

}  // namespace caffe::kernels
