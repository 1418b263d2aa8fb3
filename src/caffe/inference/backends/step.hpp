#ifndef CAFFE_INFERENCE_BACKENDS_STEP_HPP_
#define CAFFE_INFERENCE_BACKENDS_STEP_HPP_

#include <cstddef>
#include <vector>

#include "caffe/element_type.hpp"
#include "caffe/inference/graph.hpp"
#include "caffe/kernels/post_ops.hpp"

namespace caffe::inference {

/// Where a value's elements are, and in which layout.
struct Operand {
  void* data = nullptr;  ///< in the memory of the target that computes
  Shape shape;
  ElementType type = ElementType::FLOAT;
  Layout::Kind layout = Layout::PLAIN;
  int block = 1;       ///< channels are padded to a multiple of it, except in PLAIN
  float scale = 1;     ///< the factor of an integer
  int zero_point = 0;  ///< the integer that stands for 0
  /// The number of pieces: the product of the extents before axis 1; for CHANNELS_LAST, of pixels.
  size_t images = 1;
  size_t image = 0;   ///< elements of a piece, padding included
  size_t stride = 0;  ///< elements from one piece to the next

  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
  bool plain() const { return layout == Layout::PLAIN; }
  bool blocked() const { return layout == Layout::CHANNELS_BLOCKED; }
  bool channels_last() const { return layout == Layout::CHANNELS_LAST; }
  bool dense() const { return images <= 1 || stride == image; }
  size_t elements() const { return images * image; }
  size_t bytes() const { return elements() * SizeOf(type); }
};

inline kernels::Numbers NumbersOf(const Operand& operand) { return {operand.data, operand.type}; }

/// `value` as a dense operand of this shape, without an address.
Operand Described(const Value& value, const Shape& shape);

/// The operands of a step.
struct Binding {
  std::vector<Operand> inputs, outputs;
  std::vector<Operand> operands;  ///< one for each step of the epilogue; no data: it has none
  /// The elements of each of the node's parameters, in the memory of the target that computes.
  std::vector<const void*> parameters;
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

/// A node that its Layer computes, which knows its shapes.
class LayerStep : public Step {
 public:
  /// Shapes of the outputs for inputs of these shapes; the layer is set up for them.
  virtual std::vector<Shape> Reshape(const std::vector<Shape>& inputs) = 0;
  /// True if the last Run needed no conversion of what the layer made.
  virtual bool native() const = 0;
  /// The layer's results where the outputs have no memory, since their shapes depend on the data:
  /// FLOAT elements in the memory of the target.
  virtual const Shape& top_shape(int top) = 0;
  virtual const float* top_data(int top) = 0;
  /// Bytes of memory that it owns.
  virtual size_t bytes() const = 0;
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BACKENDS_STEP_HPP_
