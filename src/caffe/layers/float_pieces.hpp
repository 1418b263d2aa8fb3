#ifndef CAFFE_LAYERS_FLOAT_PIECES_HPP_
#define CAFFE_LAYERS_FLOAT_PIECES_HPP_

#include "caffe/context.hpp"
#include "caffe/core/as_stored.hpp"
#include "caffe/kernels/convert.hpp"

namespace caffe {

// For kernels that know only float: a FLOAT or FLOAT16 tensor in equal pieces of some images each,
// in a layout. FLOAT is read and written where it lies, FLOAT16 through scratch memory for one
// piece, so that what is wide stays in the cache.

/// `layout` is that of one piece.
class FloatReader {
 public:
  FloatReader(Tensor& tensor, ElementType type, Layout layout, int pieces)
      : half_(type == ElementType::FLOAT16),
        size_(layout.extent(tensor.count() / pieces)),
        wide_(Context::Current().workspace(), half_ ? size_ : 0) {
    layout.num *= pieces;
    if (half_) {
      halves_ = ReadAs<float16>(tensor, layout);
    } else {
      floats_ = ReadAs<float>(tensor, layout);
    }
  }
  /// Good until the next call.
  const float* Piece(int index) {
    if (!half_) return floats_ + index * size_;
    kernels::Convert(size_, halves_ + index * size_, wide_.get());
    return wide_.get();
  }

 private:
  const bool half_;
  const size_t size_;
  Workspace::Buffer<float> wide_;
  union {
    const float* floats_;
    const float16* halves_;
  };
};

/// All of the tensor is written, piece by piece.
class FloatWriter {
 public:
  FloatWriter(Tensor& tensor, ElementType type, Layout layout, int pieces)
      : half_(type == ElementType::FLOAT16),
        size_(layout.extent(tensor.count() / pieces)),
        wide_(Context::Current().workspace(), half_ ? size_ : 0) {
    layout.num *= pieces;
    if (half_) {
      halves_ = OverwriteAs<float16>(tensor, layout);
    } else {
      floats_ = OverwriteAs<float>(tensor, layout);
    }
  }
  /// Calls f(where the floats of a piece go).
  template <typename Function>
  void Write(int index, Function&& f) {
    if (!half_) return f(floats_ + index * size_);
    f(wide_.get());
    kernels::Convert(size_, wide_.get(), halves_ + index * size_);
  }

 private:
  const bool half_;
  const size_t size_;
  Workspace::Buffer<float> wide_;
  union {
    float* floats_;
    float16* halves_;
  };
};

}  // namespace caffe

#endif  // CAFFE_LAYERS_FLOAT_PIECES_HPP_
