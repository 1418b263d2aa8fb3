#include "caffe/solver.hpp"
#include "caffe/core/error_context.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "caffe/core/at_scope_exit.hpp"
#include "caffe/data/rank_settings.hpp"
#include "caffe/kernels/update.hpp"
#include "caffe/net/net_checks.hpp"
#include "caffe/parallel/divide_batches.hpp"
#include "caffe/parallel/gradients_on_device.hpp"
#include "caffe/util/detection/detection_scores.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/record_share.hpp"
#include "caffe/util/string_stream.hpp"
#include "caffe/util/text/progress.hpp"
#include "caffe/util/text/split.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "snapshot_files.hpp"

namespace caffe {

template <typename Dtype>
Solver<Dtype>::Solver(const SolverParameter& param) {
  Init(param);
}

template <typename Dtype>
Solver<Dtype>::Solver(const string& param_file) {
  SolverParameter param;
  ReadSolverParamsFromTextFileOrDie(param_file, &param);
  Init(param);
}

namespace {

/// A number that is none, or infinite, would go into the weights without a word.
void CheckNumbers(const SolverParameter& param) {
  const google::protobuf::Reflection& reflection = *param.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(param, &fields);
  for (const auto* field : fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_FLOAT) continue;
    if (field->is_repeated()) continue;
    const float value = reflection.GetFloat(param, field);
    Require(std::isfinite(value), Error::Field{field->name()}, " is ", value,
            Error::Remedy{"give a finite number"});
  }
}

/// Checks what does not depend on the net.
void CheckParam(const SolverParameter& param) {
  CheckNumbers(param);
  Require(param.average_loss() >= 1, Error::Field{"average_loss"}, " must be at least 1, got ",
          param.average_loss());
  Require(param.iter_size() >= 1, Error::Field{"iter_size"}, " must be at least 1, got ",
          param.iter_size());
  Require(param.max_iter() >= 0, Error::Field{"max_iter"}, " must not be negative, got ",
          param.max_iter());
  Require(param.snapshot() >= 0, Error::Field{"snapshot"}, " must not be negative, got ",
          param.snapshot());
  Require(param.test_and_snapshot_last_epochs() >= 0, Error::Field{"test_and_snapshot_last_epochs"},
          " must not be negative, got ", param.test_and_snapshot_last_epochs());
  Require(param.solver_data_type() == FLOAT || param.solver_data_type() == FLOAT16 ||
              param.solver_data_type() == DOUBLE,
          Error::Field{"solver_data_type"}, " ", Type_Name(param.solver_data_type()),
          ": valid are FLOAT, FLOAT16 and DOUBLE");
  Require(param.random_seed() <= UINT_MAX, Error::Field{"random_seed"}, " must fit 32 bits, got ",
          param.random_seed());
}

}  // namespace

template <typename Dtype>
void Solver<Dtype>::Init(const SolverParameter& param) {
  LOG_IF(INFO, Caffe::root_solver()) << "Initializing solver from parameters: " << std::endl
                                     << param.DebugString();
  param_ = param;
  CheckParam(param_);
  if (Caffe::root_solver()) CheckSnapshotWritePermissions();
  // Layers that deal out their records have to agree on their order: they are set up with the seed
  // of rank 0, and what is drawn later is each rank's own.
  const bool joined = RankSettings::Current().joined;
  const int64_t own_seed = param_.random_seed() + Caffe::solver_rank();
  const bool seeded = param_.random_seed() >= 0;
  if (seeded) Caffe::set_random_seed(joined ? param_.random_seed() : own_seed);
  InitTrainNet();
  const bool snapshots = param_.snapshot() || param_.snapshot_after_train() ||
                         param_.test_and_snapshot_last_epochs() > 0;
  if (snapshots && SnapshotsInHdf5(param_)) RequireNamesForHdf5(net_->layer_names());
  InitTestNets();
  epoch_items_ = 0;
  if (seeded && joined && !Caffe::root_solver()) Caffe::set_random_seed(own_seed);
  iter_ = 0;
  current_step_ = 0;
  minimum_loss_ = 1e38f;
  iter_last_event_ = 0;
  LOG_IF(INFO, Caffe::root_solver()) << "Solver scaffolding done.";
}

