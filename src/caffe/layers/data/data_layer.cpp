#include "caffe/layers/data_layer.hpp"

#include <algorithm>
#include <numeric>

#include "caffe/core/error_context.hpp"
#include "caffe/util/math_functions.hpp"
#include "caffe/util/rng.hpp"
#include "caffe/util/system/thread_team.hpp"
#include "data_fields.hpp"
#include "source_state.hpp"

namespace caffe {
namespace {

// Shapes depend on the first record; tops hold labels: both stay in the net's own type.
const bool data_registered = OperationTable::Add(
    Operation("Data").BackwardReads(Operation::kNothing).FloatTops({-1}).Source());
const bool data_dealt_out = RecordShare::AddType("Data");

void LogIgnoredFields(const DataParameter& param) {
  const auto log = [](bool given, const char* field, const char* why) {
    LOG_IF(INFO, given && Caffe::root_solver())
        << "data_param: " << field << " is ignored: " << why;
  };
  log(param.cache() || param.precache(), "keeping records in memory (cache, precache)",
      "the system keeps the database's pages");
  log(param.shuffle() && !param.cache(), "shuffle", "it needs cache: true");
  log(param.parser_threads() > 0, "parser_threads", "records are parsed by `threads` threads");
  log(param.shuffle_pool_size() > 1, "shuffle_pool_size", "use shuffle and cache");
}

rng_t* GeneratorOf(Caffe::RNG* random) { return static_cast<rng_t*>(random->generator()); }

}  // namespace

template <typename Dtype>
void DataLayer<Dtype>::FailAt(const std::string& key, Error error) const {
  AddFile(this->layer_param_.data_param().source(), Join(", record '", key, "'"), &error);
  throw error;
}

template <typename Dtype>
void DataLayer<Dtype>::OpenSource() {
  const DataParameter& param = this->layer_param_.data_param();
  Require(!param.source().empty(), Error::Field{"data_param"}, ": source is missing");
  cursor_.reset();  // of an earlier SetUp: before its database
  db_.reset(db::GetDB(param.backend()));
  db_->Open(param.source(), db::READ);
  cursor_.reset(db_->NewCursor());
  Require(cursor_->valid(), Error::File{param.source()}, ": the database has no records");
  offset_ = 0;
}

template <typename Dtype>
void DataLayer<Dtype>::DataLayerSetUp(const vector<Blob<Dtype>*>&,
                                      const vector<Blob<Dtype>*>& top) {
  const DataParameter& param = this->layer_param_.data_param();
  const int batch_size = CheckedBatchSize("data_param", param.batch_size());
  OpenSource();
  LogIgnoredFields(param);
  WarnOfOldTransformation(this->layer_param_, "data_param", param);
  if (param.shuffle() && param.cache()) SetUpShuffle();
  if (param.rand_skip()) {
    unsigned int skip = caffe_rng_rand() % param.rand_skip();
    LOG(INFO) << "Skipping first " << skip << " data points.";
    while (skip-- > 0) Next();
  }
  Record record;
  record.key = cursor_->key();
  record.value = cursor_->value();
  Parse(&record);
  LOG_IF(WARNING, this->output_labels_ && !record.datum.has_label())
      << param.source() << ", record '" << record.key
      << "': there is no label, though the layer has a top for labels: it is taken as 0.";
  vector<int> shape = ShapeOf(record);
  this->transformed_data_.Reshape(shape);
  shape[0] = batch_size;
  top[0]->Reshape(shape);
  for (const auto& batch : this->prefetch_) batch->data_.Reshape(shape);
  LOG_IF(INFO, Caffe::root_solver())
      << "output data size: " << top[0]->num() << "," << top[0]->channels() << ","
      << top[0]->height() << "," << top[0]->width();
  if (this->output_labels_) {
    const vector<int> label_shape(1, batch_size);
    top[1]->Reshape(label_shape);
    for (const auto& batch : this->prefetch_) batch->label_.Reshape(label_shape);
  }
}

template <typename Dtype>
void DataLayer<Dtype>::SetUpShuffle() {
  shuffle_.reset(new Shuffle{{}, {}, 0, Caffe::RNG(caffe_rng_rand()), ""});
  for (; cursor_->valid(); cursor_->Next()) shuffle_->keys.push_back(cursor_->key());
  DrawOrder();
}

// A new pass: every record once, in a new order.
template <typename Dtype>
void DataLayer<Dtype>::DrawOrder() {
  rng_t* generator = GeneratorOf(&shuffle_->generator);
  shuffle_->state = RandomStateOf(*generator);
  shuffle_->order.resize(shuffle_->keys.size());
  std::iota(shuffle_->order.begin(), shuffle_->order.end(), 0u);
  caffe::shuffle(shuffle_->order.begin(), shuffle_->order.end(), generator);
  shuffle_->position = 0;
  cursor_->SeekTo(shuffle_->keys[shuffle_->order[0]]);
}

template <typename Dtype>
bool DataLayer<Dtype>::Skip() const {
  return !share_.Has(offset_ - batch_start_, batch_size());
}

template <typename Dtype>
void DataLayer<Dtype>::GoToOwnRecord() {
  for (; Skip(); Next()) this->data_transformer_->Draw();
}

template <typename Dtype>
void DataLayer<Dtype>::EndBatch() {
  const uint64_t end = batch_start_ + share_.Total(batch_size());
  for (; offset_ < end; Next()) this->data_transformer_->Draw();
}

template <typename Dtype>
void DataLayer<Dtype>::Next() {
  ++offset_;
  if (shuffle_) {
    if (++shuffle_->position == shuffle_->order.size()) return DrawOrder();
    return cursor_->SeekTo(shuffle_->keys[shuffle_->order[shuffle_->position]]);
  }
  cursor_->Next();
  if (!cursor_->valid()) {
    LOG_IF(INFO, Caffe::root_solver()) << "Restarting data prefetching from start.";
    cursor_->SeekToFirst();
  }
}

template <typename Dtype>
void DataLayer<Dtype>::ReadRecord(Record* record) {
  GoToOwnRecord();
  record->key = cursor_->key();
  record->value = cursor_->value();
  record->draws = this->data_transformer_->Draw();
  Next();
}

template <typename Dtype>
void DataLayer<Dtype>::Parse(Record* record) const {
  if (!record->datum.ParseFromString(record->value)) {
    FailAt(record->key,
           Error("the record is no Datum message: was the database made by another program?"));
  }
}

template <typename Dtype>
vector<int> DataLayer<Dtype>::ShapeOf(const Record& record) {
  try {
    return this->data_transformer_->InferBlobShape(record.datum);
  } catch (const Error& error) {
    FailAt(record.key, error);
  }
}

template <typename Dtype>
void DataLayer<Dtype>::Decode(const Record& record, const vector<int>& shape, Dtype* pixels,
                              Dtype* label) const {
  try {
    this->data_transformer_->TransformTo(record.datum, record.draws, shape, pixels);
  } catch (const Error& error) {
    FailAt(record.key, error);
  }
  if (label) *label = static_cast<Dtype>(record.datum.label());
}

template <typename Dtype>
void DataLayer<Dtype>::load_batch(Batch<Dtype>* batch) {
  const int batch_size = this->batch_size();
  records_.resize(batch_size);
  BeginBatch();
  for (Record& record : records_) ReadRecord(&record);
  EndBatch();
  Parse(&records_[0]);
  // Sizes may change from batch to batch.
  vector<int> shape = ShapeOf(records_[0]);
  shape[0] = batch_size;
  batch->data_.Reshape(shape);
  Dtype* const pixels = batch->data_.mutable_cpu_data();
  Dtype* const labels = this->output_labels_ ? batch->label_.mutable_cpu_data() : nullptr;
  const int item_count = batch->data_.count(1);
  // Raw pixels are copied faster than threads can share them.
  const uint32_t asked = this->layer_param_.data_param().threads();
  const uint32_t threads = asked || records_[0].datum.encoded() ? asked : 1;
  this->DecodingTeam(threads).ForEach(batch_size, [&](int item) {
    if (item > 0) Parse(&records_[item]);
    Decode(records_[item], shape, pixels + size_t(item) * item_count,
           labels ? labels + item : nullptr);
  });
}

// Records passed, key of the next one, the transformer's generator and, when shuffling, the place
// in this pass and the generator that drew its order.
template <typename Dtype>
std::string DataLayer<Dtype>::SourceState() {
  StateWriter state;
  state.Put(offset_);
  state.Put(cursor_->key());
  state.Put(this->data_transformer_->RandomState());
  if (shuffle_) {
    state.Put(shuffle_->position);
    state.Put(shuffle_->state);
  }
  return state.text();
}

template <typename Dtype>
void DataLayer<Dtype>::SetSourceState(const std::string& text) {
  StateReader state(text);
  const uint64_t offset = state.Number();
  const string key = state.Text();
  const string random = state.Text();
  Require(state.at_end() == (shuffle_ == nullptr),
          "the stored position does not fit data_param: one shuffles, the other does not");
  this->data_transformer_->SetRandomState(random);
  offset_ = offset;
  if (shuffle_) {
    const uint64_t place = state.Number();
    SetRandomStateOf(state.Text(), GeneratorOf(&shuffle_->generator));
    DrawOrder();
    shuffle_->position = std::min<uint64_t>(place, shuffle_->order.size() - 1);
    cursor_->SeekTo(shuffle_->keys[shuffle_->order[shuffle_->position]]);
  } else {
    cursor_->SeekTo(key);
  }
  if (!cursor_->valid() || cursor_->key() != key) {
    LOG(WARNING) << this->layer_param_.data_param().source() << " has no record '" << key
                 << "' where the run stopped: has the database changed? Going on nearby.";
    if (!cursor_->valid()) cursor_->SeekToFirst();
  }
}

INSTANTIATE_CLASS(DataLayer);
REGISTER_LAYER_CLASS(Data);

}  // namespace caffe
