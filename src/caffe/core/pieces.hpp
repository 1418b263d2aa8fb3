#ifndef CAFFE_CORE_PIECES_HPP_
#define CAFFE_CORE_PIECES_HPP_

#include <memory>

#include "caffe/context.hpp"
#include "caffe/kernels/convert.hpp"
#include "caffe/kernels/post_ops.hpp"

namespace caffe {

// For kernels that know one type: floating-point elements of any, as a whole or in equal pieces of
// some images each. Elements of the kernel's type are read and written where they lie, others
// through scratch memory for one piece, so that what is converted stays in the cache.

/// What both directions share.
class Pieces {
 protected:
  /// Pieces of `size` elements, `stride` from one to the next (0: one lies behind another).
  Pieces(ElementType here, ElementType kernel, size_t size, size_t stride)
      : here_(here), kernel_(kernel), size_(size), stride_(stride > 0 ? stride : size) {
    if (here == kernel) return;
    converted_ = std::make_unique<Workspace::Buffer<char>>(Context::Current().workspace(),
                                                           size * SizeOf(kernel));
  }

  void Convert(ElementType from, const void* x, ElementType to, void* y) const {
    kernels::Convert(size_, from, x, 1.f, 0, to, y, 1.f, 0);
  }

  const ElementType here_, kernel_;
  const size_t size_, stride_;
  std::unique_ptr<Workspace::Buffer<char>> converted_;  // null: of the kernel's type already
};

/// For a kernel that reads elements of `type`.
class PieceReader : private Pieces {
 public:
  PieceReader(const kernels::Numbers& x, ElementType type, size_t size, size_t stride = 0)
      : Pieces(x.type, type, size, stride), x_(x) {}
  /// Good until the next call.
  const void* Piece(int index) const {
    const void* const piece = x_.at(index * stride_);
    if (!converted_) return piece;
    Convert(here_, piece, kernel_, converted_->get());
    return converted_->get();
  }

 private:
  const kernels::Numbers x_;
};

/// For a kernel that writes elements of `type`, all of them, piece by piece.
class PieceWriter : private Pieces {
 public:
  PieceWriter(const kernels::Destination& y, ElementType type, size_t size, size_t stride = 0)
      : Pieces(y.type, type, size, stride), y_(static_cast<char*>(y.y)) {}
  /// Calls f(where the kernel's elements of a piece go).
  template <typename Function>
  void Write(int index, Function&& f) const {
    char* const piece = y_ + index * stride_ * SizeOf(here_);
    if (!converted_) return f(static_cast<void*>(piece));
    f(static_cast<void*>(converted_->get()));
    Convert(kernel_, converted_->get(), here_, piece);
  }

 private:
  char* const y_;
};

/// All of `count` elements as float, for the time of a call.
class FloatValues {
 public:
  FloatValues(const kernels::Numbers& x, size_t count) : reader_(x, ElementType::FLOAT, count) {}
  const float* data() const { return data_; }

 private:
  PieceReader reader_;
  const float* const data_ = static_cast<const float*>(reader_.Piece(0));
};

}  // namespace caffe

#endif  // CAFFE_CORE_PIECES_HPP_