namespace {

/// Every `weights:` field may name several files, separated by commas.
template <typename Dtype>
void LoadWeights(Net<Dtype>* net, const SolverParameter& param) {
  for (const string& list : param.weights()) {
    for (string file : SplitAtCommas(list)) {
      file.erase(0, file.find_first_not_of(' '));
      file.erase(file.find_last_not_of(' ') + 1);
      if (file.empty()) continue;
      LOG_IF(INFO, Caffe::root_solver()) << "Finetuning from " << file;
      net->CopyTrainedLayersFrom(file);
    }
  }
}

}  // namespace

template <typename Dtype>
void Solver<Dtype>::InitTrainNet() {
  const int given = param_.has_net() + param_.has_net_param() + param_.has_train_net() +
                    param_.has_train_net_param();
  Require(given > 0, "a solver needs a ", Error::Field{"net"}, " to train",
          Error::Remedy{"give one of net, train_net, net_param and train_net_param"});
  Require(given == 1, "give only one of ", Error::Field{"net"},
          ", train_net, net_param and train_net_param");
  NetParameter net_param;
  string file;
  if (param_.has_train_net_param()) {
    LOG_IF(INFO, Caffe::root_solver()) << "Creating training net specified in train_net_param.";
    net_param.CopyFrom(param_.train_net_param());
  } else if (param_.has_net_param()) {
    LOG_IF(INFO, Caffe::root_solver()) << "Creating training net specified in net_param.";
    net_param.CopyFrom(param_.net_param());
  } else {
    file = param_.has_train_net() ? param_.train_net() : param_.net();
    LOG_IF(INFO, Caffe::root_solver())
        << "Creating training net from " << (param_.has_train_net() ? "train_net" : "net")
        << " file: " << file;
    ReadNetParamsFromTextFileOrDie(file, &net_param);
  }
  // Phase TRAIN; what the net's own state says comes next, what train_state says last.
  NetState state;
  state.set_phase(TRAIN);
  state.MergeFrom(net_param.state());
  state.MergeFrom(param_.train_state());
  net_param.mutable_state()->CopyFrom(state);
  try {
    if (RankSettings::Current().batch_per_host) {
      DivideBatches(Caffe::solver_count(), &net_param);
    }
    net_.reset(new Net<Dtype>(net_param));
  } catch (Error& error) {
    if (!file.empty()) AddFile(file, &error);
    throw;
  }
  LoadWeights(net_.get(), param_);
  reduce_buckets_ = net_param.reduce_buckets();
  const bool dynamic = net_param.global_grad_scale_adaptive();
  const bool stated = net_param.has_global_grad_scale() || !dynamic;
  const double scale = stated ? net_param.global_grad_scale() : LossScale::kDynamicStart;
  loss_scale_ = file.empty() ? LossScale(scale, dynamic)
                             : WithFile(file, [&] { return LossScale(scale, dynamic); });
}

namespace {

struct TestNet {
  NetParameter param;
  string source;  // "test_net file: x", for the log
  string file;
};

vector<TestNet> FindTestNets(const SolverParameter& param, int count) {
  vector<TestNet> nets;
  for (const NetParameter& net : param.test_net_param())
    nets.push_back({net, "test_net_param", ""});
  for (const string& file : param.test_net()) nets.push_back({{}, "test_net file: " + file, file});
  // The generic net serves the test_iters that remain.
  while (static_cast<int>(nets.size()) < count && param.has_net_param()) {
    nets.push_back({param.net_param(), "net_param", ""});
  }
  while (static_cast<int>(nets.size()) < count && param.has_net()) {
    nets.push_back({{}, "net file: " + param.net(), param.net()});
  }
  for (TestNet& net : nets) {
    if (!net.file.empty()) ReadNetParamsFromTextFileOrDie(net.file, &net.param);
  }
  return nets;
}

}  // namespace

