#ifndef CAFFE_ANNOTATED_DATA_LAYER_HPP_
#define CAFFE_ANNOTATED_DATA_LAYER_HPP_

#include <string>
#include <vector>

#include "caffe/layers/data_layer.hpp"

namespace caffe {

/// Batches of the records (AnnotatedDatum messages, which convert_annoset writes) of a database,
/// for detectors. Tops: images (batch_size, channels, height, width); labels (1, 1, N, 8), rows
/// of item, label, instance, xmin, ymin, xmax, ymax, difficult, one for each box in the batch, or
/// one row of -1 if there is none. Records without annotations have labels (batch_size), as those
/// of a Data layer.
///
/// An image goes through transform_param's distort_param, expand_param, one random patch of those
/// that annotated_data_param's batch_samplers draw, resize_param, noise_param; then mirror,
/// crop_size, mean and scale. Boxes go with it; those that do not meet emit_constraint in a patch
/// are left out. Needs OpenCV.
template <typename Dtype>
class AnnotatedDataLayer : public DataLayer<Dtype> {
 public:
  explicit AnnotatedDataLayer(const LayerParameter& param);
  ~AnnotatedDataLayer() override { this->StopInternalThread(); }
  void DataLayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "AnnotatedData"; }

 protected:
  void load_batch(Batch<Dtype>* batch) override;
  std::string SourceState() override;
  void SetSourceState(const std::string& state) override;

 private:
  struct Record;
  void CheckParameters() const;
  void Parse(Record* record) const;
  void DrawAugmentation(Record* record) const;
  void Augment(Record* record) const;
  void Project(const NormalizedBBox& patch, AnnotatedDatum* annotated) const;
  void MoveBoxes(const ImageCrop& crop, Record* record) const;
  void WriteLabels(const vector<Record>& records, Blob<Dtype>* label) const;
  /// Calls f() and adds to an Error which record it is about.
  template <typename Function>
  void ForRecord(const Record& record, Function&& f) const;

  TransformationParameter augmentation_;  // as given: the base class's transformer knows less
  vector<BatchSampler> batch_samplers_;
  bool has_boxes_ = false;
  bool reading_ = false;      // the thread that draws has begun
  std::string random_state_;  // what its generator goes on from, "" if from where it is
};

}  // namespace caffe

#endif  // CAFFE_ANNOTATED_DATA_LAYER_HPP_
