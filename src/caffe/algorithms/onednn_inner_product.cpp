#include <algorithm>
#include <cstring>
#include <utility>

#include "caffe/kernels/ceil_div.hpp"
#include "inner_product.hpp"
#include "onednn_algorithm.hpp"

namespace caffe::algorithms {
namespace {

/// For fewer rows than oneDNN has a kernel for: that of more rows, which are 0, on copies of x and
/// y.
class FewerRows : public AroundAlgorithm {
 public:
  /// Bytes of x and y with so many rows as are wanted, and as the kernel has.
  struct Sizes {
    size_t x, y, kernel_x, kernel_y;
  };
  FewerRows(AlgorithmPtr kernel, const Sizes& sizes)
      : AroundAlgorithm(std::move(kernel)), sizes_(sizes) {}

  size_t scratch_bytes() const override {
    return Aligned(sizes_.kernel_x) + Aligned(sizes_.kernel_y) + inner().scratch_bytes();
  }
  void Run(const kernels::Numbers& x, const Weights& weights, const kernels::PostOps& post,
           void* scratch, const kernels::Destination& y) const override {
    char* const rows = static_cast<char*>(scratch);
    char* const results = rows + Aligned(sizes_.kernel_x);
    std::memcpy(rows, x.data, sizes_.x);
    std::memset(rows + sizes_.x, 0, sizes_.kernel_x - sizes_.x);
    inner().Run({rows, x.type}, weights, post, results + Aligned(sizes_.kernel_y),
                {results, y.type});
    std::memcpy(y.y, results, sizes_.y);
  }

 private:
  static size_t Aligned(size_t bytes) { return kernels::RoundUp(bytes, 64); }

  const Sizes sizes_;
};

}  // namespace

AlgorithmPtr OneDnnInnerProduct(int rows, int inputs, int outputs, bool transposed,
                                const Layout& source,
                                const onednn::WeightedPrimitive::Options& options,
                                int packed_rows) {
  const auto make = [&](int some) {
    OneDnnSizes sizes;
    sizes.inputs = size_t(some) * inputs;
    sizes.outputs = size_t(some) * outputs;
    sizes.weights = size_t(inputs) * outputs;
    sizes.weights_of_an_output = inputs;
    sizes.images = some;
    return OneDnnAlgorithm(
        onednn::InnerProduct::Make(some, inputs, outputs, transposed, source, options, packed_rows),
        sizes, options);
  };
  if (rows == 0) return nullptr;
  if (AlgorithmPtr exact = make(rows)) return exact;
  for (int more = rows; more < packed_rows;) {
    more += std::min(more, packed_rows - more);
    if (AlgorithmPtr kernel = make(more)) {
      const auto sources = [&](int some) { return size_t(some) * inputs * SizeOf(options.type); };
      const auto results = [&](int some) {
        return size_t(some) * outputs * SizeOf(options.result);
      };
      return std::make_shared<FewerRows>(
          std::move(kernel),
          FewerRows::Sizes{sources(rows), results(rows), sources(more), results(more)});
    }
  }
  return nullptr;
}

}  // namespace caffe::algorithms
