// A data layer as they were written between 2015 and 2017, on a DataReader and an array of
// prefetched batches; trained on several devices by P2PSync.
#include <boost/thread.hpp>

#include <string>
#include <vector>

#include "caffe/caffe.hpp"
#include "caffe/data_layers.hpp"
#include "caffe/data_reader.hpp"
#include "caffe/parallel.hpp"
#include "caffe/python_layer.hpp"
#include "caffe/util/benchmark.hpp"

namespace caffe {

// Data whose labels are negated.
template <typename Dtype>
class NegatedDataLayer : public BasePrefetchingDataLayer<Dtype> {
 public:
  explicit NegatedDataLayer(const LayerParameter& param)
      : BasePrefetchingDataLayer<Dtype>(param), reader_(param) {}
  virtual ~NegatedDataLayer() { this->StopInternalThread(); }
  virtual void DataLayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    const int batch_size = this->layer_param_.data_param().batch_size();
    // Read a data point, and use it to initialize the top blob.
    Datum& datum = *(reader_.full().peek());
    vector<int> top_shape = this->data_transformer_->InferBlobShape(datum);
    this->transformed_data_.Reshape(top_shape);
    top_shape[0] = batch_size;
    top[0]->Reshape(top_shape);
    for (int i = 0; i < this->PREFETCH_COUNT; ++i) {
      this->prefetch_[i].data_.Reshape(top_shape);
    }
    vector<int> label_shape(1, batch_size);
    top[1]->Reshape(label_shape);
    for (int i = 0; i < this->PREFETCH_COUNT; ++i) {
      this->prefetch_[i].label_.Reshape(label_shape);
    }
  }
  virtual inline const char* type() const { return "NegatedData"; }
  virtual inline bool ShareInParallel() const { return false; }
  virtual inline int ExactNumBottomBlobs() const { return 0; }
  virtual inline int ExactNumTopBlobs() const { return 2; }

 protected:
  virtual void load_batch(Batch<Dtype>* batch) {
    CPUTimer timer;
    timer.Start();
    CHECK(batch->data_.count());
    CHECK(this->transformed_data_.count());
    const int batch_size = this->layer_param_.data_param().batch_size();
    Dtype* top_data = batch->data_.mutable_cpu_data();
    Dtype* top_label = batch->label_.mutable_cpu_data();
    for (int item_id = 0; item_id < batch_size; ++item_id) {
      Datum& datum = *(reader_.full().pop("Waiting for data"));
      this->transformed_data_.set_cpu_data(top_data + batch->data_.offset(item_id));
      this->data_transformer_->Transform(datum, &(this->transformed_data_));
      top_label[item_id] = -datum.label();
      reader_.free().push(const_cast<Datum*>(&datum));
    }
    DLOG(INFO) << "Prefetch batch: " << timer.MilliSeconds() << " ms.";
  }

  DataReader reader_;
};

INSTANTIATE_CLASS(NegatedDataLayer);
REGISTER_LAYER_CLASS(NegatedData);

}  // namespace caffe

using namespace caffe;  // NOLINT(build/namespaces)

namespace {

const int kRecords = 8;

// Record i has label i and one pixel of value i.
void WriteDatabase(const string& path) {
  boost::scoped_ptr<db::DB> database(db::GetDB("lmdb"));
  database->Open(path, db::NEW);
  boost::scoped_ptr<db::Transaction> transaction(database->NewTransaction());
  for (int i = 0; i < kRecords; ++i) {
    Datum datum;
    datum.set_channels(1);
    datum.set_height(1);
    datum.set_width(1);
    datum.set_label(i);
    datum.set_data(string(1, static_cast<char>(i)));
    transaction->Put(caffe::format_int(i, 8), datum.SerializeAsString());
  }
  transaction->Commit();
}

SolverParameter Parameters(const string& net_file, const string& database, int batch_size) {
  SolverParameter param;
  CHECK(ReadProtoFromTextFile(net_file, param.mutable_net_param()));
  DataParameter* data = param.mutable_net_param()->mutable_layer(0)->mutable_data_param();
  data->set_source(database);
  data->set_batch_size(batch_size);
  param.set_base_lr(0.01);
  param.set_lr_policy("fixed");
  param.set_max_iter(6);
  param.set_random_seed(7);
  param.set_snapshot_after_train(false);
  param.set_solver_mode(SolverParameter_SolverMode_CPU);
  return param;
}

vector<float> Weights(Solver<float>* solver) {
  vector<float> weights;
  for (int i = 0; i < solver->net()->learnable_params().size(); ++i) {
    const Blob<float>* param = solver->net()->learnable_params()[i];
    weights.insert(weights.end(), param->cpu_data(), param->cpu_data() + param->count());
  }
  return weights;
}

}  // namespace

int main(int argc, char** argv) {
  ::google::InitGoogleLogging(argv[0]);
  CHECK_EQ(argc, 3) << "usage: reader_data_layer net.prototxt new_database";
  WriteDatabase(argv[2]);

  // One solver with the whole batch.
  shared_ptr<Solver<float> > alone(GetSolver<float>(Parameters(argv[1], argv[2], 4)));
  const shared_ptr<Blob<float> > label = alone->net()->blob_by_name("label");
  alone->Step(1);
  CHECK_EQ(label->count(), 4);
  for (int i = 0; i < 4; ++i) CHECK_EQ(label->cpu_data()[i], -i);
  alone->Step(1);
  for (int i = 0; i < 4; ++i) CHECK_EQ(label->cpu_data()[i], -(4 + i) % kRecords);
  alone->Solve();

  // Two with half of it each.
  vector<int> gpus(2);
  gpus[1] = 1;
  Caffe::set_solver_count(gpus.size());
  shared_ptr<Solver<float> > root(GetSolver<float>(Parameters(argv[1], argv[2], 2)));
  P2PSync<float> sync(root, NULL, root->param());
  boost::thread([&] {
    Caffe::set_solver_count(2);
    sync.Run(gpus);
  }).join();
  Caffe::set_solver_count(1);
  const vector<float> expected = Weights(alone.get()), found = Weights(root.get());
  CHECK_EQ(root->iter(), 6);
  for (int i = 0; i < expected.size(); ++i) CHECK_NEAR(expected[i], found[i], 2e-3);
  return 0;
}
