#include "caffe/blob.hpp"

#include <limits>
#include <type_traits>

#include "caffe/core/blob_payload.hpp"
#include "caffe/core/limits.hpp"
#include "caffe/device/on_device.hpp"
#include "caffe/kernels/blas.hpp"
#include "caffe/kernels/elementwise.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/util/text/shape_text.hpp"

namespace caffe {

ShapeString::operator std::string() const { return Join(*this); }

std::ostream& operator<<(std::ostream& out, const ShapeString& shape) {
  int64_t count = 1;
  bool fits = true;
  for (const int extent : shape.shape_) {
    out << extent << " ";
    fits = !__builtin_mul_overflow(count, extent, &count) && (fits || extent == 0);
  }
  return fits ? out << "(" << count << ")" : out << "(2^63 or more)";
}

namespace {

// Unlike ShapeString also for shapes that are not valid.
std::string Extents(const std::vector<int>& shape) { return ShapeText(shape, " x "); }

int CheckedCount(const std::vector<int>& shape, size_t element_size) {
  Require(shape.size() <= kMaxBlobAxes, "a blob has at most ", kMaxBlobAxes, " axes, not ",
          shape.size());
  if (shape.size() > limits::Of(limits::kAxes)) {
    limits::Check(limits::kAxes, shape.size(), "a blob of shape ", Extents(shape));
  }
  // Also of an empty blob: parts of its shape are multiplied, too.
  int64_t count = 1;
  bool is_empty = false;
  for (const int extent : shape) {
    if (extent < 0) Fail("a blob's shape has no negative extents: ", Extents(shape));
    is_empty |= extent == 0;
    count *= std::max(extent, 1);
    if (count > std::numeric_limits<int>::max()) {
      Fail("a blob of shape ", Extents(shape),
           " has more than 2^31 - 1 elements: reduce the batch size or the image size");
    }
  }
  if (is_empty) return 0;
  const uint64_t bytes = count * element_size;
  if (bytes > limits::Of(limits::kBlobBytes)) {
    limits::Check(limits::kBlobBytes, bytes, "a blob of shape ", Extents(shape));
  }
  return static_cast<int>(count);
}

/// Puts tensors of `count` elements in the place of these, both or, where memory ends, none.
void Renew(size_t count, boost::shared_ptr<Tensor>* data, boost::shared_ptr<Tensor>* diff) {
  boost::shared_ptr<Tensor> new_data(new Tensor(count, (*data)->storage_type()));
  boost::shared_ptr<Tensor> new_diff(new Tensor(count, (*diff)->storage_type()));
  data->swap(new_data);
  diff->swap(new_diff);
}

}  // namespace

template <typename Dtype>
Blob<Dtype>::Blob(const std::vector<int>& shape)
    : data_(new Tensor(0, kElementType<Dtype>)),
      diff_(new Tensor(0, kElementType<Dtype>)),
      count_(0),
      capacity_(0) {
  Reshape(shape);
}

template <typename Dtype>
Blob<Dtype>::Blob(const int num, const int channels, const int height, const int width)
    : Blob(std::vector<int>{num, channels, height, width}) {}

template <typename Dtype>
void Blob<Dtype>::Reshape(const std::vector<int>& shape) {
  const auto fits = [this](const Tensor& tensor) {
    return static_cast<int>(tensor.count()) == count_;
  };
  if (count_ > 0 && shape == shape_ && fits(*data_) && fits(*diff_)) return;
  const int count = CheckedCount(shape, sizeof(Dtype));
  std::vector<int> extents = shape;
  if (count > capacity_) {
    limits::NetBytes::Add((count - static_cast<size_t>(capacity_)) * sizeof(Dtype));
    Renew(count, &data_, &diff_);
    capacity_ = count;
  } else {
    // A tensor that other blobs share keeps the largest extent that any of them uses.
    for (Tensor* tensor : {data_.get(), diff_.get()}) {
      const bool shared = (tensor == data_.get() ? data_ : diff_).use_count() > 1;
      if (!shared || static_cast<size_t>(count) > tensor->count()) tensor->Resize(count);
    }
  }
  if (extents != shape_) shape_data_.reset();
  shape_.swap(extents);
  count_ = count;
}

template <typename Dtype>
void Blob<Dtype>::Reshape(const int num, const int channels, const int height, const int width) {
  Reshape(std::vector<int>{num, channels, height, width});
}

template <typename Dtype>
void Blob<Dtype>::Reshape(const BlobShape& shape) {
  Reshape(payload::Extents(shape));
}

template <typename Dtype>
int Blob<Dtype>::count(int start_axis, int end_axis) const {
  CHECK_LE(start_axis, end_axis);
  CHECK_GE(start_axis, 0);
  CHECK_LE(end_axis, num_axes());
  int count = 1;
  for (int i = start_axis; i < end_axis; ++i) count *= shape_[i];
  return count;
}

template <typename Dtype>
int Blob<Dtype>::CanonicalAxisIndex(int axis_index) const {
  Require(axis_index >= -num_axes() && axis_index < num_axes(), "axis ", axis_index,
          " is out of range for a blob of shape ", ShapeString(shape_), ": valid are ", -num_axes(),
          " to ", num_axes() - 1);
  return axis_index < 0 ? axis_index + num_axes() : axis_index;
}

template <typename Dtype>
int Blob<Dtype>::LegacyShape(int index) const {
  Require(num_axes() <= 4, "num, channels, height and width are for blobs of at most 4 axes, not ",
          ShapeString(shape_));
  Require(index >= -4 && index < 4, "axis ", index, " is none of num, channels, height and width");
  if (index >= num_axes() || index < -num_axes()) return 1;
  return shape(index);
}

template <typename Dtype>
int Blob<Dtype>::OffsetOf(const int (&indices)[4], bool ends) const {
  int offset = 0;
  for (int axis = 0; axis < 4; ++axis) {
    const int index = indices[axis], extent = LegacyShape(axis);
    Require(index >= 0 && index < extent + ends, "(", indices[0], ", ", indices[1], ", ",
            indices[2], ", ", indices[3], ") is outside of a blob of shape ", ShapeString(shape_));
    offset = offset * extent + index;
  }
  return offset;
}

template <typename Dtype>
std::string Blob<Dtype>::shape_string() const {
  return shape_.empty() && count_ == 0 ? "(0)" : std::string(ShapeString(shape_));
}

template <typename Dtype>
int Blob<Dtype>::offset(const std::vector<int>& indices) const {
  Require(indices.size() <= shape_.size(), indices.size(), " indices for a blob of shape ",
          ShapeString(shape_));
  int offset = 0;
  for (size_t axis = 0; axis < shape_.size(); ++axis) {
    offset *= shape_[axis];
    if (axis >= indices.size()) continue;
    Require(indices[axis] >= 0 && indices[axis] < shape_[axis], "index ", indices[axis],
            " of axis ", axis, " is outside of a blob of shape ", ShapeString(shape_));
    offset += indices[axis];
  }
  return offset;
}

namespace {

/// What was written in another type is seen through a pointer to Dtype that a caller holds.
template <typename Dtype>
void ShowToHolders(Tensor* tensor) {
  if (tensor->is_held(kElementType<Dtype>)) tensor->Read(kElementType<Dtype>, Layout());
}

}  // namespace

template <typename Dtype>
void Blob<Dtype>::set_cpu_data(Dtype* data) {
  const size_t bytes = count_ * sizeof(Dtype);
  if (data_->capacity() * sizeof(Dtype) != bytes) {
    Renew(count_, &data_, &diff_);
    capacity_ = count_;
  }
  data_->Overwrite(kElementType<Dtype>, Layout()).set_cpu_data(data);
  data_->memory(kElementType<Dtype>);  // handed out: the caller holds the pointer
}

template <typename Dtype>
void Blob<Dtype>::set_gpu_data(Dtype* data) {
  const size_t bytes = count_ * sizeof(Dtype);
  if (data_->capacity() * sizeof(Dtype) != bytes) {
    Renew(count_, &data_, &diff_);
    capacity_ = count_;
  }
  data_->Overwrite(kElementType<Dtype>, Layout()).set_gpu_data(data);
}

template <typename Dtype>
const int* Blob<Dtype>::gpu_shape() const {
  if (!shape_data_) {
    boost::shared_ptr<SyncedMemory> shape(new SyncedMemory(shape_.size() * sizeof(int)));
    std::copy(shape_.begin(), shape_.end(), static_cast<int*>(shape->overwrite_cpu_data()));
    shape_data_.swap(shape);
  }
  return static_cast<const int*>(shape_data_->gpu_data());
}

namespace {

/// Copies in the type that is newest in `from`; nothing is rounded.
void CopyTensor(const Tensor& source, size_t count, Tensor* to) {
  Tensor& from = const_cast<Tensor&>(source);
  if (on_device::Copy(&from, count, to)) return;
  const ElementType type = from.newest_type();
  kernels::CopyBytes(count * SizeOf(type), from.cpu_data(type), to->overwrite_cpu_data(type));
}

}  // namespace

template <typename Dtype>
void Blob<Dtype>::CopyFrom(const Blob& source, bool copy_diff, bool reshape) {
  if (source.count() != count_ || source.shape() != shape_) {
    Require(reshape, "cannot copy a blob of shape ", source.shape_string(), " into one of shape ",
            shape_string(), " without reshaping");
    ReshapeLike(source);
  }
  Tensor* to = copy_diff ? diff_.get() : data_.get();
  Tensor& from = copy_diff ? *source.diff_ : *source.data_;
  if (to == &from) return;
  CopyTensor(from, count_, to);
  ShowToHolders<Dtype>(to);
}

template <typename Dtype>
void Blob<Dtype>::Update() {
  if (on_device::Subtract(diff_.get(), count_, kElementType<Dtype>, data_.get())) return;
  kernels::Axpy(count_, Dtype(-1), cpu_diff(), mutable_cpu_data());
}
template <>
void Blob<int>::Update() {
  NOT_IMPLEMENTED;
}
template <>
void Blob<unsigned int>::Update() {
  NOT_IMPLEMENTED;
}

namespace {

/// f applied to the elements in the type in which they lie, so that asking for a sum makes no new
/// representation; in Dtype when that is not a type that kernels compute in.
template <typename Dtype, typename Function>
Dtype Reduce(Tensor& tensor, size_t count, Function&& f) {
  if (count == 0) return 0;
  double result = 0;
  const ElementType type = tensor.newest_type();
  const bool computable =
      type == ElementType::FLOAT || type == ElementType::DOUBLE || type == ElementType::FLOAT16;
  Dispatch(computable ? type : kElementType<float>, [&](auto tag) {
    using T = decltype(tag);
    result = f(count, static_cast<const T*>(tensor.cpu_data(kElementType<T>)));
  });
  return static_cast<Dtype>(result);
}

template <typename Dtype>
Dtype AbsoluteSum(Tensor& tensor, size_t count) {
  double sum = 0;
  if (on_device::Asum(&tensor, count, &sum)) return static_cast<Dtype>(sum);
  return Reduce<Dtype>(tensor, count, [](size_t n, const auto* x) { return kernels::Asum(n, x); });
}

template <typename Dtype>
Dtype SquareSum(Tensor& tensor, size_t count) {
  double sum = 0;
  if (on_device::Sumsq(&tensor, count, &sum)) return static_cast<Dtype>(sum);
  return Reduce<Dtype>(tensor, count, [](size_t n, const auto* x) { return kernels::Sumsq(n, x); });
}

template <typename Dtype>
void ScaleTensor(Tensor& tensor, size_t count, Dtype factor) {
  if (count == 0 || on_device::Scale(&tensor, count, factor)) return;
  const ElementType newest = tensor.newest_type();
  const bool computable = newest == ElementType::DOUBLE || newest == ElementType::FLOAT16;
  Dispatch(computable ? newest : ElementType::FLOAT, [&](auto tag) {
    using T = decltype(tag);
    kernels::Scal(count, static_cast<AccumulatorType<T>>(factor),
                  static_cast<T*>(tensor.mutable_cpu_data(kElementType<T>)));
  });
}

}  // namespace

template <typename Dtype>
Dtype Blob<Dtype>::asum_data() const {
  return AbsoluteSum<Dtype>(*data_, count_);
}
template <typename Dtype>
Dtype Blob<Dtype>::asum_diff() const {
  return AbsoluteSum<Dtype>(*diff_, count_);
}
template <typename Dtype>
Dtype Blob<Dtype>::sumsq_data() const {
  return SquareSum<Dtype>(*data_, count_);
}
template <typename Dtype>
Dtype Blob<Dtype>::sumsq_diff() const {
  return SquareSum<Dtype>(*diff_, count_);
}
template <typename Dtype>
void Blob<Dtype>::scale_data(Dtype scale_factor) {
  ScaleTensor(*data_, count_, scale_factor);
}
template <typename Dtype>
void Blob<Dtype>::scale_diff(Dtype scale_factor) {
  ScaleTensor(*diff_, count_, scale_factor);
}

namespace {

template <typename Dtype>
void RequireSameCount(const Blob<Dtype>& blob, const Blob<Dtype>& other) {
  if (blob.count() == other.count()) return;
  Fail("blobs share what has one number of elements: ", blob.shape_string(), " is not ",
       other.shape_string());
}

}  // namespace

template <typename Dtype>
void Blob<Dtype>::ShareData(const Blob& other) {
  RequireSameCount(*this, other);
  data_ = other.data_;
}

template <typename Dtype>
void Blob<Dtype>::ShareDiff(const Blob& other) {
  RequireSameCount(*this, other);
  diff_ = other.diff_;
}

template <typename Dtype>
bool Blob<Dtype>::ShapeEquals(const BlobProto& other) {
  return payload::ShapeFits(shape_, other);
}

template <typename Dtype>
void Blob<Dtype>::FromProto(const BlobProto& proto, bool reshape) {
  if (reshape) {
    Reshape(payload::Extents(proto));
  } else {
    Require(ShapeEquals(proto), "the stored blob has shape ", ShapeString(payload::Extents(proto)),
            " where ", shape_string(), " is needed");
  }
  payload::Read(proto, /*diff=*/false, data_.get());
  ShowToHolders<Dtype>(data_.get());
  payload::Read(proto, /*diff=*/true, diff_.get());
}

template <typename Dtype>
void Blob<Dtype>::ToProto(BlobProto* proto, bool write_diff) const {
  proto->clear_shape();
  for (int extent : shape_) proto->mutable_shape()->add_dim(extent);
  proto->clear_data();
  proto->clear_diff();
  proto->clear_double_data();
  proto->clear_double_diff();
  payload::Write(data_.get(), /*diff=*/false, proto);
  if (write_diff) payload::Write(diff_.get(), /*diff=*/true, proto);
}

template class Blob<float>;
template class Blob<double>;
template class Blob<int>;
template class Blob<unsigned int>;

}  // namespace caffe
