#include "caffe/data_reader.hpp"

#include <algorithm>

#include "caffe/util/record_share.hpp"

namespace caffe {

template <typename Record>
class BasicDataReader<Record>::Body : public InternalThread {
 public:
  explicit Body(const LayerParameter& param)
      : source_(param.data_param().source()),
        batch_size_(static_cast<int>(std::max(1u, param.data_param().batch_size()))),
        share_(param.phase()) {
    Require(!source_.empty(), Error::Field{"data_param: source"}, " is missing");
    db_.reset(db::GetDB(param.data_param().backend()));
    db_->Open(source_, db::READ);
    cursor_.reset(db_->NewCursor());
    Require(cursor_->valid(), Error::File{source_}, ": the database has no records");
    const size_t count = size_t(std::max(1u, param.data_param().prefetch())) * batch_size_;
    for (size_t i = 0; i < count; ++i) {
      records_.push_back(std::make_unique<Record>());
      free_.push(records_.back().get());
    }
    StartInternalThread();
  }
  ~Body() override { StopInternalThread(); }

  BlockingQueue<Record*> free_, full_;

 protected:
  void InternalThreadEntry() override {
    full_.CloseOnError([&] {
      for (uint64_t offset = 0; !must_stop(); ++offset) {
        if (share_.Has(offset, batch_size_)) ReadRecord();
        Next();
      }
    });
  }

 private:
  void ReadRecord() {
    Record* const record = free_.pop();
    Require(record->ParseFromString(cursor_->value()), Error::File{source_}, ", record '",
            cursor_->key(), "': this is no ", record->GetTypeName(), " message");
    full_.push(record);
  }

  void Next() {
    cursor_->Next();
    if (cursor_->valid()) return;
    DLOG(INFO) << "Restarting data prefetching from start.";
    cursor_->SeekToFirst();
  }

  const string source_;
  const int batch_size_;
  const RecordShare share_;
  shared_ptr<db::DB> db_;
  shared_ptr<db::Cursor> cursor_;
  std::vector<std::unique_ptr<Record>> records_;
};

template <typename Record>
BasicDataReader<Record>::BasicDataReader(const LayerParameter& param) : body_(new Body(param)) {}

template <typename Record>
BasicDataReader<Record>::~BasicDataReader() = default;

template <typename Record>
BlockingQueue<Record*>& BasicDataReader<Record>::free() const {
  return body_->free_;
}

template <typename Record>
BlockingQueue<Record*>& BasicDataReader<Record>::full() const {
  return body_->full_;
}

template class BasicDataReader<Datum>;
template class BasicDataReader<AnnotatedDatum>;

}  // namespace caffe