namespace {

/// Whether tests score detections, by their average precisions, instead of outputs, by their means.
bool TestsDetection(const SolverParameter& param) {
  const string& type = param.eval_type();
  Require(type == "detection" || type == "classification", Error::Field{"eval_type"}, " '", type,
          "' is unknown: valid are classification and detection");
  return type == "detection";
}

/// Why ranks cannot each test a part of a net's batches, "" if they can: its data has to come from
/// layers that deal it out, and its scores have to be means.
string ReasonNotToShareTest(const SolverParameter& solver, NetParameter net) {
  if (TestsDetection(solver)) return "average precisions need all of its detections";
  UpgradeNetAsNeeded("the net", &net);
  NetParameter included;
  Net<float>::FilterNet(net, &included);
  for (const LayerParameter& layer : included.layer()) {
    if (layer.bottom_size() > 0 || RecordShare::IsUsedBy(layer.type())) continue;
    return Join("layer '", layer.name(), "' (", layer.type(), ") does not deal out its data");
  }
  return "";
}

/// Whether each rank tests its share of a test net's batches; logs it.
bool SharesTest(const SolverParameter& solver, const NetParameter& net, int test_net_id) {
  if (!RankSettings::Current().joined) return false;
  const string reason = ReasonNotToShareTest(solver, net);
  const int iters = solver.test_iter(test_net_id);
  LOG_IF(INFO, Caffe::root_solver() && reason.empty())
      << "Test net (#" << test_net_id << "): " << iters << " batches, of which each of the "
      << Caffe::solver_count() << " ranks tests its share";
  LOG_IF(INFO, Caffe::root_solver() && !reason.empty())
      << "Test net (#" << test_net_id << "): every rank tests " << iters << " batches: " << reason;
  return reason.empty();
}

}  // namespace

template <typename Dtype>
void Solver<Dtype>::InitTestNets() {
  const int explicit_nets = param_.test_net_param_size() + param_.test_net_size();
  const int iters = param_.test_iter_size();
  const bool generic = param_.has_net() || param_.has_net_param();
  Require(generic ? iters >= explicit_nets : iters == explicit_nets, Error::Field{"test_iter"},
          " must be given once for each test net: there are ", iters, " test_iter and ",
          explicit_nets, " test nets");
  const vector<TestNet> nets = FindTestNets(param_, iters);
  const int count = static_cast<int>(nets.size());
  Require(count == 0 || param_.test_interval() > 0 || !param_.has_test_interval(),
          Error::Field{"test_interval"}, " must be positive, got ", param_.test_interval());
  Require(count == 0 || param_.test_interval() > 0, Error::Field{"test_interval"},
          " must be positive where there ", "is a test net");
  if (count > 0 && TestsDetection(param_)) RequireApVersion(param_.ap_version());
  Require(param_.test_state_size() == 0 || param_.test_state_size() == count,
          Error::Field{"test_state"}, " must be given once for each of the ", count,
          " test nets, or not at all");
  for (int i = 0; i < iters; ++i) {
    Require(param_.test_iter(i) >= 0, Error::Field{"test_iter"}, " must not be negative, got ",
            param_.test_iter(i));
  }
  for (int i = 0; i < count; ++i) {
    NetParameter net_param = nets[i].param;
    NetState state;
    state.set_phase(TEST);
    state.MergeFrom(net_param.state());
    if (param_.test_state_size()) state.MergeFrom(param_.test_state(i));
    net_param.mutable_state()->CopyFrom(state);
    LOG_IF(INFO, Caffe::root_solver())
        << "Creating test net (#" << i << ") specified by " << nets[i].source;
    try {
      shared_tests_.push_back(SharesTest(param_, net_param, i));
      test_places_.push_back(0);
      // Layers of the TEST phase deal out their records.
      RankSettings::Current().share_tests = shared_tests_[i];
      const AtScopeExit made([] { RankSettings::Current().share_tests = false; });
      test_nets_.push_back(shared_ptr<Net<Dtype>>(new Net<Dtype>(net_param)));
    } catch (Error& error) {
      if (!nets[i].file.empty()) AddFile(nets[i].file, &error);
      throw;
    }
    test_nets_.back()->set_debug_info(param_.debug_info());
    LoadWeights(test_nets_.back().get(), param_);  // for layers that the train net has not
  }
  net_->set_debug_info(param_.debug_info());
}

