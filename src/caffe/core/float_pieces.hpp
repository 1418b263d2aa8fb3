#ifndef CAFFE_CORE_FLOAT_PIECES_HPP_
#define CAFFE_CORE_FLOAT_PIECES_HPP_

#include <memory>

#include "caffe/context.hpp"
#include "caffe/core/as_stored.hpp"
#include "caffe/kernels/convert.hpp"
#include "caffe/kernels/post_ops.hpp"

namespace caffe {

// For kernels that know only float: FLOAT or FLOAT16 elements, as a whole or in equal pieces of
// some images each. FLOAT is read and written where it lies, FLOAT16 through scratch memory for one
// piece, so that what is wide stays in the cache.

inline std::unique_ptr<Workspace::Buffer<float>> WideBuffer(size_t count) {
  return std::make_unique<Workspace::Buffer<float>>(Context::Current().workspace(), count);
}

/// Pieces of `piece` elements, `stride` from one to the next (0: one lies behind another).
class FloatReader {
 public:
  FloatReader(const kernels::Numbers& x, size_t piece, size_t stride = 0)
      : x_(x), piece_(piece), stride_(stride > 0 ? stride : piece) {
    if (x.type != ElementType::FLOAT) wide_ = WideBuffer(piece);
  }
  /// A tensor in `layout`, which is that of one piece.
  FloatReader(Tensor& tensor, ElementType type, Layout layout, int pieces)
      : FloatReader(Read(tensor, type, layout, pieces), layout.extent(tensor.count() / pieces)) {}
  /// Good until the next call.
  const float* Piece(int index) {
    const void* piece = x_.at(index * stride_);
    if (x_.type == ElementType::FLOAT) return static_cast<const float*>(piece);
    kernels::Convert(piece_, static_cast<const float16*>(piece), wide_->get());
    return wide_->get();
  }

 private:
  static kernels::Numbers Read(Tensor& tensor, ElementType type, Layout layout, int pieces) {
    layout.num *= pieces;
    return {tensor.Read(type, layout).cpu_data(), type};
  }

  const kernels::Numbers x_;
  const size_t piece_, stride_;
  std::unique_ptr<Workspace::Buffer<float>> wide_;
};

/// The same for writing all elements, piece by piece.
class FloatWriter {
 public:
  FloatWriter(const kernels::Destination& y, size_t piece, size_t stride = 0)
      : y_(y), piece_(piece), stride_(stride > 0 ? stride : piece) {
    if (y.type != ElementType::FLOAT) wide_ = WideBuffer(piece);
  }
  FloatWriter(Tensor& tensor, ElementType type, Layout layout, int pieces)
      : FloatWriter(Overwrite(tensor, type, layout, pieces),
                    layout.extent(tensor.count() / pieces)) {}
  size_t piece() const { return piece_; }
  /// Calls f(where the floats of a piece go).
  template <typename Function>
  void Write(int index, Function&& f) {
    char* const piece = static_cast<char*>(y_.y) + index * stride_ * SizeOf(y_.type);
    if (y_.type == ElementType::FLOAT) return f(reinterpret_cast<float*>(piece));
    f(wide_->get());
    kernels::Convert(piece_, wide_->get(), reinterpret_cast<float16*>(piece));
  }

 private:
  static kernels::Destination Overwrite(Tensor& tensor, ElementType type, Layout layout,
                                        int pieces) {
    layout.num *= pieces;
    return {tensor.Overwrite(type, layout).overwrite_cpu_data(), type};
  }

  const kernels::Destination y_;
  const size_t piece_, stride_;
  std::unique_ptr<Workspace::Buffer<float>> wide_;
};

/// All of `count` elements as float, for the time of a call.
class FloatValues {
 public:
  FloatValues(const kernels::Numbers& x, size_t count) : reader_(x, count) {}
  const float* data() const { return data_; }

 private:
  FloatReader reader_;
  const float* const data_ = reader_.Piece(0);
};

}  // namespace caffe

#endif  // CAFFE_CORE_FLOAT_PIECES_HPP_
