#include "caffe/ranks.hpp"

#include <random>
#include <set>

#include "caffe/data/rank_settings.hpp"
#include "caffe/operation.hpp"
#include "caffe/solver/snapshot_files.hpp"
#include "caffe/util/record_share.hpp"
#include "caffe/util/system/termination_notice.hpp"
#include "gradient_reducer.hpp"

namespace caffe {

void JoinRanks(Communicator* communicator, BatchPer batch_per, SolverParameter* param) {
  if (communicator->rank() == 0 && param->random_seed() < 0) {
    param->set_random_seed(std::random_device()() >> 1);
  }
  CHECK(param->ParseFromString(communicator->BroadcastText(param->SerializeAsString())));
  Caffe::set_solver_count(communicator->size());
  Caffe::set_solver_rank(communicator->rank());
  RankSettings::Current().joined = true;
  RankSettings::Current().batch_per_host = batch_per == BatchPer::ALL_RANKS;
}

void AllOf(Communicator* communicator, const std::function<void()>& work,
           const std::function<void(const std::string&)>& tell) {
  std::string message;
  bool failed = false;
  try {
    work();
  } catch (const std::exception& error) {
    failed = true;
    message = error.what();
  }
  std::vector<double> failures(communicator->size());
  failures[communicator->rank()] = failed;
  communicator->AllReduceSum(failures.data(), failures.size());
  int lowest = 0;
  while (lowest < communicator->size() && failures[lowest] == 0) ++lowest;
  if (lowest == communicator->size()) return;
  if (lowest == communicator->rank()) tell(message);
  communicator->Barrier();  // until it is told: the first process that ends may end all
  throw RanksFailed();
}

namespace {

/// What makes the reducer for where the gradients are.
template <typename Dtype>
auto ReducerOfMode() -> decltype(&HostReducer<Dtype>) {
#ifndef CPU_ONLY
  if (Caffe::mode() == Caffe::GPU) return &DeviceReducer<Dtype>;
#endif
  return &HostReducer<Dtype>;
}

}  // namespace

template <typename Dtype>
Ranks<Dtype>::Ranks(shared_ptr<Solver<Dtype>> solver, Communicator* communicator)
    : solver_(std::move(solver)), communicator_(communicator) {
  CheckNet();
  BroadcastParameters();
  // debug_info reads the gradients behind the backward pass.
  const SolverParameter& param = solver_->param();
  const auto make = ReducerOfMode<Dtype>();
  const bool overlap =
      !param.debug_info() && (make != &HostReducer<Dtype> || communicator_->any_thread());
  reducer_ = make(solver_->net().get(), solver_->reduce_buckets(), overlap, communicator_);
  solver_->set_backward_stops(reducer_->stops());
  LOG_IF(INFO, Caffe::root_solver())
      << "Training with " << communicator_->size() << " ranks (" << communicator_->Description()
      << "): gradients are averaged in " << reducer_->buckets() << " messages, "
      << (overlap ? "while the backward pass goes on" : "behind the backward pass");
  LogBatches();
  solver_->add_callback(this);
}

template <typename Dtype>
Ranks<Dtype>::~Ranks() {
  solver_->remove_callback(this);
  solver_->set_backward_stops({});
}

template <typename Dtype>
void Ranks<Dtype>::LogBatches() const {
  const Net<Dtype>& net = *solver_->net();
  const int ranks = communicator_->size(), passes = solver_->param().iter_size();
  for (size_t i = 0; i < net.layers().size(); ++i) {
    const LayerParameter& layer = net.layers()[i]->layer_param();
    if (!net.bottom_vecs()[i].empty() || net.top_vecs()[i].empty()) continue;
    if (RecordShare::IsUsedBy(layer.type())) {
      const int64_t batch = net.top_vecs()[i][0]->shape(0);
      LOG_IF(INFO, Caffe::root_solver())
          << "Effective batch of layer '" << layer.name() << "': " << batch * ranks * passes << " ("
          << batch << " on each of " << ranks << " ranks"
          << (passes > 1 ? Join(", iter_size ", passes) : "") << ")";
    } else {
      LOG_IF(WARNING, Caffe::root_solver())
          << "Layer '" << layer.name() << "' (" << layer.type() << ") does not deal out its data: "
          << "every rank trains on what its own gives";
    }
  }
}

// Ranks with different nets would wait forever or average unrelated gradients.
template <typename Dtype>
void Ranks<Dtype>::CheckNet() {
  uint64_t shapes = 0;  // a hash
  for (const Blob<Dtype>* param : solver_->net()->learnable_params()) {
    shapes = shapes * 1000003 + 1;
    for (const int extent : param->shape()) shapes = shapes * 1000003 + extent + 2;
  }
  uint64_t root = shapes;
  communicator_->Broadcast(&root, sizeof root);
  std::vector<double> others = {double(root != shapes)};
  communicator_->AllReduceSum(others.data(), 1);
  Require(others[0] == 0, "the ranks train different nets: the parameters of ", others[0],
          " of them differ in number or shapes from those of rank 0; do all see the same files?");
}

template <typename Dtype>
void Ranks<Dtype>::BroadcastParameters() {
  Net<Dtype>& net = *solver_->net();
  const typename Net<Dtype>::Arena arena = net.parameter_arena();
  const std::set<int> in_arena(arena.params.begin(), arena.params.end());
  for (size_t i = 0; i < net.learnable_params().size(); ++i) {
    Blob<Dtype>* param = net.learnable_params()[i];
    // In the type that it is kept in; the rest of memory stays as it is.
    const ElementType type = in_arena.count(i) ? kElementType<Dtype> : param->data_type();
    Tensor& data = param->data_tensor();
    const bool root = communicator_->rank() == 0;
    void* place = root ? const_cast<void*>(data.cpu_data(type)) : data.mutable_cpu_data(type);
    communicator_->Broadcast(place, param->count() * SizeOf(type));
  }
}

// They are not sums of gradients: each rank's come from its own part of the data.
template <typename Dtype>
void Ranks<Dtype>::AverageStatistics() {
  const Net<Dtype>& net = *solver_->net();
  const std::set<const Blob<Dtype>*> learned = [&] {
    std::set<const Blob<Dtype>*> params;
    for (size_t i = 0; i < net.learnable_params().size(); ++i) {
      if (net.params_lr()[i] != 0) params.insert(net.learnable_params()[i]);
    }
    return params;
  }();
  std::vector<double> sums;
  for (const auto& layer : net.layers()) {
    const Operation* operation = OperationTable::Find(layer->layer_param().type());
    if (!operation || !operation->float_parameters) continue;
    for (const shared_ptr<Blob<Dtype>>& blob : layer->blobs()) {
      if (learned.count(blob.get())) continue;
      Dtype* const values = blob->mutable_cpu_data();
      sums.assign(values, values + blob->count());
      communicator_->AllReduceSum(sums.data(), sums.size());
      for (double& sum : sums) sum /= communicator_->size();
      std::copy(sums.begin(), sums.end(), values);
    }
  }
}

template <typename Dtype>
void Ranks<Dtype>::BroadcastState() {
  BroadcastParameters();
  solver_->BroadcastState(communicator_);
}

template <typename Dtype>
void Ranks<Dtype>::on_start() {
  if (notice_) notice_->SetIteration(solver_->iter());
  reducer_->Start();
}

template <typename Dtype>
void Ranks<Dtype>::on_backward(int layer) {
  reducer_->BackwardReached(layer);
}

template <typename Dtype>
void Ranks<Dtype>::on_gradients_ready() {
  reducer_->Finish();
}

namespace {

// All n sizes are equal if the square of their sum is n times the sum of their squares.
void CheckSizes(Communicator* communicator, size_t size) {
  double sums[2] = {double(size), double(size) * size};
  communicator->AllReduceSum(sums, 2);
  Require(sums[0] * sums[0] == communicator->size() * sums[1],
          "the net's outputs differ in size among the ranks, so that there are no means to show: ",
          "this one has ", size - 1, " numbers");
}

}  // namespace

template <typename Dtype>
void Ranks<Dtype>::on_scores(std::vector<double>* sums) {
  reducer_->Wait();
  if (sums->size() > 2) CheckSizes(communicator_, sums->size());
  communicator_->AllReduceSum(sums->data(), sums->size());
}

// Where machines differ, parameters could drift apart by their last bits.
template <typename Dtype>
void Ranks<Dtype>::on_test() {
  AverageStatistics();
  BroadcastParameters();
}

template <typename Dtype>
void Ranks<Dtype>::on_snapshot() {
  if (notice_) notice_->SetSnapshot(solver_->SolverStateFilename());
  on_test();
  solver_->GatherStates(communicator_);
}

template <typename Dtype>
ActionCallback Ranks<Dtype>::Agreed(ActionCallback own) {
  return [this, own] { return Agree(own()); };
}

template <typename Dtype>
SolverAction::Enum Ranks<Dtype>::Agree(SolverAction::Enum own) {
  double asked[2] = {double(own == SolverAction::SNAPSHOT), double(own == SolverAction::STOP)};
  communicator_->AllReduceSum(asked, 2);
  snapshot_asked_ = snapshot_asked_ || asked[0] > 0;
  stop_asked_ = stop_asked_ || asked[1] > 0;
  if (snapshot_asked_) {
    snapshot_asked_ = false;
    return SolverAction::SNAPSHOT;
  }
  const bool stop = stop_asked_;
  stop_asked_ = false;
  return stop ? SolverAction::STOP : SolverAction::NONE;
}

template class Ranks<float>;
template class Ranks<double>;

}  // namespace caffe
