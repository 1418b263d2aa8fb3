#include "caffe/layers/data_layer.hpp"

#include "caffe/util/math_functions.hpp"

namespace caffe {
namespace {

// Shapes depend on the first record; tops hold labels: both stay in the net's own type.
const bool registered = OperationTable::Add(
    Operation("Data").BackwardReads(Operation::kNothing).FloatTops({-1}).Source());

}  // namespace

template <typename Dtype>
void DataLayer<Dtype>::FailAtRecord(Error error) {
  const string source = this->layer_param_.data_param().source();
  error.AddContext(cursor_->valid() ? Join(source, ", record '", cursor_->key(), "'") : source);
  throw error;
}

template <typename Dtype>
void DataLayer<Dtype>::ReadDatum(Datum* datum) {
  if (!datum->ParseFromString(cursor_->value())) {
    FailAtRecord(
        Error("the record is no Datum message: was the database made by another program?"));
  }
}

template <typename Dtype>
void DataLayer<Dtype>::DataLayerSetUp(const vector<Blob<Dtype>*>&,
                                      const vector<Blob<Dtype>*>& top) {
  const DataParameter& param = this->layer_param_.data_param();
  const int batch_size = param.batch_size();
  Require(batch_size > 0, "data_param: batch_size must be positive, got ", batch_size);
  Require(!param.source().empty(), "data_param: source is missing");
  db_.reset(db::GetDB(param.backend()));
  db_->Open(param.source(), db::READ);
  cursor_.reset(db_->NewCursor());
  Require(cursor_->valid(), param.source(), ": the database has no records");
  if (param.rand_skip()) {
    unsigned int skip = caffe_rng_rand() % param.rand_skip();
    LOG(INFO) << "Skipping first " << skip << " data points.";
    while (skip-- > 0) Next();
  }
  Datum datum;
  ReadDatum(&datum);
  vector<int> shape;
  try {
    shape = this->data_transformer_->InferBlobShape(datum);
  } catch (const Error& error) {
    FailAtRecord(error);
  }
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
bool DataLayer<Dtype>::Skip() const {
  const int size = Caffe::solver_count();
  const int rank = Caffe::solver_rank();
  return static_cast<int>(offset_ % size) != rank && this->layer_param_.phase() != TEST;
}

template <typename Dtype>
void DataLayer<Dtype>::Next() {
  cursor_->Next();
  if (!cursor_->valid()) {
    LOG_IF(INFO, Caffe::root_solver()) << "Restarting data prefetching from start.";
    cursor_->SeekToFirst();
  }
  ++offset_;
}

template <typename Dtype>
void DataLayer<Dtype>::load_batch(Batch<Dtype>* batch) {
  const int batch_size = this->layer_param_.data_param().batch_size();
  Datum datum;
  for (int item = 0; item < batch_size; ++item) {
    while (Skip()) Next();
    ReadDatum(&datum);
    try {
      if (item == 0) {
        // Sizes may change from batch to batch.
        vector<int> shape = this->data_transformer_->InferBlobShape(datum);
        this->transformed_data_.Reshape(shape);
        shape[0] = batch_size;
        batch->data_.Reshape(shape);
      }
      Dtype* top = batch->data_.mutable_cpu_data();
      this->transformed_data_.set_cpu_data(top + batch->data_.offset(item));
      this->data_transformer_->Transform(datum, &this->transformed_data_);
    } catch (const Error& error) {
      FailAtRecord(error);
    }
    if (this->output_labels_) batch->label_.mutable_cpu_data()[item] = datum.label();
    Next();
  }
}

// "<records passed> <length of the key> <key of the next record><generator>".
template <typename Dtype>
std::string DataLayer<Dtype>::SourceState() {
  const string key = cursor_->key();
  return Join(offset_, " ", key.size(), " ", key, this->data_transformer_->RandomState());
}

template <typename Dtype>
void DataLayer<Dtype>::SetSourceState(const std::string& state) {
  std::istringstream stream(state);
  size_t length = 0;
  stream >> offset_ >> length;
  stream.get();
  const std::streamoff start = stream.tellg();
  Require(stream.good() && start + length <= state.size(), "the stored position cannot be read");
  const string key = state.substr(start, length);
  cursor_->SeekTo(key);
  if (!cursor_->valid() || cursor_->key() != key) {
    LOG(WARNING) << this->layer_param_.data_param().source() << " has no record '" << key
                 << "', where the run stopped: has the database changed? Going on nearby.";
    if (!cursor_->valid()) cursor_->SeekToFirst();
  }
  this->data_transformer_->SetRandomState(state.substr(start + length));
}

INSTANTIATE_CLASS(DataLayer);
REGISTER_LAYER_CLASS(Data);

}  // namespace caffe
