// Snapshots of a solver and what a resumed run needs.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "caffe/communicator.hpp"
#include "caffe/core/at_scope_exit.hpp"
#include "caffe/core/error_context.hpp"
#include "caffe/data/rank_settings.hpp"
#include "caffe/solver.hpp"
#include "caffe/util/math_functions.hpp"
#include "caffe/util/rng.hpp"
#include "caffe/util/text/letters.hpp"
#include "snapshot_files.hpp"
#include "state_extras.hpp"

namespace caffe {
template <typename Dtype>
void Solver<Dtype>::CheckSnapshotWritePermissions() {
  const bool at_epochs = param_.test_and_snapshot_last_epochs() > 0;
  if (!param_.snapshot() && !at_epochs) return;
  Require(param_.has_snapshot_prefix(),
          Error::Field{param_.snapshot() ? "snapshot" : "test_and_snapshot_last_epochs"},
          " is set but snapshot_prefix is not: say where ", "snapshots go");
  CheckSnapshotFolder();
}

template <typename Dtype>
void Solver<Dtype>::CheckSnapshotFolder() {
  // The same name in each run, so that one that was killed here leaves nothing for good.
  const string scores(param_.test_and_snapshot_last_epochs() > 0 ? kScoresLength : 0, '0');
  const string probe = SnapshotFile(param_, 0, scores + ".tempfile");
  std::ofstream stream(probe.c_str());
  Require(stream.good(), "cannot write snapshots with ", Error::Field{"snapshot_prefix"}, " '",
          param_.snapshot_prefix(), "': ", std::strerror(errno),
          Error::Remedy{"make sure that the directory exists and is writable"});
  stream.close();
  std::remove(probe.c_str());
}

template <typename Dtype>
string Solver<Dtype>::SnapshotFilename(const string& extension) {
  return SnapshotFile(param_, iter_, scores_in_name_ + extension);
}

template <typename Dtype>
string Solver<Dtype>::SolverStateFilename() {
  return SnapshotFilename(SnapshotsInHdf5(param_) ? ".solverstate.h5" : ".solverstate");
}

template <typename Dtype>
void Solver<Dtype>::Snapshot() {
  for (Callback* callback : callbacks_) callback->on_snapshot();
  if (!Caffe::root_solver()) return;
  const string model = SnapshotsInHdf5(param_) ? SnapshotToHDF5() : SnapshotToBinaryProto();
  SnapshotSolverState(model);
}

template <typename Dtype>
string Solver<Dtype>::SnapshotToBinaryProto() {
  const string file = SnapshotFilename(".caffemodel");
  LOG(INFO) << "Snapshotting to binary proto file " << file;
  net_->ToBinaryProto(file, param_.snapshot_diff());
  return file;
}

template <typename Dtype>
string Solver<Dtype>::SnapshotToHDF5() {
  const string file = SnapshotFilename(".caffemodel.h5");
  LOG(INFO) << "Snapshotting to HDF5 file " << file;
  net_->ToHDF5(file, param_.snapshot_diff());
  return file;
}

template <typename Dtype>
void Solver<Dtype>::Restore(const char* state_file, bool data_positions) {
  const string file = state_file;
  before_tests_.reset();
  skipped_updates_ = 0;  // of a state that does not say
  restores_positions_ = data_positions;
  const AtScopeExit over([this] { restores_positions_ = true; });
  WithFile(file, [&] {
    if (EndsWith(file, ".h5")) {
      RestoreSolverStateFromHDF5(file);
    } else {
      RestoreSolverStateFromBinaryProto(file);
    }
  });
}

template <typename Dtype>
string Solver<Dtype>::LearnedNetOf(const string& learned_net, const string& state_file) const {
  if (access(learned_net.c_str(), R_OK) == 0) return learned_net;
  const size_t folder = state_file.rfind('/');
  const string sibling = (folder == string::npos ? "" : state_file.substr(0, folder + 1)) +
                         learned_net.substr(learned_net.rfind('/') + 1);
  return access(sibling.c_str(), R_OK) == 0 ? sibling : learned_net;
}

template <typename Dtype>
void Solver<Dtype>::GatherStates(Communicator* communicator) {
  TrainingState own;
  rank_states_.clear();
  SaveTrainingState(&own);
  vector<string> states;
  for (int rank = 0; rank < communicator->size(); ++rank) {
    states.push_back(communicator->BroadcastText(own.SerializeAsString(), rank));
  }
  if (communicator->rank() == 0) rank_states_ = states;
}

template <typename Dtype>
void Solver<Dtype>::BroadcastState(Communicator* communicator) {
  int place[2] = {iter_, current_step_};
  communicator->Broadcast(place, sizeof place);
  TrainingState state;
  if (communicator->rank() == 0) SaveTrainingState(&state);
  const string text = communicator->BroadcastText(state.SerializeAsString());
  if (communicator->rank() == 0) return;
  iter_ = place[0];
  current_step_ = place[1];
  CHECK(state.ParseFromString(text));
  const vector<string> states = ExtrasOf(state, kRankState);
  if (static_cast<int>(states.size()) == communicator->size()) {
    Require(state.ParseFromString(states[communicator->rank()]), "the solver state of rank ",
            communicator->rank(), " is damaged");
    RestoreTrainingState(state);
  } else {  // the snapshot is of another number of ranks
    RestoreTrainingState(state);
    Caffe::set_random_seed(caffe_rng_rand() + communicator->rank());
  }
}

template <typename Dtype>
void Solver<Dtype>::SaveTrainingState(TrainingState* state) {
  for (Dtype loss : losses_) state->add_loss_window(loss);
  state->set_smoothed_loss(smoothed_loss_);
  state->set_minimum_loss(minimum_loss_);
  state->set_iter_last_event(iter_last_event_);
  state->set_loss_scale(static_cast<float>(loss_scale_.value()));
  state->set_loss_scale_good_steps(loss_scale_.good_steps());
  if (skipped_updates_ > 0) AddExtra(kSkippedUpdates, std::to_string(skipped_updates_), state);
  for (const string& rank_state : rank_states_) AddExtra(kRankState, rank_state, state);
  if (before_tests_) {
    state->MergeFrom(*before_tests_);
  } else {
    SavePositions(state);
  }
}

// Of data layers and random generators.
template <typename Dtype>
void Solver<Dtype>::SavePositions(TrainingState* state) {
  state->set_rng_state(RandomStateOf(*caffe_rng()));
  for (size_t i = 0; i <= test_nets_.size(); ++i) {
    const Net<Dtype>& net = i == 0 ? *net_ : *test_nets_[i - 1];
    for (size_t j = 0; j < net.layers().size(); ++j) {
      const string layer_state = net.layers()[j]->SaveState();
      if (layer_state.empty()) continue;
      auto* entry = state->add_layer_state();
      entry->set_layer(net.layer_names()[j]);
      entry->set_net_id(static_cast<int>(i));
      entry->set_state(layer_state);
    }
  }
  SaveTestPlaces(state);
}

// Ranks that share tests read on where these have come to, if they are as many.
template <typename Dtype>
void Solver<Dtype>::SaveTestPlaces(TrainingState* state) const {
  const bool moved =
      std::any_of(test_places_.begin(), test_places_.end(), [](int place) { return place > 0; });
  if (!moved) return;
  AddExtra(kTestPlace, std::to_string(Caffe::solver_count()), state);
  for (const int place : test_places_) AddExtra(kTestPlace, std::to_string(place), state);
}

template <typename Dtype>
void Solver<Dtype>::RestoreTestPlaces(const TrainingState& state) {
  vector<int> numbers;
  for (const string& text : ExtrasOf(state, kTestPlace)) numbers.push_back(std::atoi(text.c_str()));
  test_places_.assign(test_places_.size(), 0);
  const int ranks = Caffe::solver_count();
  if (numbers.size() != 1 + test_places_.size() || numbers[0] != ranks) return;
  for (size_t i = 0; i < test_places_.size(); ++i) {
    if (shared_tests_[i]) test_places_[i] = std::max(0, numbers[i + 1]) % ranks;
  }
}

template <typename Dtype>
void Solver<Dtype>::RestoreTrainingState(const TrainingState& state) {
  losses_.assign(state.loss_window().begin(), state.loss_window().end());
  smoothed_loss_ = static_cast<Dtype>(state.smoothed_loss());
  if (state.has_minimum_loss()) minimum_loss_ = state.minimum_loss();
  if (state.has_iter_last_event()) iter_last_event_ = state.iter_last_event();
  // A fixed scale is what the net says now: global_grad_scale may have been changed since.
  if (loss_scale_.dynamic() && state.has_loss_scale()) {
    loss_scale_.Resume(state.loss_scale(), state.loss_scale_good_steps());
  }
  skipped_updates_ = 0;
  for (const string& text : ExtrasOf(state, kSkippedUpdates)) {
    skipped_updates_ = std::max(0, std::atoi(text.c_str()));
  }
  rank_states_.clear();  // of an earlier snapshot
  if (restores_positions_) RestorePositions(state);
}

template <typename Dtype>
void Solver<Dtype>::RestorePositions(const TrainingState& state) {
  for (const auto& entry : state.layer_state()) {
    const bool known = entry.net_id() >= 0 && entry.net_id() <= static_cast<int>(test_nets_.size());
    Net<Dtype>* net = !known                ? nullptr
                      : entry.net_id() == 0 ? net_.get()
                                            : test_nets_[entry.net_id() - 1].get();
    if (!net || !net->has_layer(entry.layer())) {
      LOG(WARNING) << "The solver state holds the position of layer '" << entry.layer()
                   << "', which this net has not: it is left out";
      continue;
    }
    try {
      net->layer_by_name(entry.layer())->RestoreState(entry.state());
    } catch (Error& error) {
      error.AddContext(Join("layer '", entry.layer(), "'"));
      throw;
    }
  }
  RestoreTestPlaces(state);
  // A run of one leaves the others' out of its own snapshots.
  if (RankSettings::Current().joined) rank_states_ = ExtrasOf(state, kRankState);
  // Last: layers that start threads again draw their seeds.
  if (state.has_rng_state()) SetRandomStateOf(state.rng_state(), caffe_rng());
}

#define CAFFE_SOLVER_SNAPSHOT(Dtype)                                               \
  template void Solver<Dtype>::CheckSnapshotWritePermissions();                    \
  template void Solver<Dtype>::CheckSnapshotFolder();                              \
  template string Solver<Dtype>::SnapshotFilename(const string&);                  \
  template string Solver<Dtype>::SolverStateFilename();                            \
  template void Solver<Dtype>::Snapshot();                                         \
  template string Solver<Dtype>::SnapshotToBinaryProto();                          \
  template string Solver<Dtype>::SnapshotToHDF5();                                 \
  template void Solver<Dtype>::Restore(const char*, bool);                         \
  template string Solver<Dtype>::LearnedNetOf(const string&, const string&) const; \
  template void Solver<Dtype>::GatherStates(Communicator*);                        \
  template void Solver<Dtype>::BroadcastState(Communicator*);                      \
  template void Solver<Dtype>::SaveTrainingState(TrainingState*);                  \
  template void Solver<Dtype>::SavePositions(TrainingState*);                      \
  template void Solver<Dtype>::RestoreTrainingState(const TrainingState&);         \
  template void Solver<Dtype>::SaveTestPlaces(TrainingState*) const;               \
  template void Solver<Dtype>::RestoreTestPlaces(const TrainingState&);            \
  template void Solver<Dtype>::RestorePositions(const TrainingState&)
CAFFE_SOLVER_SNAPSHOT(float);
CAFFE_SOLVER_SNAPSHOT(double);
#undef CAFFE_SOLVER_SNAPSHOT

}  // namespace caffe
