#ifndef CAFFE_DATA_LAYER_HPP_
#define CAFFE_DATA_LAYER_HPP_

#include <string>
#include <vector>

#include "caffe/layers/base_data_layer.hpp"
#include "caffe/util/db.hpp"

namespace caffe {

/// Batches of the records (Datum messages) of a database, in the order of their keys, again and
/// again. Tops: pictures (batch_size, channels, height, width) as transform_param makes them;
/// labels (batch_size). With several solvers each reads every solver_count-th record.
template <typename Dtype>
class DataLayer : public BasePrefetchingDataLayer<Dtype> {
 public:
  explicit DataLayer(const LayerParameter& param) : BasePrefetchingDataLayer<Dtype>(param) {}
  ~DataLayer() override { this->StopInternalThread(); }
  void DataLayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Data"; }
  int ExactNumBottomBlobs() const override { return 0; }
  int MinTopBlobs() const override { return 1; }
  int MaxTopBlobs() const override { return 2; }

 protected:
  void Next();
  bool Skip() const;
  void load_batch(Batch<Dtype>* batch) override;
  std::string SourceState() override;
  void SetSourceState(const std::string& state) override;

  shared_ptr<db::DB> db_;
  shared_ptr<db::Cursor> cursor_;
  uint64_t offset_ = 0;  // records passed, of all solvers

 private:
  void ReadDatum(Datum* datum);
  [[noreturn]] void FailAtRecord(Error error);
};

}  // namespace caffe

#endif  // CAFFE_DATA_LAYER_HPP_
