#ifndef CAFFE_INFERENCE_BACKENDS_CPU_STEP_HPP_
#define CAFFE_INFERENCE_BACKENDS_CPU_STEP_HPP_

#include <cstddef>
#include <vector>

#include "caffe/element_type.hpp"
#include "caffe/inference/graph.hpp"

namespace caffe {
namespace inference {
namespace cpu {

/// Where a value's elements are, and how they lie there.
struct Operand {
  void* data = nullptr;
  Shape shape;
  ElementType type = ElementType::FLOAT;
  bool blocked = false;  ///< channels in blocks: (num, channels / block, spatial, block)
  int block = 1;
  float scale = 1;    ///< what an integer is multiplied by
  size_t images = 1;  ///< the pieces that lie behind one another: extents before axis 1
  size_t image = 0;   ///< elements of a piece, those that fill up blocks included
  size_t stride = 0;  ///< elements from one piece to the next

  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
  bool dense() const { return images <= 1 || stride == image; }
  size_t elements() const { return images * image; }
  size_t bytes() const { return elements() * SizeOf(type); }
};

/// What a step works on.
struct Binding {
  std::vector<Operand> inputs, outputs;
  std::vector<Operand> operands;  ///< one for each step of the epilogue; no data: it has none
};

/// A node, ready to be computed: an object for one thread at a time.
class Step {
 public:
  virtual ~Step() = default;
  /// Called before the first Run and whenever shapes or places change. Throws Error.
  virtual void Bind(const Binding& binding) = 0;
  /// Bytes that Run needs, aligned to 64. After Bind.
  virtual size_t scratch_bytes() const { return 0; }
  virtual void Run(void* scratch) = 0;
  /// True if operands need not be dense.
  virtual bool takes_strides() const { return false; }
};

}  // namespace cpu
}  // namespace inference
}  // namespace caffe

#endif  // CAFFE_INFERENCE_BACKENDS_CPU_STEP_HPP_
