#ifndef CAFFE_NVCAFFE_BLOB_HPP_
#define CAFFE_NVCAFFE_BLOB_HPP_

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/type.hpp"

namespace nvcaffe {

using boost::shared_ptr;
using std::string;
using std::vector;

/// NVCaffe's Blob: no element type of its own, each accessor says the one that it reads or writes.
/// A handle on a caffe::Blob<float>, whose tensors convert between types; copies of the handle are
/// the same blob. Those of a Net keep the net alive.
class Blob {
 public:
  /// A handle on `blob`, which is not null.
  explicit Blob(shared_ptr<caffe::Blob<float>> blob) : blob_(std::move(blob)) {}
  virtual ~Blob() = default;

  /// A blob that is kept in type Data, its gradient in type Diff.
  template <typename Data, typename Diff = Data>
  static shared_ptr<Blob> create(const vector<int>& shape = {}) {
    return create(caffe::tp<Data>(), caffe::tp<Diff>(), shape);
  }
  template <typename Data, typename Diff = Data>
  static shared_ptr<Blob> create(int num, int channels, int height, int width) {
    return create<Data, Diff>({num, channels, height, width});
  }
  static shared_ptr<Blob> create(caffe::Type data, caffe::Type diff,
                                 const vector<int>& shape = {}) {
    return shared_ptr<Blob>(new Blob(MakeBlob(data, diff, shape)));
  }

  /// The blob itself.
  caffe::Blob<float>& typed() const { return *blob_; }

  void Reshape(int num, int channels, int height, int width) {
    blob_->Reshape(num, channels, height, width);
  }
  void Reshape(const vector<int>& shape) { blob_->Reshape(shape); }
  void Reshape(const caffe::BlobShape& shape) { blob_->Reshape(shape); }
  void ReshapeLike(const Blob& other) { blob_->ReshapeLike(other.typed()); }
  void ReshapeLike(const Blob* other) { ReshapeLike(*other); }

  string shape_string() const { return blob_->shape_string(); }
  const vector<int>& shape() const { return blob_->shape(); }
  int shape(int index) const { return blob_->shape(index); }
  int num_axes() const { return blob_->num_axes(); }
  int count() const { return blob_->count(); }
  int count(int start_axis, int end_axis) const { return blob_->count(start_axis, end_axis); }
  int count(int start_axis) const { return blob_->count(start_axis); }
  int CanonicalAxisIndex(int axis_index) const { return blob_->CanonicalAxisIndex(axis_index); }
  int num() const { return blob_->num(); }
  int channels() const { return blob_->channels(); }
  int height() const { return blob_->height(); }
  int width() const { return blob_->width(); }
  int LegacyShape(int index) const { return blob_->LegacyShape(index); }
  int offset(int n, int c = 0, int h = 0, int w = 0) const { return blob_->offset(n, c, h, w); }
  int offset(const vector<int>& indices) const { return blob_->offset(indices); }

  /// What data and diff are kept in. Throws Error for a type that NVCaffe has no name for.
  caffe::Type data_type() const { return caffe::payload::ToProto(blob_->data_type()); }
  caffe::Type diff_type() const { return caffe::payload::ToProto(blob_->diff_type()); }