// Every rank calls it; what the root finds holds for all of them.
template <typename Dtype>
void Solver<Dtype>::FindEpoch() {
  const int epochs = param_.test_and_snapshot_last_epochs();
  if (epochs == 0 || epoch_items_ > 0) return;
  uint64_t epoch = 0, batch = 0;
  const bool counts = Caffe::root_solver() || !RankSettings::Current().joined;
  for (size_t i = 0; counts && i < net_->layers().size() && epoch == 0; ++i) {
    const vector<Blob<Dtype>*>& tops = net_->top_vecs()[i];
    if (!net_->bottom_vecs()[i].empty() || tops.empty() || tops[0]->count() == 0) continue;
    epoch = net_->layers()[i]->EpochItems();
    if (epoch > 0) batch = tops[0]->num_axes() > 0 ? tops[0]->shape(0) : 1;
  }
  vector<double> agreed = {double(epoch), double(batch)};
  MakeMeans(counts ? 1 : 0, &agreed);
  epoch_items_ = static_cast<uint64_t>(agreed[0]);
  iteration_items_ = static_cast<uint64_t>(agreed[1]) * param_.iter_size() * Caffe::solver_count();
  LOG_IF(WARNING, Caffe::root_solver() && epoch_items_ == 0)
      << "test_and_snapshot_last_epochs has no effect: no data layer of the net says how many "
         "items an epoch has. Set test_interval and snapshot to the iterations of an epoch";
  LOG_IF(INFO, Caffe::root_solver() && epoch_items_ > 0)
      << "An epoch of " << epoch_items_ << " items takes "
      << double(epoch_items_) / iteration_items_ << " iterations; of those that end by iteration "
      << param_.max_iter() << " the last " << epochs << " end with a test and a snapshot";
}

// Whether an epoch ended with the latest iteration, one of the last that end by max_iter.
template <typename Dtype>
bool Solver<Dtype>::EndsLateEpoch() const {
  if (epoch_items_ == 0 || iter_ <= 0 || iter_ > param_.max_iter()) return false;
  const auto epochs_by = [&](int iter) { return iter * iteration_items_ / epoch_items_; };
  const uint64_t last = param_.test_and_snapshot_last_epochs();
  return epochs_by(iter_) > epochs_by(iter_ - 1) &&
         epochs_by(iter_) + last > epochs_by(param_.max_iter());
}

template <typename Dtype>
SolverAction::Enum Solver<Dtype>::GetRequestedAction() {
  return action_request_function_ ? action_request_function_() : SolverAction::NONE;
}

// The weight of a loss lies in its top's diff, which the backward pass starts from.
template <typename Dtype>
void Solver<Dtype>::ScaleLosses(Dtype scale) {
  for (size_t i = 0; i < net_->layers().size(); ++i) {
    const vector<Blob<Dtype>*>& tops = net_->top_vecs()[i];
    for (size_t j = 0; j < tops.size(); ++j) {
      const Dtype weight = net_->layers()[i]->loss(j);
      if (weight == 0) continue;
      std::fill_n(tops[j]->template overwrite_cpu_diff_as<Dtype>(), tops[j]->count(),
                  weight * scale);
    }
  }
}

