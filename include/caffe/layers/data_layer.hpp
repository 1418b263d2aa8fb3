#ifndef CAFFE_DATA_LAYER_HPP_
#define CAFFE_DATA_LAYER_HPP_

#include <memory>
#include <string>
#include <vector>

#include "caffe/layers/base_data_layer.hpp"
#include "caffe/util/db.hpp"
#include "caffe/util/record_share.hpp"

namespace caffe {

/// Batches of the records (Datum messages) of a database, again and again, in the order of their
/// keys; with `shuffle` and `cache` in a new random order each time. Tops: images (batch_size,
/// channels, height, width) as transform_param makes them; labels (batch_size). With several
/// solvers each reads its RecordShare.
///
/// One thread reads ahead; encoded images are decoded by `threads` threads. Random numbers are
/// drawn in the order of the records, so that the result does not depend on their number.
template <typename Dtype>
class DataLayer : public BasePrefetchingDataLayer<Dtype> {
 public:
  explicit DataLayer(const LayerParameter& param)
      : BasePrefetchingDataLayer<Dtype>(param), share_(param.phase()) {}
  ~DataLayer() override { this->StopInternalThread(); }
  void DataLayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "Data"; }
  int ExactNumBottomBlobs() const override { return 0; }
  int MinTopBlobs() const override { return 1; }
  int MaxTopBlobs() const override { return 2; }
  uint64_t EpochItems() override { return db_->Count(); }

 protected:
  /// Opens the database at its first record.
  void OpenSource();
  void Next();
  /// True if the record is another solver's.
  bool Skip() const;
  /// For load_batch: all solvers begin a batch at the same record, go to their own records in it
  /// one after another, and end it at the same record. Random numbers are drawn for every record,
  /// so that each gets those that it would get from one solver.
  void BeginBatch() { batch_start_ = offset_; }
  void GoToOwnRecord();
  void EndBatch();
  void load_batch(Batch<Dtype>* batch) override;
  std::string SourceState() override;
  void SetSourceState(const std::string& state) override;

  shared_ptr<db::DB> db_;
  shared_ptr<db::Cursor> cursor_;
  uint64_t offset_ = 0;  // records passed, of all solvers
  RecordShare share_;

 private:
  /// A record between reading and decoding.
  struct Record {
    std::string key, value;
    ImageDraws draws;
    Datum datum;
  };
  /// The keys in the random order of this pass through the database.
  struct Shuffle {
    vector<std::string> keys;  // as the database has them
    vector<uint32_t> order;
    size_t position = 0;
    Caffe::RNG generator;
    std::string state;  // the generator's, before this pass was drawn
  };

  int batch_size() const { return static_cast<int>(this->layer_param_.data_param().batch_size()); }
  void SetUpShuffle();
  void DrawOrder();
  void ReadRecord(Record* record);
  void Parse(Record* record) const;
  /// Writes one item of a batch; `label` is nullptr where there are none.
  void Decode(const Record& record, const vector<int>& shape, Dtype* pixels, Dtype* label) const;
  vector<int> ShapeOf(const Record& record);
  [[noreturn]] void FailAt(const std::string& key, Error error) const;

  std::unique_ptr<Shuffle> shuffle_;
  vector<Record> records_;    // of the batch that is being loaded
  uint64_t batch_start_ = 0;  // offset_ where it began
};

}  // namespace caffe

#endif  // CAFFE_DATA_LAYER_HPP_
