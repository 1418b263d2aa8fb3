#ifndef CAFFE_ALGORITHMS_PACKED_CONVOLUTION_HPP_
#define CAFFE_ALGORITHMS_PACKED_CONVOLUTION_HPP_

#include <memory>

#include "algorithm.hpp"
#include "caffe/kernels/packed_convolution.hpp"

namespace caffe::algorithms {

/// A kernel of packed_convolution.hpp on `num` images in these layouts.
class PackedConvolutionAlgorithm : public Algorithm {
 public:
  using Kernel = std::shared_ptr<const kernels::PackedConvolution>;
  PackedConvolutionAlgorithm(int num, const Kernel& kernel, const Layout& source,
                             const Layout& target)
      : num_(num), kernel_(kernel), source_(source), target_(target) {}

  Layout source() const override { return source_; }
  Layout target() const override { return target_; }
  ElementType SourceType(ElementType type, ElementType newest) const override;

  size_t packed_size() const override { return kernel_->packed_size(); }
  void Pack(const kernels::Numbers& weights, const float* scale,
            const kernels::Destination& packed) const override;
  void Unpack(const kernels::Numbers& packed, const kernels::Destination& weights) const override;
  bool PacksAs(const Algorithm& other) const override;

  size_t scratch_bytes() const override { return kernel_->scratch_size(num_) * sizeof(float); }
  void Run(const kernels::Numbers& x, const Weights& weights, const kernels::PostOps& post,
           void* scratch, const kernels::Destination& y) const override;

 protected:
  int num() const { return num_; }
  const kernels::PackedConvolution& kernel() const { return *kernel_; }

 private:
  const int num_;
  const Kernel kernel_;
  const Layout source_, target_;
};

}  // namespace caffe::algorithms

#endif  // CAFFE_ALGORITHMS_PACKED_CONVOLUTION_HPP_
