#ifndef CAFFE_MEMORY_DATA_LAYER_HPP_
#define CAFFE_MEMORY_DATA_LAYER_HPP_

#include <vector>

#include "caffe/layers/base_data_layer.hpp"

namespace caffe {

/// Batches of what the program puts in: images, which transform_param changes and which are
/// copied (AddDatumVector, AddMatVector), or memory of the caller's that is read as it is (Reset).
/// Tops: data (batch_size, channels, height, width), labels (batch_size). The images are read
/// batch by batch, again and again; new ones are taken when all of the last ones were used.
///
///     auto layer = boost::dynamic_pointer_cast<MemoryDataLayer<float>>(net.layers()[0]);
///     layer->AddMatVector(images, labels);
///     net.Forward();
template <typename Dtype>
class MemoryDataLayer : public BaseDataLayer<Dtype> {
 public:
  explicit MemoryDataLayer(const LayerParameter& param) : BaseDataLayer<Dtype>(param) {}
  void DataLayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "MemoryData"; }
  int ExactNumBottomBlobs() const override { return 0; }
  int ExactNumTopBlobs() const override { return 2; }
  uint64_t EpochItems() override { return n_; }

  /// A whole number of batches. Throws Error if the last ones are not used up, or an image is of
  /// another shape.
  virtual void AddDatumVector(const vector<Datum>& datum_vector);
#ifdef USE_OPENCV
  virtual void AddMatVector(const vector<cv::Mat>& mat_vector, const vector<int>& labels);
#endif

  /// Reads `n` items at `data` and `n` labels in each pass; both stay the caller's, who keeps them.
  /// `n` is a multiple of batch_size(). Nothing is transformed.
  void Reset(Dtype* data, Dtype* label, int n);
  /// From the next items on.
  void set_batch_size(int new_size);

  int batch_size() { return batch_size_; }
  int channels() { return channels_; }
  int height() { return height_; }
  int width() { return width_; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;

  int batch_size_ = 0, channels_ = 0, height_ = 0, width_ = 0, size_ = 0;
  Dtype* data_ = nullptr;
  Dtype* labels_ = nullptr;
  int n_ = 0;
  size_t pos_ = 0;
  Blob<Dtype> added_data_;
  Blob<Dtype> added_label_;
  bool has_new_data_ = false;

 private:
  void PrepareFor(size_t items);
  void UseAdded();
};

}  // namespace caffe

#endif  // CAFFE_MEMORY_DATA_LAYER_HPP_