  template <typename T>
  const T* cpu_data() const {
    return static_cast<const T*>(blob_->data_tensor().kept_cpu_data(caffe::kElementType<T>));
  }
  template <typename T>
  const T* cpu_diff() const {
    return blob_->cpu_diff_as<T>();
  }
  template <typename T>
  const T* gpu_data() const {
    return static_cast<const T*>(blob_->data_tensor().kept_gpu_data(caffe::kElementType<T>));
  }
  template <typename T>
  const T* gpu_diff() const {
    return blob_->gpu_diff_as<T>();
  }
  template <typename T>
  T* mutable_cpu_data() {
    return blob_->mutable_cpu_data_as<T>();
  }
  template <typename T>
  T* mutable_cpu_diff() {
    return blob_->mutable_cpu_diff_as<T>();
  }
  template <typename T>
  T* mutable_gpu_data() {
    return blob_->mutable_gpu_data_as<T>();
  }
  template <typename T>
  T* mutable_gpu_diff() {
    return blob_->mutable_gpu_diff_as<T>();
  }
  /// With `keep` false for a caller who writes every element.
  template <typename T>
  T* mutable_cpu_data_c(bool keep) {
    return keep ? blob_->mutable_cpu_data_as<T>() : blob_->overwrite_cpu_data_as<T>();
  }
  template <typename T>
  T* mutable_cpu_diff_c(bool keep) {
    return keep ? blob_->mutable_cpu_diff_as<T>() : blob_->overwrite_cpu_diff_as<T>();
  }
  template <typename T>
  T* mutable_gpu_data_c(bool keep) {
    return keep ? blob_->mutable_gpu_data_as<T>() : blob_->overwrite_gpu_data_as<T>();
  }
  template <typename T>
  T* mutable_gpu_diff_c(bool keep) {
    return keep ? blob_->mutable_gpu_diff_as<T>() : blob_->overwrite_gpu_diff_as<T>();
  }
  const int* gpu_shape() const { return blob_->gpu_shape(); }

  float data_at(int n, int c, int h, int w) const { return blob_->data_at(n, c, h, w); }
  float diff_at(int n, int c, int h, int w) const { return blob_->diff_at(n, c, h, w); }
  float data_at(const vector<int>& index) const { return blob_->data_at(index); }
  float diff_at(const vector<int>& index) const { return blob_->diff_at(index); }

  void set_data(float value) { std::fill_n(blob_->overwrite_cpu_data_as<float>(), count(), value); }
  void set_diff(float value) { std::fill_n(blob_->overwrite_cpu_diff_as<float>(), count(), value); }
  void scale_data(float factor) { blob_->scale_data(factor); }
  void scale_diff(float factor) { blob_->scale_diff(factor); }
  float asum_data() const { return blob_->asum_data(); }
  float asum_diff() const { return blob_->asum_diff(); }
  float sumsq_data() const { return blob_->sumsq_data(); }
  float sumsq_diff() const { return blob_->sumsq_diff(); }
  /// The largest absolute value; 0 of no elements.
  float amax_data() const { return LargestMagnitude(cpu_data<float>()); }
  float amax_diff() const { return LargestMagnitude(cpu_diff<float>()); }
  void Update() { blob_->Update(); }

  void CopyFrom(const Blob& source, bool copy_diff = false, bool reshape = false) {
    blob_->CopyFrom(source.typed(), copy_diff, reshape);
  }
  void CopyDataFrom(const Blob& source, bool reshape = false) { CopyFrom(source, false, reshape); }
  void CopyDiffFrom(const Blob& source, bool reshape = false) { CopyFrom(source, true, reshape); }
  void ShareData(const Blob& other) { blob_->ShareData(other.typed()); }
  void ShareDiff(const Blob& other) { blob_->ShareDiff(other.typed()); }

  void FromProto(const caffe::BlobProto& proto, bool reshape = true) {
    blob_->FromProto(proto, reshape);
  }
  /// What BVLC Caffe reads.
  void ToProtoBVLC(caffe::BlobProto* proto, bool write_diff = false) const {
    blob_->ToProto(proto, write_diff);
  }
  /// That, or the raw form, in which FLOAT16 stays FLOAT16.
  void ToProto(caffe::BlobProto* proto, bool store_in_old_format, bool write_diff = false) const {
    if (store_in_old_format) return ToProtoBVLC(proto, write_diff);
    proto->Clear();
    for (const int extent : shape()) proto->mutable_shape()->add_dim(extent);
    proto->set_raw_data_type(data_type());
    proto->set_raw_data(RawBytes(&blob_->data_tensor()));
    if (!write_diff) return;
    proto->set_raw_diff_type(diff_type());
    proto->set_raw_diff(RawBytes(&blob_->diff_tensor()));
  }

