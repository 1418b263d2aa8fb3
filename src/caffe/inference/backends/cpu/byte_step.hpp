#ifndef CAFFE_INFERENCE_BACKENDS_CPU_BYTE_STEP_HPP_
#define CAFFE_INFERENCE_BACKENDS_CPU_BYTE_STEP_HPP_

#include "caffe/inference/backends/integer_node.hpp"

namespace caffe::inference::cpu {

/// A step that makes one value of 8-bit integers from others, image by image (pixel by pixel with
/// channels last): images may lie anywhere.
class ByteStep : public Step {
 public:
  bool takes_strides() const override { return true; }
  /// Throws Error unless all lie in 8 bits and one layout, in as many images.
  void Bind(const Binding& binding) override;
  void Run(void* scratch) override;

 protected:
  /// Computes so many images, or pixels with channels last, that lie one after another at these
  /// addresses; called by several threads at a time.
  virtual void Compute(const std::vector<const void*>& x, void* y, size_t images) = 0;
  /// Positions of an image: with channels last of a pixel, which is one in blocks of channels.
  size_t positions() const {
    return y_.channels_last() ? 1 : CountOf({y_.shape.begin() + 2, y_.shape.end()});
  }

  std::vector<Operand> x_;
  Operand y_;

 private:
  void RunPixels();
};

}  // namespace caffe::inference::cpu

#endif  // CAFFE_INFERENCE_BACKENDS_CPU_BYTE_STEP_HPP_
