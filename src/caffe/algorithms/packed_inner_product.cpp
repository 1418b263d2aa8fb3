#include "caffe/kernels/inner_product.hpp"

#include "caffe/core/dispatch_float.hpp"
#include "inner_product.hpp"

namespace caffe::algorithms {
namespace {

class PackedInnerProductAlgorithm : public Algorithm {
 public:
  PackedInnerProductAlgorithm(int rows, int inputs, int outputs, ElementType math)
      : rows_(rows), kernel_(inputs, outputs, math) {}

  size_t packed_size() const override { return kernel_.packed_size(); }
  void Pack(const kernels::Numbers& weights, const float* scale,
            const kernels::Destination& packed) const override {
    DispatchFloats(weights.type, packed.type, [&](auto from, auto to) {
      kernel_.PackWeights(static_cast<const decltype(from)*>(weights.data), scale,
                          static_cast<decltype(to)*>(packed.y));
    });
  }
  void Unpack(const kernels::Numbers& packed, const kernels::Destination& weights) const override {
    DispatchFloat(packed.type, [&](auto tag) {
      using W = decltype(tag);
      kernel_.UnpackWeights(static_cast<const W*>(packed.data), static_cast<W*>(weights.y));
    });
  }
  // Any number of rows.
  bool PacksAs(const Algorithm& other) const override {
    return dynamic_cast<const PackedInnerProductAlgorithm*>(&other) != nullptr;
  }

  size_t scratch_bytes() const override { return kernel_.scratch_bytes(rows_); }
  void Run(const kernels::Numbers& x, const Weights& weights, const kernels::PostOps& post,
           void* scratch, const kernels::Destination& y) const override {
    kernels::PostOps with_bias = post;
    with_bias.bias = static_cast<const float*>(weights.bias.data);
    kernel_.Forward(rows_, x, weights.values, with_bias, scratch, y);
  }

 private:
  const int rows_;
  const kernels::InnerProduct kernel_;
};

}  // namespace

AlgorithmPtr PackedInnerProduct(int rows, int inputs, int outputs, ElementType math) {
  return std::make_shared<PackedInnerProductAlgorithm>(rows, inputs, outputs, math);
}

}  // namespace caffe::algorithms
