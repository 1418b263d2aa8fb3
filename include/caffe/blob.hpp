#ifndef CAFFE_BLOB_HPP_
#define CAFFE_BLOB_HPP_

#include <algorithm>
#include <iosfwd>
#include <string>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/element_type.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/syncedmem.hpp"
#include "caffe/tensor.hpp"

/// The largest number of axes of a Blob.
const int kMaxBlobAxes = 32;

namespace caffe {

/// A shape as "2 3 4 5 (120)", its extents and their product, written when it is printed or made a
/// string: parts of messages that are never shown cost nothing. Refers to the shape.
class ShapeString {
 public:
  explicit ShapeString(const std::vector<int>& shape) : shape_(shape) {}
  operator std::string() const;
  friend std::ostream& operator<<(std::ostream& out, const ShapeString& shape);

 private:
  const std::vector<int>& shape_;
};

/// An N-dimensional array with its gradient: `data` and `diff`, each a Tensor of the same count.
///
/// The accessors named as in Caffe read and write elements of Dtype; their pointers stay good until
/// the blob is made larger or shares another's. Those ending in _as<T> read and write any type;
/// overwrite_..._as<T> is for a caller who writes every element. A const pointer from cpu_data_as
/// or gpu_data_as to a net's parameter is good until the net runs or loads weights. Which types are
/// kept, and which one is saved, is the Tensor's affair: see tensor.hpp.
///
/// Dtype is float, double, int or unsigned int.
template <typename Dtype>
class Blob {
 public:
  Blob() : Blob(std::vector<int>()) { count_ = 0; }
  explicit Blob(const int num, const int channels, const int height, const int width);
  explicit Blob(const std::vector<int>& shape);

  /// Changes the shape. Memory is replaced only when the count outgrows what was ever asked for.
  /// Throws Error for a negative extent or a count above 2^31 - 1.
  void Reshape(const int num, const int channels, const int height, const int width);
  void Reshape(const std::vector<int>& shape);
  void Reshape(const BlobShape& shape);
  void ReshapeLike(const Blob& other) { Reshape(other.shape()); }

  /// As ShapeString; "(0)" of a blob that was never shaped.
  std::string shape_string() const;
  const std::vector<int>& shape() const { return shape_; }
  /// The extent of one axis; negative indices count from the end.
  int shape(int index) const { return shape_[CanonicalAxisIndex(index)]; }
  int num_axes() const { return static_cast<int>(shape_.size()); }
  int count() const { return count_; }
  /// The product of the extents of axes [start_axis, end_axis).
  int count(int start_axis, int end_axis) const;
  int count(int start_axis) const { return count(start_axis, num_axes()); }
  /// `axis_index` in [-num_axes(), num_axes()) as a number in [0, num_axes()); Error otherwise.
  int CanonicalAxisIndex(int axis_index) const;

  int num() const { return LegacyShape(0); }
  int channels() const { return LegacyShape(1); }
  int height() const { return LegacyShape(2); }
  int width() const { return LegacyShape(3); }
  /// Extents as though the blob had 4 axes, missing ones being 1.
  int LegacyShape(int index) const;

  /// The number of elements before (n, c, h, w). Throws Error unless each index is in [0, extent];
  /// the extent itself, so that offset(n + 1) is the end of item n, as in Caffe.
  int offset(int n, int c = 0, int h = 0, int w = 0) const {
    return OffsetOf({n, c, h, w}, /*ends=*/true);
  }
  /// Indices left out are 0; throws Error unless each one given is in [0, extent).
  int offset(const std::vector<int>& indices) const;

  /// Copies data (or diff) of another blob of the same shape, or any shape with `reshape`.
  void CopyFrom(const Blob<Dtype>& source, bool copy_diff = false, bool reshape = false);

  Dtype data_at(const int n, const int c, const int h, const int w) const {
    return cpu_data_as<Dtype>()[OffsetOf({n, c, h, w}, /*ends=*/false)];
  }
  Dtype diff_at(const int n, const int c, const int h, const int w) const {
    return cpu_diff()[OffsetOf({n, c, h, w}, /*ends=*/false)];
  }
  Dtype data_at(const std::vector<int>& index) const { return cpu_data_as<Dtype>()[offset(index)]; }
  Dtype diff_at(const std::vector<int>& index) const { return cpu_diff()[offset(index)]; }

  /// The Dtype slot's memory, brought up to date.
  const shared_ptr<SyncedMemory>& data() const { return data_->memory(kElementType<Dtype>); }
  const shared_ptr<SyncedMemory>& diff() const { return diff_->memory(kElementType<Dtype>); }