// Computes in float or double, so that gradients which the scale kept from vanishing survive.
template <typename Dtype>
void Solver<Dtype>::UnscaleGradients() {
  const Dtype scale = gradient_scale();
  gradients_are_scaled_ = false;
  if (scale == Dtype(1)) return;
  for (Blob<Dtype>* param : net_->learnable_params()) param->scale_diff(Dtype(1) / scale);
}

// Runs in parts if callbacks want to know how far it has come.
template <typename Dtype>
void Solver<Dtype>::Backward(bool is_last) {
  if (!is_last || backward_stops_.empty()) return net_->Backward();
  int start = static_cast<int>(net_->layers().size()) - 1;
  for (const int stop : backward_stops_) {
    net_->BackwardFromTo(start, stop);
    for (Callback* callback : callbacks_) callback->on_backward(stop);
    start = stop - 1;
  }
  net_->BackwardFromTo(start, 0);
}

// One batch: its loss as it is, its gradients times loss_scale().
template <typename Dtype>
Dtype Solver<Dtype>::ComputeGradients(bool is_last) {
  Dtype loss = 0;
  net_->Forward(&loss);
  gradients_are_scaled_ = true;
  const bool scaled = loss_scale() != Dtype(1);
  if (scaled) ScaleLosses(loss_scale());
  Backward(is_last);
  if (scaled) ScaleLosses(1);
  return loss;
}

template <typename Dtype>
bool Solver<Dtype>::GradientsAreFinite() {
  GradientSums sums;
  if (SumGradientsOnDevice(*net_, &sums)) {
    gradient_squares_ = sums.infinite == 0 ? sums.squares : -1;
    return sums.infinite == 0;
  }
  const vector<Blob<Dtype>*>& params = net_->learnable_params();
  return std::all_of(params.begin(), params.end(), [](const Blob<Dtype>* param) {
    return kernels::AllFinite(param->count(), param->cpu_diff());
  });
}

template <typename Dtype>
void Solver<Dtype>::RecordStep(bool finite_gradients) {
  const double before = loss_scale_.value();
  loss_scale_.Record(finite_gradients);
  skipped_updates_ += !finite_gradients;
  if (finite_gradients || !Caffe::root_solver()) return;
  if (loss_scale_.value() < before) {
    LOG(INFO) << "Iteration " << iter_ << ": gradients overflow, the update is skipped; the loss "
              << "scale falls from " << before << " to " << loss_scale_.value();
  } else {
    LOG(WARNING) << "Iteration " << iter_ << ": gradients are infinite or not numbers with the "
                 << "smallest loss scale, " << before << ", too, and the update is skipped: the "
                 << "scale is not the reason. Look for such values in the weights and the data";
  }
}

template <typename Dtype>
void Solver<Dtype>::WarnOfBadLoss(Dtype loss) {
  if (warned_of_bad_loss_ || std::isfinite(loss)) return;
  warned_of_bad_loss_ = true;
  LOG_IF(WARNING, Caffe::root_solver())
      << "The loss of iteration " << iter_ << " is "
      << (std::isnan(loss) ? "not a number" : "infinite")
      << ": training has diverged. Try a smaller base_lr or clip_gradients; debug_info: "
      << "true shows which layer's values grow.";
}

// `sums` and, behind them, how many there are in each become means over all ranks.
template <typename Dtype>
void Solver<Dtype>::MakeMeans(int count, vector<double>* sums) {
  sums->push_back(count);
  for (Callback* callback : callbacks_) callback->on_scores(sums);
  const double total = sums->back();
  sums->pop_back();
  for (double& sum : *sums) sum /= total;
}

template <typename Dtype>
Dtype Solver<Dtype>::MeanOverRanks(Dtype value) {
  vector<double> sum = {value};
  MakeMeans(1, &sum);
  return static_cast<Dtype>(sum[0]);
}

