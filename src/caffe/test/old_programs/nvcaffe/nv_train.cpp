// Training and timing with NVCaffe's classes: solvers, nets and layers without a type parameter.
#include <string>
#include <vector>

#include "caffe/caffe.hpp"
#include "caffe/type.hpp"
#include "caffe/util/signal_handler.h"

using caffe::Blob;
using caffe::Caffe;
using caffe::LayerBase;
using caffe::Net;
using caffe::shared_ptr;
using caffe::Solver;
using caffe::Timer;
using caffe::vector;
using std::string;

static vector<float> Values(Blob* blob) {
  return vector<float>(blob->cpu_data<float>(), blob->cpu_data<float>() + blob->count());
}

int main(int argc, char** argv) {
  ::google::InitGoogleLogging(argv[0]);
  CHECK_EQ(argc, 2) << "usage: nv_train net.prototxt";
  caffe::SolverParameter param;
  param.set_net(argv[1]);
  param.set_type("Adam");
  param.set_base_lr(0.05);
  param.set_lr_policy("fixed");
  param.set_max_iter(50);
  param.set_snapshot_after_train(false);
  param.set_random_seed(11);
  param.set_solver_mode(caffe::SolverParameter_SolverMode_CPU);
  caffe::SignalHandler signal_handler(caffe::SolverAction::STOP, caffe::SolverAction::SNAPSHOT);
  shared_ptr<Solver> solver(caffe::SolverRegistry::CreateSolver(param));
  solver->SetActionFunction(signal_handler.GetActionFunction());
  CHECK_EQ(string(solver->type()), "Adam");
  const shared_ptr<Net> net = solver->net();
  const float before = net->ForwardBackward();
  CHECK(solver->Solve());
  CHECK_EQ(solver->iter(), 50);
  CHECK_LT(net->ForwardBackward(false), before / 2);

  // Layer by layer, as `caffe time` does.
  const vector<shared_ptr<LayerBase> >& layers = net->layers();
  const vector<vector<Blob*> >& bottom_vecs = net->bottom_vecs();
  const vector<vector<Blob*> >& top_vecs = net->top_vecs();
  const vector<vector<bool> >& bottom_need_backward = net->bottom_need_backward();
  Timer timer;
  timer.Start();
  for (int i = 0; i < layers.size(); ++i) layers[i]->Forward(bottom_vecs[i], top_vecs[i]);
  net->ClearParamDiffs();
  for (int i = layers.size() - 1; i >= 0; --i) {
    layers[i]->Backward(top_vecs[i], bottom_need_backward[i], bottom_vecs[i]);
  }
  CHECK_GE(timer.MilliSeconds(), 0);
  const int ip = 1;
  CHECK_EQ(string(layers[ip]->type()), "InnerProduct");
  const shared_ptr<Blob> weights = layers[ip]->blobs()[0];
  CHECK_GT(weights->asum_diff(), 0);
  CHECK(Values(weights.get()) == Values(net->learnable_params()[0].get()));

  // A blob of another type, and its form in files.
  shared_ptr<Blob> halves = Blob::create<caffe::float16>(weights->shape());
  halves->CopyFrom(*weights);
  CHECK_EQ(halves->data_type(), caffe::FLOAT16);
  CHECK_EQ(caffe::tsize(halves->data_type()), 2);
  caffe::BlobProto raw, old;
  halves->ToProto(&raw, false);
  halves->ToProto(&old, true);
  CHECK_EQ(raw.raw_data().size(), 2 * weights->count());
  CHECK_EQ(old.data_size(), weights->count());
  shared_ptr<Blob> read = Blob::create(caffe::FLOAT, caffe::FLOAT);
  CHECK(caffe::is_type<float>(read->data_type()));
  read->FromProto(raw);
  CHECK(read->shape() == weights->shape());
  for (int i = 0; i < read->count(); ++i) {
    CHECK_NEAR(read->cpu_data<float>()[i], weights->cpu_data<float>()[i], 2e-3);
  }
  read->set_data(2);
  CHECK_EQ(read->sumsq_data(), 4.f * read->count());

  // Another net with the same weights.
  Net other(argv[1], caffe::TRAIN);
  other.ShareTrainedLayersWith(net.get());
  CHECK(other.params()[0]->cpu_data<float>() == net->params()[0]->cpu_data<float>());
  caffe::NetParameter trained;
  net->ToProto(&trained);
  Net copy(argv[1], caffe::TRAIN);
  copy.CopyTrainedLayersFrom(trained);
  CHECK(Values(copy.params()[0].get()) == Values(net->params()[0].get()));
  return 0;
}