 protected:
  static shared_ptr<caffe::Blob<float>> MakeBlob(caffe::Type data, caffe::Type diff,
                                                 const vector<int>& shape) {
    shared_ptr<caffe::Blob<float>> blob(new caffe::Blob<float>());
    if (!shape.empty()) blob->Reshape(shape);
    blob->set_data_type(caffe::payload::FromProto(data));
    blob->set_diff_type(caffe::payload::FromProto(diff));
    return blob;
  }

 private:
  string RawBytes(caffe::Tensor* tensor) const {
    const caffe::ElementType type = tensor->storage_type();
    const char* const bytes = static_cast<const char*>(tensor->cpu_data(type));
    return string(bytes, tensor->count() * caffe::SizeOf(type));
  }

  float LargestMagnitude(const float* values) const {
    float largest = 0;
    for (int i = 0; i < count(); ++i) largest = std::max(largest, std::fabs(values[i]));
    return largest;
  }

  shared_ptr<caffe::Blob<float>> blob_;
};

/// NVCaffe's blob of one element type, whose accessors need not say it. Those of a net are
/// TBlob<float>, whatever type the net keeps them in.
template <typename Dtype>
class TBlob : public Blob {
 public:
  TBlob() : TBlob(vector<int>()) {}
  explicit TBlob(const vector<int>& shape)
      : Blob(MakeBlob(caffe::tp<Dtype>(), caffe::tp<Dtype>(), shape)) {}
  TBlob(int num, int channels, int height, int width)
      : TBlob(vector<int>{num, channels, height, width}) {}
  explicit TBlob(shared_ptr<caffe::Blob<float>> blob) : Blob(std::move(blob)) {}

  template <typename T = Dtype>
  const T* cpu_data() const {
    return Blob::cpu_data<T>();
  }
  template <typename T = Dtype>
  const T* cpu_diff() const {
    return Blob::cpu_diff<T>();
  }
  template <typename T = Dtype>
  const T* gpu_data() const {
    return Blob::gpu_data<T>();
  }
  template <typename T = Dtype>
  const T* gpu_diff() const {
    return Blob::gpu_diff<T>();
  }
  template <typename T = Dtype>
  T* mutable_cpu_data() {
    return Blob::mutable_cpu_data<T>();
  }
  template <typename T = Dtype>
  T* mutable_cpu_diff() {
    return Blob::mutable_cpu_diff<T>();
  }
  template <typename T = Dtype>
  T* mutable_gpu_data() {
    return Blob::mutable_gpu_data<T>();
  }
  template <typename T = Dtype>
  T* mutable_gpu_diff() {
    return Blob::mutable_gpu_diff<T>();
  }
  /// Uses count() elements of the caller's memory.
  void set_cpu_data(Dtype* data) {
    if constexpr (std::is_same<Dtype, float>::value) {
      typed().set_cpu_data(data);
    } else {
      ForWholeTensor().set_cpu_data(data);
    }
  }
  void set_gpu_data(Dtype* data) {
    if constexpr (std::is_same<Dtype, float>::value) {
      typed().set_gpu_data(data);
    } else {
      ForWholeTensor().set_gpu_data(data);
    }
  }

 private:
  caffe::SyncedMemory& ForWholeTensor() {
    caffe::Tensor& data = typed().data_tensor();
    caffe::Require(data.capacity() == data.count(), "a blob that was larger before cannot take ",
                   "the caller's memory: make a new one of shape ", shape_string());
    return data.Overwrite(caffe::kElementType<Dtype>, caffe::Layout());
  }
};

}  // namespace nvcaffe

#endif  // CAFFE_NVCAFFE_BLOB_HPP_