  const Dtype* cpu_data() const {
    return static_cast<const Dtype*>(data_->kept_cpu_data(kElementType<Dtype>));
  }
  const Dtype* cpu_diff() const { return cpu_diff_as<Dtype>(); }
  const Dtype* gpu_data() const {
    return static_cast<const Dtype*>(data_->kept_gpu_data(kElementType<Dtype>));
  }
  const Dtype* gpu_diff() const { return gpu_diff_as<Dtype>(); }
  Dtype* mutable_cpu_data() { return mutable_cpu_data_as<Dtype>(); }
  Dtype* mutable_cpu_diff() { return mutable_cpu_diff_as<Dtype>(); }
  Dtype* mutable_gpu_data() { return mutable_gpu_data_as<Dtype>(); }
  Dtype* mutable_gpu_diff() { return mutable_gpu_diff_as<Dtype>(); }
  /// Uses count() elements of the caller's memory as the Dtype slot.
  void set_cpu_data(Dtype* data);
  void set_gpu_data(Dtype* data);
  /// The shape as int32 on the device, num_axes() values.
  const int* gpu_shape() const;

  template <typename T>
  const T* cpu_data_as() const {
    return static_cast<const T*>(data_->cpu_data(kElementType<T>));
  }
  template <typename T>
  const T* cpu_diff_as() const {
    return static_cast<const T*>(diff_->cpu_data(kElementType<T>));
  }
  template <typename T>
  const T* gpu_data_as() const {
    return static_cast<const T*>(data_->gpu_data(kElementType<T>));
  }
  template <typename T>
  const T* gpu_diff_as() const {
    return static_cast<const T*>(diff_->gpu_data(kElementType<T>));
  }
  template <typename T>
  T* mutable_cpu_data_as() {
    return static_cast<T*>(data_->mutable_cpu_data(kElementType<T>));
  }
  template <typename T>
  T* mutable_cpu_diff_as() {
    return static_cast<T*>(diff_->mutable_cpu_data(kElementType<T>));
  }
  template <typename T>
  T* mutable_gpu_data_as() {
    return static_cast<T*>(data_->mutable_gpu_data(kElementType<T>));
  }
  template <typename T>
  T* mutable_gpu_diff_as() {
    return static_cast<T*>(diff_->mutable_gpu_data(kElementType<T>));
  }
  template <typename T>
  T* overwrite_cpu_data_as() {
    return static_cast<T*>(data_->overwrite_cpu_data(kElementType<T>));
  }
  template <typename T>
  T* overwrite_cpu_diff_as() {
    return static_cast<T*>(diff_->overwrite_cpu_data(kElementType<T>));
  }
  template <typename T>
  T* overwrite_gpu_data_as() {
    return static_cast<T*>(data_->overwrite_gpu_data(kElementType<T>));
  }
  template <typename T>
  T* overwrite_gpu_diff_as() {
    return static_cast<T*>(diff_->overwrite_gpu_data(kElementType<T>));
  }

  /// The declared storage types: what is saved and what memory is planned for. Dtype at first.
  ElementType data_type() const { return data_->storage_type(); }
  ElementType diff_type() const { return diff_->storage_type(); }
  void set_data_type(ElementType type) { data_->set_storage_type(type); }
  void set_diff_type(ElementType type) { diff_->set_storage_type(type); }

  Tensor& data_tensor() const { return *data_; }
  /// True if another blob has the same data tensor.
  bool shares_data() const { return data_.use_count() > 1; }
  Tensor& diff_tensor() const { return *diff_; }

  /// data -= diff, in Dtype.
  void Update();

  /// Reads any of the payloads double_data, data, raw_data (in this order; the first one present
  /// counts) into the storage type, and the diff likewise. Throws Error when shapes differ and
  /// `reshape` is false, or a payload has another length than the shape.
  void FromProto(const BlobProto& proto, bool reshape = true);
  /// Writes what BVLC Caffe reads: `data` for FLOAT and FLOAT16 storage, `double_data` for DOUBLE.
  void ToProto(BlobProto* proto, bool write_diff = false) const;

  Dtype asum_data() const;
  Dtype asum_diff() const;
  Dtype sumsq_data() const;
  Dtype sumsq_diff() const;
  void scale_data(Dtype scale_factor);
  void scale_diff(Dtype scale_factor);

  /// Makes this blob's data (diff) the same tensor as the other's; counts must agree.
  void ShareData(const Blob& other);
  void ShareDiff(const Blob& other);

  /// True if `other` describes this shape, its old num/channels/height/width form included.
  bool ShapeEquals(const BlobProto& other);

 protected:
  shared_ptr<Tensor> data_;
  shared_ptr<Tensor> diff_;
  mutable shared_ptr<SyncedMemory> shape_data_;
  std::vector<int> shape_;
  int count_;
  int capacity_;

 private:
  /// Throws Error unless each index is in [0, extent), or with `ends` in [0, extent].
  int OffsetOf(const int (&indices)[4], bool ends) const;

  DISABLE_COPY_AND_ASSIGN(Blob);
};

}  // namespace caffe

#endif  // CAFFE_BLOB_HPP_
