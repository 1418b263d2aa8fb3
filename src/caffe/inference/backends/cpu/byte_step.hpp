#ifndef CAFFE_INFERENCE_BACKENDS_CPU_BYTE_STEP_HPP_
#define CAFFE_INFERENCE_BACKENDS_CPU_BYTE_STEP_HPP_

#include "caffe/inference/backends/integer_node.hpp"

namespace caffe::inference::cpu {

/// A step that makes one value of 8-bit integers from others, image by image: images may lie
/// anywhere.
class ByteStep : public Step {
 public:
  bool takes_strides() const override { return true; }
  /// Throws Error unless all lie in 8 bits and one layout, in as many images.
  void Bind(const Binding& binding) override;
  void Run(void* scratch) override;

 protected:
  /// Computes one image at these addresses or, if all are dense, all images.
  virtual void Compute(const std::vector<const void*>& x, void* y, size_t images) = 0;

  std::vector<Operand> x_;
  Operand y_;
};

}  // namespace caffe::inference::cpu

#endif  // CAFFE_INFERENCE_BACKENDS_CPU_BYTE_STEP_HPP_
