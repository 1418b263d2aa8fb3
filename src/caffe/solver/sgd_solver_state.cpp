// The history of gradients in snapshots.
#include <cstring>

#include "caffe/communicator.hpp"
#include "caffe/sgd_solvers.hpp"
#include "caffe/util/hdf5.hpp"
#include "caffe/util/io.hpp"
#include "snapshot_files.hpp"
#include "state_extras.hpp"

namespace caffe {
namespace {

void CheckLength(int stored, size_t wanted, const char* type) {
  Require(stored == static_cast<int>(wanted), "Incorrect length of history blobs: the state has ",
          stored, ", solver '", type, "' on this net has ", wanted,
          ": is this the state of another solver or net?");
}

// Histories take over what was read only when all of it has been read.
template <typename Dtype>
void TakeOver(const vector<shared_ptr<Blob<Dtype>>>& read,
              const vector<shared_ptr<Blob<Dtype>>>& history) {
  for (size_t i = 0; i < history.size(); ++i) history[i]->ShareData(*read[i]);
}

}  // namespace

template <typename Dtype>
void SGDSolver<Dtype>::SaveUpdateState(TrainingState* state) {
  this->SaveTrainingState(state);
  AddExtra(kSolverType, this->type(), state);
  if (!this->param_.larc_turbo()) return;
  AddExtra(
      kLarcCosines,
      string(reinterpret_cast<const char*>(cosines_.cpu_data()), cosines_.count() * sizeof(double)),
      state);
}

template <typename Dtype>
void SGDSolver<Dtype>::WarnOfOtherType(const TrainingState& state) const {
  for (const string& type : ExtrasOf(state, kSolverType)) {
    LOG_IF(WARNING, type != this->type())
        << "this is the state of a solver of type '" << type << "': '" << this->type()
        << "' continues from its history, as in Caffe, although it may mean something else to it";
  }
}

template <typename Dtype>
void SGDSolver<Dtype>::RestoreUpdateState(const TrainingState& state) {
  for (const string& cosines : ExtrasOf(state, kLarcCosines)) {
    if (cosines.size() != cosines_.count() * sizeof(double)) continue;
    std::memcpy(cosines_.mutable_cpu_data(), cosines.data(), cosines.size());
  }
  this->RestoreTrainingState(state);
}

template <typename Dtype>
void SGDSolver<Dtype>::BroadcastState(Communicator* communicator) {
  Solver<Dtype>::BroadcastState(communicator);
  for (const shared_ptr<Blob<Dtype>>& blob : history_) {
    communicator->Broadcast(blob->mutable_cpu_data(), blob->count() * sizeof(Dtype));
  }
  communicator->Broadcast(cosines_.mutable_cpu_data(), cosines_.count() * sizeof(double));
}

template <typename Dtype>
void SGDSolver<Dtype>::SnapshotSolverState(const string& model_filename) {
  if (SnapshotsInHdf5(this->param_)) {
    SnapshotSolverStateToHDF5(model_filename);
  } else {
    SnapshotSolverStateToBinaryProto(model_filename);
  }
}

template <typename Dtype>
void SGDSolver<Dtype>::SnapshotSolverStateToBinaryProto(const string& model_filename) {
  SolverState state;
  state.set_iter(this->iter_);
  state.set_learned_net(model_filename);
  state.set_current_step(this->current_step_);
  state.set_minimum_loss(this->minimum_loss_);
  state.set_iter_last_event(this->iter_last_event_);
  for (const shared_ptr<Blob<Dtype>>& blob : history_) blob->ToProto(state.add_history());
  SaveUpdateState(state.mutable_training_state());
  const string file = this->SolverStateFilename();
  LOG(INFO) << "Snapshotting solver state to binary proto file " << file;
  WriteProtoToBinaryFile(state, file);
}

template <typename Dtype>
void SGDSolver<Dtype>::RestoreSolverStateFromBinaryProto(const string& state_file) {
  SolverState state;
  ReadProtoFromBinaryFileOrDie(state_file, &state);
  Require(state.has_iter(),
          "this is not a solver state: it names no iteration; a caffemodel is given ",
          "as weights, not as a snapshot");
  WarnOfOtherType(state.training_state());
  CheckLength(state.history_size(), history_.size(), this->type());
  vector<shared_ptr<Blob<Dtype>>> read;
  for (size_t i = 0; i < history_.size(); ++i) {
    read.push_back(shared_ptr<Blob<Dtype>>(new Blob<Dtype>(history_[i]->shape())));
    try {
      read[i]->FromProto(state.history(i), /*reshape=*/false);
    } catch (Error& error) {
      error.AddContext(Join("history blob ", i));
      throw;
    }
  }
  if (state.has_learned_net()) {
    this->net_->CopyTrainedLayersFrom(this->LearnedNetOf(state.learned_net(), state_file));
  }
  LOG(INFO) << "SGDSolver: restoring history";
  TakeOver(read, history_);
  this->iter_ = state.iter();
  this->current_step_ = state.current_step();
  this->minimum_loss_ = state.minimum_loss();
  this->iter_last_event_ = state.iter_last_event();
  if (state.has_training_state()) RestoreUpdateState(state.training_state());
}

#ifdef USE_HDF5

template <typename Dtype>
void SGDSolver<Dtype>::SnapshotSolverStateToHDF5(const string& model_filename) {
  const string file = this->SolverStateFilename();
  LOG(INFO) << "Snapshotting solver state to HDF5 file " << file;
  TrainingState state;
  SaveUpdateState(&state);
  WriteHdf5File(file, [&](const Hdf5Handle& handle) {
    hdf5_save_int(handle.id(), "iter", this->iter_);
    hdf5_save_string(handle.id(), "learned_net", model_filename);
    hdf5_save_int(handle.id(), "current_step", this->current_step_);
    hdf5_save_string(handle.id(), "training_state", state.SerializeAsString());
    const Hdf5Handle history = Hdf5Handle::CreateGroup(handle.id(), "history");
    for (size_t i = 0; i < history_.size(); ++i) {
      hdf5_save_nd_dataset<Dtype>(history.id(), std::to_string(i), *history_[i]);
    }
  });
}

template <typename Dtype>
void SGDSolver<Dtype>::RestoreSolverStateFromHDF5(const string& state_file) {
  const Hdf5Handle file = Hdf5Handle::OpenFile(state_file);
  Require(hdf5_has_group(file.id(), "history"), "this is not a solver state: it has no group ",
          "'history'; a caffemodel is given as weights, not as a snapshot");
  TrainingState state;
  if (H5Lexists(file.id(), "training_state", H5P_DEFAULT) > 0) {
    Require(state.ParseFromString(hdf5_load_string(file.id(), "training_state")),
            "training_state is damaged");
  }
  WarnOfOtherType(state);
  const Hdf5Handle history = Hdf5Handle::OpenGroup(file.id(), "history");
  CheckLength(hdf5_get_num_links(history.id()), history_.size(), this->type());
  vector<shared_ptr<Blob<Dtype>>> read;
  for (size_t i = 0; i < history_.size(); ++i) {
    read.push_back(shared_ptr<Blob<Dtype>>(new Blob<Dtype>(history_[i]->shape())));
    hdf5_load_nd_dataset<Dtype>(history.id(), std::to_string(i).c_str(), 0, kMaxBlobAxes,
                                read[i].get());
  }
  const int iter = hdf5_load_int(file.id(), "iter");
  const int current_step = hdf5_load_int(file.id(), "current_step");
  if (H5Lexists(file.id(), "learned_net", H5P_DEFAULT) > 0) {
    const string learned_net = hdf5_load_string(file.id(), "learned_net");
    this->net_->CopyTrainedLayersFrom(this->LearnedNetOf(learned_net, state_file));
  }
  TakeOver(read, history_);
  this->iter_ = iter;
  this->current_step_ = current_step;
  RestoreUpdateState(state);
}

#else

template <typename Dtype>
void SGDSolver<Dtype>::SnapshotSolverStateToHDF5(const string&) {
  Fail("this libcaffe was built without HDF5: build with USE_HDF5=ON, or use snapshot_format: ",
       "BINARYPROTO");
}

template <typename Dtype>
void SGDSolver<Dtype>::RestoreSolverStateFromHDF5(const string&) {
  Fail("this libcaffe was built without HDF5", Error::Remedy{"build with USE_HDF5=ON"});
}

#endif  // USE_HDF5

#define CAFFE_SGD_STATE(Dtype)                                                      \
  template void SGDSolver<Dtype>::BroadcastState(Communicator*);                    \
  template void SGDSolver<Dtype>::SnapshotSolverState(const string&);               \
  template void SGDSolver<Dtype>::SnapshotSolverStateToBinaryProto(const string&);  \
  template void SGDSolver<Dtype>::SnapshotSolverStateToHDF5(const string&);         \
  template void SGDSolver<Dtype>::RestoreSolverStateFromBinaryProto(const string&); \
  template void SGDSolver<Dtype>::RestoreSolverStateFromHDF5(const string&)
CAFFE_SGD_STATE(float);
CAFFE_SGD_STATE(double);
#undef CAFFE_SGD_STATE

}  // namespace caffe