namespace {

template <typename Dtype>
size_t CountOutputs(const Net<Dtype>& net) {
  size_t count = 0;
  for (const Blob<Dtype>* output : net.output_blobs()) count += output->count();
  return count;
}

/// Adds the outputs of the latest forward pass, CountOutputs(net) of them, to `sums`.
template <typename Dtype>
void AddOutputs(const Net<Dtype>& net, double* sums) {
  for (const Blob<Dtype>* output : net.output_blobs()) {
    const Dtype* values = output->cpu_data();
    for (int k = 0; k < output->count(); ++k) *sums++ += values[k];
  }
}

/// Logs `values` of a net's outputs, one line a number:
/// "    Train net output #0: loss = 0.5 (* 1 = 0.5 loss)".
template <typename Dtype>
void LogOutputs(const Net<Dtype>& net, const char* which, const vector<double>& values) {
  size_t index = 0;
  for (int j = 0; j < net.num_outputs(); ++j) {
    const int blob = net.output_blob_indices()[j];
    const Dtype weight = net.blob_loss_weights()[blob];
    for (int k = 0; k < net.output_blobs()[j]->count() && index < values.size(); ++k, ++index) {
      const Dtype value = static_cast<Dtype>(values[index]);
      StringWriter loss;
      if (weight) loss << " (* " << weight << " = " << weight * value << " loss)";
      LOG_IF(INFO, Caffe::root_solver()) << "    " << which << " net output #" << index << ": "
                                         << net.blob_names()[blob] << " = " << value << loss.str();
    }
  }
}

}  // namespace

template <typename Dtype>
void Solver<Dtype>::DisplayOutputBlobs(const int net_id) {
  const Net<Dtype>& net = net_id < 0 ? *net_ : *test_nets_.at(net_id);
  vector<double> values(CountOutputs(net));
  AddOutputs(net, values.data());
  MakeMeans(1, &values);
  LogOutputs(net, net_id < 0 ? "Train" : "Test", values);
}

template <typename Dtype>
void Solver<Dtype>::Display() {
  const float lapse = iteration_timer_.Seconds();
  const float per_second = (iter_ - iterations_last_) / (lapse ? lapse : 1);
  LOG_IF(INFO, Caffe::root_solver())
      << "Iteration " << iter_ << " (" << per_second << " iter/s, " << lapse << "s/"
      << param_.display() << " iters), loss = " << smoothed_loss_;
  iteration_timer_.Start();
  iterations_last_ = iter_;
  DisplayOutputBlobs(-1);
}

template <typename Dtype>
void Solver<Dtype>::TellIteration() {
  net_->set_training_iteration(iter_);
  for (const shared_ptr<Net<Dtype>>& net : test_nets_) net->set_training_iteration(iter_);
}

template <typename Dtype>
void Solver<Dtype>::Step(int iters) {
  before_tests_.reset();
  FindEpoch();
  const int start_iter = iter_;
  const int stop_iter = iter_ + std::max(0, iters);
  iteration_timer_.Start();
  iterations_last_ = iter_;
  Progress progress("iteration", stop_iter, start_iter, ProgressOutput::TERMINAL_ONLY);
  while (iter_ < stop_iter) {
    TellIteration();
    if (TestsNow() && (iter_ > 0 || param_.test_initialization())) {
      progress.Clear();
      TestNow();
      if (requested_early_exit_) break;
    }
    net_->ClearParamDiffs();
    const AtScopeExit updated([this] { gradients_are_scaled_ = false; });
    for (Callback* callback : callbacks_) callback->on_start();
    const bool display = param_.display() && iter_ % param_.display() == 0;
    net_->set_debug_info(display && param_.debug_info());
    Dtype loss = 0;
    for (int i = 1; i <= param_.iter_size(); ++i) loss += ComputeGradients(i == param_.iter_size());
    loss = MeanOverRanks(loss / param_.iter_size());
    WarnOfBadLoss(loss);
    UpdateSmoothedLoss(loss, start_iter, param_.average_loss());
    if (display) {
      progress.Clear();
      Display();
    }
    for (Callback* callback : callbacks_) callback->on_gradients_ready();
    const bool usable = !loss_scale_.dynamic() || GradientsAreFinite();
    if (param_.clip_gradients() >= 0 || !usable) progress.Clear();  // both log
    if (usable) ApplyUpdate();
    if (loss_scale_.dynamic()) RecordStep(usable);
    ++iter_;

    const SolverAction::Enum request = GetRequestedAction();
    const bool due = param_.snapshot() && iter_ % param_.snapshot() == 0;
    if (due || request == SolverAction::SNAPSHOT) {
      progress.Clear();
      Snapshot();
    }
    if (request == SolverAction::STOP) {
      requested_early_exit_ = true;
      break;
    }
    progress.Update(iter_);
  }
}

