// The history of gradients in snapshots.
#include <cstdio>

#include "caffe/sgd_solvers.hpp"
#include "caffe/util/hdf5.hpp"
#include "caffe/util/io.hpp"

namespace caffe {
namespace {

template <typename Dtype>
void CheckShape(const Blob<Dtype>& blob, const vector<int>& stored, size_t index) {
  Require(stored == blob.shape(), "history blob ", index, " has shape ", ShapeString(stored),
          " where the solver's is ", blob.shape_string(), ": is this another net's state?");
}

}  // namespace

template <typename Dtype>
void SGDSolver<Dtype>::SnapshotSolverState(const string& model_filename) {
  if (this->param_.snapshot_format() == SolverParameter_SnapshotFormat_HDF5) {
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
  for (const shared_ptr<Blob<Dtype>>& blob : history_) blob->ToProto(state.add_history());
  this->SaveTrainingState(state.mutable_training_state());
  const string file = this->SnapshotFilename(".solverstate");
  LOG(INFO) << "Snapshotting solver state to binary proto file " << file;
  WriteProtoToBinaryFile(state, file);
}

template <typename Dtype>
void SGDSolver<Dtype>::RestoreSolverStateFromBinaryProto(const string& state_file) {
  SolverState state;
  ReadProtoFromBinaryFileOrDie(state_file, &state);
  Require(state.history_size() == static_cast<int>(history_.size()),
          "Incorrect length of history blobs: the state has ", state.history_size(), ", solver '",
          this->type(), "' on this net has ", history_.size());
  if (state.has_learned_net()) {
    this->net_->CopyTrainedLayersFrom(this->LearnedNetOf(state.learned_net(), state_file));
  }
  this->iter_ = state.iter();
  this->current_step_ = state.current_step();
  LOG(INFO) << "SGDSolver: restoring history";
  for (size_t i = 0; i < history_.size(); ++i) {
    Blob<Dtype> stored;
    stored.FromProto(state.history(i));
    if (!history_[i]->ShapeEquals(state.history(i))) {
      CheckShape(*history_[i], stored.shape(), i);
    }
    history_[i]->FromProto(state.history(i), false);
  }
  if (state.has_training_state()) this->RestoreTrainingState(state.training_state());
}

#ifdef USE_HDF5

template <typename Dtype>
void SGDSolver<Dtype>::SnapshotSolverStateToHDF5(const string& model_filename) {
  const string file = this->SnapshotFilename(".solverstate.h5");
  LOG(INFO) << "Snapshotting solver state to HDF5 file " << file;
  const string aside = file + ".tmp";
  try {
    Hdf5Handle handle = Hdf5Handle::CreateFile(aside);
    hdf5_save_int(handle.id(), "iter", this->iter_);
    hdf5_save_string(handle.id(), "learned_net", model_filename);
    hdf5_save_int(handle.id(), "current_step", this->current_step_);
    TrainingState state;
    this->SaveTrainingState(&state);
    hdf5_save_string(handle.id(), "training_state", state.SerializeAsString());
    {
      const Hdf5Handle history = Hdf5Handle::CreateGroup(handle.id(), "history");
      for (size_t i = 0; i < history_.size(); ++i) {
        hdf5_save_nd_dataset<Dtype>(history.id(), std::to_string(i), *history_[i]);
      }
    }
    handle.Close();
    Require(std::rename(aside.c_str(), file.c_str()) == 0, "the file cannot be put in place");
  } catch (Error& error) {
    std::remove(aside.c_str());
    error.AddContext(file);
    throw;
  }
}

template <typename Dtype>
void SGDSolver<Dtype>::RestoreSolverStateFromHDF5(const string& state_file) {
  const Hdf5Handle file = Hdf5Handle::OpenFile(state_file);
  const Hdf5Handle history = Hdf5Handle::OpenGroup(file.id(), "history");
  const int stored = hdf5_get_num_links(history.id());
  Require(stored == static_cast<int>(history_.size()),
          "Incorrect length of history blobs: the state has ", stored, ", solver '", this->type(),
          "' on this net has ", history_.size());
  this->iter_ = hdf5_load_int(file.id(), "iter");
  if (H5Lexists(file.id(), "learned_net", H5P_DEFAULT) > 0) {
    const string learned_net = hdf5_load_string(file.id(), "learned_net");
    this->net_->CopyTrainedLayersFrom(this->LearnedNetOf(learned_net, state_file));
  }
  this->current_step_ = hdf5_load_int(file.id(), "current_step");
  for (int i = 0; i < stored; ++i) {
    hdf5_load_nd_dataset<Dtype>(history.id(), std::to_string(i).c_str(), 0, kMaxBlobAxes,
                                history_[i].get());
  }
  if (H5Lexists(file.id(), "training_state", H5P_DEFAULT) > 0) {
    TrainingState state;
    Require(state.ParseFromString(hdf5_load_string(file.id(), "training_state")),
            "training_state is damaged");
    this->RestoreTrainingState(state);
  }
}

#else

template <typename Dtype>
void SGDSolver<Dtype>::SnapshotSolverStateToHDF5(const string&) {
  Fail("this libcaffe was built without HDF5: build with USE_HDF5=ON, or use snapshot_format: ",
       "BINARYPROTO");
}

template <typename Dtype>
void SGDSolver<Dtype>::RestoreSolverStateFromHDF5(const string&) {
  Fail("this libcaffe was built without HDF5: build with USE_HDF5=ON");
}

#endif  // USE_HDF5

#define CAFFE_SGD_STATE(Dtype)                                                      \
  template void SGDSolver<Dtype>::SnapshotSolverState(const string&);               \
  template void SGDSolver<Dtype>::SnapshotSolverStateToBinaryProto(const string&);  \
  template void SGDSolver<Dtype>::SnapshotSolverStateToHDF5(const string&);         \
  template void SGDSolver<Dtype>::RestoreSolverStateFromBinaryProto(const string&); \
  template void SGDSolver<Dtype>::RestoreSolverStateFromHDF5(const string&)
CAFFE_SGD_STATE(float);
CAFFE_SGD_STATE(double);
#undef CAFFE_SGD_STATE

}  // namespace caffe
