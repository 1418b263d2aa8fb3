#include "caffe/layers/memory_data_layer.hpp"

#ifdef USE_OPENCV
#include <opencv2/core.hpp>
#endif

#include <algorithm>
#include <limits>

namespace caffe {
namespace {

/// batch_size, channels, height and width; of Greentea's `dim` missing ones are 1.
Shape BatchShape(const MemoryDataParameter& param) {
  const bool old_form =
      param.has_batch_size() || param.has_channels() || param.has_height() || param.has_width();
  Require(!old_form || param.dim_size() == 0, Error::Field{"memory_data_param"},
          Error::Remedy{"give batch_size, channels, height and width, or dim, not both"});
  Require(param.dim_size() <= 4, Error::Field{"memory_data_param"}, ": dim is given ",
          param.dim_size(), " times: this layer's data has 4 axes at most");
  uint32_t extents[4] = {param.batch_size(), param.channels(), param.height(), param.width()};
  for (int i = 0; i < 4 && param.dim_size() > 0; ++i) {
    extents[i] = i < param.dim_size() ? param.dim(i) : 1;
  }
  uint64_t count = 1;
  for (const uint32_t extent : extents) {
    Require(extent > 0, Error::Field{"memory_data_param"},
            ": batch_size, channels, height and width must be given and positive");
    count *= extent;
    Require(count <= uint64_t(std::numeric_limits<int>::max()), Error::Field{"memory_data_param"},
            ": a batch of ", extents[0], " x ", extents[1], " x ", extents[2], " x ", extents[3],
            " is too large");
  }
  return Shape(extents, extents + 4);
}

std::vector<Shape> TopShapesOfMemoryData(const LayerParameter& layer, const std::vector<Shape>&) {
  const Shape shape = BatchShape(layer.memory_data_param());
  return {shape, {shape[0]}};
}

const bool memory_data_registered = OperationTable::Add(Operation("MemoryData")
                                                            .CpuOnly(kMadeOnHost)
                                                            .Shapes(TopShapesOfMemoryData)
                                                            .BackwardReads(Operation::kNothing)
                                                            .FloatTops({-1})
                                                            .Source());

}  // namespace

template <typename Dtype>
void MemoryDataLayer<Dtype>::DataLayerSetUp(const vector<Blob<Dtype>*>&,
                                            const vector<Blob<Dtype>*>& top) {
  const Shape shape = BatchShape(this->layer_param_.memory_data_param());
  batch_size_ = shape[0];
  channels_ = shape[1];
  height_ = shape[2];
  width_ = shape[3];
  size_ = channels_ * height_ * width_;
  top[0]->Reshape(shape);
  top[1]->Reshape(vector<int>(1, batch_size_));
  data_ = labels_ = nullptr;
  has_new_data_ = false;
}

// Makes room for new items.
template <typename Dtype>
void MemoryDataLayer<Dtype>::PrepareFor(size_t items) {
  Require(!has_new_data_, "MemoryData: the ", n_,
          " items that were added last are not used up: run the net on them before adding more");
  Require(items > 0, "MemoryData: there is nothing to add");
  Require(items % batch_size_ == 0, "MemoryData: ", items, " items are no multiple of batch_size ",
          batch_size_);
  Require(items <= size_t(std::numeric_limits<int>::max()) / size_, "MemoryData: ", items,
          " items are too many at once");
  added_data_.Reshape(static_cast<int>(items), channels_, height_, width_);
  added_label_.Reshape(static_cast<int>(items), 1, 1, 1);
}

template <typename Dtype>
void MemoryDataLayer<Dtype>::UseAdded() {
  data_ = added_data_.mutable_cpu_data();
  labels_ = added_label_.mutable_cpu_data();
  n_ = added_label_.count();
  pos_ = 0;
  has_new_data_ = true;
}

template <typename Dtype>
void MemoryDataLayer<Dtype>::AddDatumVector(const vector<Datum>& datums) {
  PrepareFor(datums.size());
  this->data_transformer_->Transform(datums, &added_data_);
  Dtype* labels = added_label_.mutable_cpu_data();
  for (const Datum& datum : datums) *labels++ = static_cast<Dtype>(datum.label());
  UseAdded();
}

#ifdef USE_OPENCV
template <typename Dtype>
void MemoryDataLayer<Dtype>::AddMatVector(const vector<cv::Mat>& images,
                                          const vector<int>& labels) {
  PrepareFor(images.size());
  Require(labels.size() == images.size(), "MemoryData: ", images.size(), " images have ",
          labels.size(), " labels");
  this->data_transformer_->Transform(images, &added_data_);
  std::copy(labels.begin(), labels.end(), added_label_.mutable_cpu_data());
  UseAdded();
}
#endif

template <typename Dtype>
void MemoryDataLayer<Dtype>::Reset(Dtype* data, Dtype* labels, int n) {
  Require(data != nullptr && labels != nullptr, "MemoryData: Reset needs data and labels");
  Require(n > 0 && n % batch_size_ == 0, "MemoryData: Reset with ", n,
          " items, which is not a positive multiple of batch_size ", batch_size_);
  LOG_IF(WARNING, this->layer_param_.has_transform_param())
      << this->type() << " does not transform array data on Reset()";
  data_ = data;
  labels_ = labels;
  n_ = n;
  pos_ = 0;
}

template <typename Dtype>
void MemoryDataLayer<Dtype>::set_batch_size(int new_size) {
  Require(!has_new_data_,
          "MemoryData: the items that were added last are not used up: run the net on them before ",
          "changing batch_size");
  Require(new_size > 0 && new_size <= std::numeric_limits<int>::max() / size_,
          "MemoryData: batch_size must be positive and not too large, got ", new_size);
  batch_size_ = new_size;
}

template <typename Dtype>
void MemoryDataLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>&,
                                         const vector<Blob<Dtype>*>& top) {
  Require(data_ != nullptr,
          "MemoryData needs to be given data first: call AddDatumVector, AddMatVector "
          "or Reset, in Python net.set_input_arrays");
  Require(n_ % batch_size_ == 0, "MemoryData: ", n_, " items are no multiple of batch_size ",
          batch_size_, ", which was changed", Error::Remedy{"give new data"});
  top[0]->Reshape(batch_size_, channels_, height_, width_);
  top[1]->Reshape(vector<int>(1, batch_size_));
  // Copies: the caller's memory may go before the pointers that programs keep into the tops.
  std::copy_n(data_ + pos_ * size_, top[0]->count(),
              top[0]->template overwrite_cpu_data_as<Dtype>());
  std::copy_n(labels_ + pos_, batch_size_, top[1]->template overwrite_cpu_data_as<Dtype>());
  pos_ = (pos_ + batch_size_) % n_;
  if (pos_ == 0) has_new_data_ = false;
}

INSTANTIATE_CLASS(MemoryDataLayer);
REGISTER_LAYER_CLASS(MemoryData);

}  // namespace caffe