template <typename Dtype>
void Solver<Dtype>::CheckTraining() {
  if (param_.snapshot_after_train() && Caffe::root_solver()) CheckSnapshotFolder();
}

template <typename Dtype>
void Solver<Dtype>::Solve(const char* resume_file) {
  LOG_IF(INFO, Caffe::root_solver()) << "Solving " << net_->name();
  LOG_IF(INFO, Caffe::root_solver()) << "Learning Rate Policy: " << param_.lr_policy();
  CheckTraining();
  requested_early_exit_ = false;
  if (resume_file) {
    LOG_IF(INFO, Caffe::root_solver()) << "Restoring previous solver status from " << resume_file;
    Restore(resume_file, /*data_positions=*/true);
  }
  const int start_iter = iter_;
  Step(std::max(0, param_.max_iter() - iter_));
  if (param_.snapshot_after_train() && (!param_.snapshot() || iter_ % param_.snapshot() != 0)) {
    Snapshot();
  }
  before_tests_.reset();
  if (requested_early_exit_) {
    LOG_IF(INFO, Caffe::root_solver()) << "Optimization stopped early.";
    return;
  }
  // The loss and the scores of the trained net: iterations show those before their update.
  // A snapshot with scores comes first, as the forward pass for the loss changes statistics.
  const bool late_epoch = EndsLateEpoch();
  if (late_epoch) TestNow();
  TellIteration();
  if (param_.display() && iter_ % param_.display() == 0) {
    Dtype loss = 0;
    net_->Forward(&loss);
    UpdateSmoothedLoss(MeanOverRanks(loss), start_iter, param_.average_loss());
    LOG_IF(INFO, Caffe::root_solver()) << "Iteration " << iter_ << ", loss = " << smoothed_loss_;
  }
  if (!late_epoch && TestsNow()) TestNow();
  LOG_IF(INFO, Caffe::root_solver()) << "Optimization Done.";
}

template <typename Dtype>
bool Solver<Dtype>::TestsNow() const {
  return (param_.test_interval() && iter_ % param_.test_interval() == 0) || EndsLateEpoch();
}

// A run that resumes from a snapshot with scores, or one within the tests, does all tests again.
template <typename Dtype>
void Solver<Dtype>::TestNow() {
  const AtScopeExit over([this] {
    if (!requested_early_exit_) before_tests_.reset();  // else Solve's snapshot comes
    scores_in_name_.clear();
  });
  before_tests_.emplace();
  SavePositions(&*before_tests_);
  if (Caffe::root_solver() || RankSettings::Current().joined) TestAll();
  if (requested_early_exit_ || !EndsLateEpoch()) return;
  scores_in_name_ = ScoresInName(test_scores_);
  Snapshot();
}

template <typename Dtype>
void Solver<Dtype>::TestAll() {
  test_scores_.clear();
  for (Callback* callback : callbacks_) callback->on_test();
  for (size_t i = 0; i < test_nets_.size() && !requested_early_exit_; ++i) Test(i);
}

// Does what was requested while a test runs; false if the test is to end.
template <typename Dtype>
bool Solver<Dtype>::ObeyRequests() {
  for (SolverAction::Enum request = GetRequestedAction(); request != SolverAction::NONE;
       request = GetRequestedAction()) {
    if (request == SolverAction::SNAPSHOT) {
      Snapshot();
    } else if (request == SolverAction::STOP) {
      requested_early_exit_ = true;
    }
  }
  return !requested_early_exit_;
}

template <typename Dtype>
void Solver<Dtype>::Test(const int test_net_id) {
  LOG_IF(INFO, Caffe::root_solver())
      << "Iteration " << iter_ << ", Testing net (#" << test_net_id << ")";
  Net<Dtype>& net = *test_nets_[test_net_id];
  net.ShareTrainedLayersWith(net_.get());
  const bool detection = TestsDetection(param_);
  vector<DetectionScores> detections(net.output_blobs().size());
  const bool shared = shared_tests_[test_net_id];
  const int ranks = shared ? Caffe::solver_count() : 1;
  const int rank = shared ? Caffe::solver_rank() : 0;
  vector<double> sums(1);  // of the loss, then of the outputs
  int tested = 0;
  const int iters = param_.test_iter(test_net_id);
  // Each rank has every ranks-th batch, through all tests: the first of this one is number `first`
  // of a round of all ranks.
  const int first = test_places_[test_net_id], end = first + iters;
  Progress progress("test batch", iters, 0, ProgressOutput::TERMINAL_ONLY);
  for (int i = 0; i < end; i += ranks) {
    if (!ObeyRequests()) {
      progress.Clear();
      LOG_IF(INFO, Caffe::root_solver()) << "Test interrupted.";
      if (i > 0) test_places_[test_net_id] = 0;
      return;
    }
    if (i + rank < first || i + rank >= end) continue;
    Dtype iter_loss = 0;
    net.Forward(&iter_loss);
    ++tested;
    sums[0] += iter_loss;
    if (detection) {
      for (size_t j = 0; j < detections.size(); ++j) detections[j].Add(*net.output_blobs()[j]);
    } else {
      sums.resize(std::max(sums.size(), 1 + CountOutputs(net)));
      AddOutputs(net, sums.data() + 1);
    }
    progress.Update(std::min(i + ranks, end) - first);
  }
  progress.Clear();
  if (iters == 0) return;
  test_places_[test_net_id] = end % ranks;
  // Of a rank that had no batch, too: means are made of as many numbers on all.
  if (!detection) sums.resize(std::max(sums.size(), 1 + CountOutputs(net)));
  MakeMeans(tested, &sums);
  if (param_.test_compute_loss()) LOG_IF(INFO, Caffe::root_solver()) << "Test loss: " << sums[0];
  if (detection) {
    for (size_t j = 0; j < detections.size(); ++j) {
      LogDetectionScores(detections[j], param_.ap_version(), param_.show_per_class_result(), j,
                         net.blob_names()[net.output_blob_indices()[j]]);
      test_scores_.push_back(detections[j].Mean(param_.ap_version()));
    }
    return;
  }
  const vector<double> means(sums.begin() + 1, sums.end());
  LogOutputs(net, "Test", means);
  test_scores_.insert(test_scores_.end(), means.begin(), means.end());
}

// The mean of the latest average_loss losses, the oldest of which comes first. The window outlives
// Step, so that a run in many steps shows what a run in one shows.
template <typename Dtype>
void Solver<Dtype>::UpdateSmoothedLoss(Dtype loss, int /*start_iter*/, int average_loss) {
  if (iter_ == 0) losses_.clear();
  while (static_cast<int>(losses_.size()) >= average_loss) losses_.erase(losses_.begin());
  losses_.push_back(loss);
  smoothed_loss_ = std::accumulate(losses_.begin(), losses_.end(), Dtype(0)) / losses_.size();
}

INSTANTIATE_CLASS(Solver);

}  // namespace caffe
