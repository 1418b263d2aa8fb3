#ifndef CAFFE_SOLVER_HPP_
#define CAFFE_SOLVER_HPP_

#include <algorithm>
#include <boost/function.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "caffe/layer.hpp"
#include "caffe/loss_scale.hpp"
#include "caffe/net.hpp"
#include "caffe/solver_factory.hpp"
#include "caffe/util/timer.hpp"

namespace caffe {

class Communicator;

/// What a client (a signal handler, say) may ask a solver to do between two iterations.
namespace SolverAction {
enum Enum { NONE = 0, STOP = 1, SNAPSHOT = 2 };
}

typedef boost::function<SolverAction::Enum()> ActionCallback;

/// Trains a net: computes gradients, lets a subclass apply them, tests, displays and snapshots at
/// the intervals of its SolverParameter.
///
/// A snapshot is two files, <prefix>_iter_<n>.caffemodel and .solverstate (.h5 in HDF5 format),
/// each written aside and renamed. Those of test_and_snapshot_last_epochs have the first scores of
/// the test nets in their names too: <prefix>_iter_<n>_score0_<x>_score1_<y>, at most five. In
/// addition to what BVLC Caffe stores, the state holds the positions of data layers, random
/// generators and the loss window, so that a resumed run can go on bit for bit as though it had
/// never stopped (see Restore).
template <typename Dtype>
class Solver {
 public:
  explicit Solver(const SolverParameter& param);
  /// Reads the parameters from a prototxt file.
  explicit Solver(const string& param_file);
  virtual ~Solver() {}

  void Init(const SolverParameter& param);
  void InitTrainNet();
  void InitTestNets();

  void SetActionFunction(ActionCallback func) { action_request_function_ = func; }
  const ActionCallback& action_function() const { return action_request_function_; }
  SolverAction::Enum GetRequestedAction();

  /// Trains to max_iter, from `resume_file` if given, data positions included.
  virtual void Solve(const char* resume_file = NULL);
  void Solve(const string& resume_file) { Solve(resume_file.c_str()); }
  /// Does `iters` iterations; none where that is negative.
  void Step(int iters);
  /// Takes up the iteration, the weights and the history of a .solverstate or .solverstate.h5, as
  /// Caffe's function of that name: data layers and random generators stay where they are, so that
  /// a program which goes past the data of earlier iterations by itself does so once.
  void Restore(const char* resume_file) { Restore(resume_file, false); }
  /// With `data_positions` also the positions of data layers and the random generators, so that
  /// training goes on bit for bit as though it had never stopped.
  void Restore(const char* resume_file, bool data_positions);
  /// Writes the two files; of solvers that train together the root does.
  void Snapshot();
  /// The .solverstate or .solverstate.h5 that Snapshot writes at this iteration.
  string SolverStateFilename();
  /// Makes this solver's state, but for the parameters, that of rank 0, as after Restore. Every
  /// rank calls it. What each rank has of its own (random generators, positions of data layers) it
  /// takes up again if rank 0 has it from GatherStates of as many ranks.
  virtual void BroadcastState(Communicator* communicator);
  /// Brings what each rank has of its own to rank 0, for the next snapshot. Every rank calls it.
  void GatherStates(Communicator* communicator);

  const SolverParameter& param() const { return param_; }
  shared_ptr<Net<Dtype>> net() { return net_; }
  const vector<shared_ptr<Net<Dtype>>>& test_nets() { return test_nets_; }
  int iter() const { return iter_; }
  /// NetParameter.reduce_buckets of the net being trained: in about how many messages its gradients
  /// go to other ranks; 0: one a parameter.
  int reduce_buckets() const { return reduce_buckets_; }

  /// Called around the computation of gradients.
  class Callback {
   protected:
    virtual ~Callback() {}
    virtual void on_start() = 0;
    virtual void on_gradients_ready() = 0;
    /// In the backward pass of an iteration's last batch, when the layers from `layer` on, one of
    /// set_backward_stops(), have added to the gradients of their parameters.
    virtual void on_backward(int /*layer*/) {}
    /// For solvers that train together: adds up over all of them what is about to be shown.
    virtual void on_scores(vector<double>* /*sums*/) {}
    /// Before the parameters are tested, and before a snapshot of them.
    virtual void on_test() {}
    virtual void on_snapshot() {}
    template <typename T>
    friend class Solver;
  };
  const vector<Callback*>& callbacks() const { return callbacks_; }
  void add_callback(Callback* value) { callbacks_.push_back(value); }
  void remove_callback(Callback* value) {
    callbacks_.erase(std::remove(callbacks_.begin(), callbacks_.end(), value), callbacks_.end());
  }

  /// Layers at which callbacks hear of the backward pass, in descending order. A layer that works
  /// in place is none.
  void set_backward_stops(vector<int> layers) { backward_stops_ = std::move(layers); }

  /// Throws Error if snapshots cannot be written where snapshot_prefix says.
  void CheckSnapshotWritePermissions();
  virtual inline const char* type() const { return ""; }
  /// Changes the parameters by the gradients as they stand.
  virtual void ApplyUpdate() = 0;
  /// Throws Error for what training would fail at later, perhaps after a long test. Solve calls it.
  virtual void CheckTraining();

 protected:
  string SnapshotFilename(const string& extension);
  string SnapshotToBinaryProto();
  string SnapshotToHDF5();
  void TestAll();
  void Test(const int test_net_id = 0);
  virtual void SnapshotSolverState(const string& model_filename) = 0;
  virtual void RestoreSolverStateFromHDF5(const string& state_file) = 0;
  virtual void RestoreSolverStateFromBinaryProto(const string& state_file) = 0;
  /// Logs the latest outputs of the train net (net_id -1) or of a test net.
  void DisplayOutputBlobs(const int net_id);
  /// Makes smoothed_loss_ the mean of the latest `average_loss` losses, this one included.
  void UpdateSmoothedLoss(Dtype loss, int start_iter, int average_loss);

  /// All that a bit-identical resume needs beyond BVLC's fields. Of these Restore(file, false)
  /// leaves out positions and generators.
  void SaveTrainingState(TrainingState* state);
  void RestoreTrainingState(const TrainingState& state);
  /// The weights that `state_file` names, also if both were moved together.
  string LearnedNetOf(const string& learned_net, const string& state_file) const;

  /// What losses are multiplied by before the backward pass, and gradients divided by after it.
  Dtype loss_scale() const { return static_cast<Dtype>(loss_scale_.value()); }
  /// What the parameters' gradients of now are divided by before they are used: loss_scale() where
  /// Step made them, 1 where a program's own loop did, whose losses are not scaled.
  Dtype gradient_scale() const { return gradients_are_scaled_ ? loss_scale() : Dtype(1); }
  /// Undoes loss_scale() in the parameters' gradients. For ApplyUpdate, before all else.
  void UnscaleGradients();
  /// 1 at the first update; iterations whose update was skipped do not count.
  int update_number() const { return std::max(0, iter_ - skipped_updates_) + 1; }
  /// Puts the sum of squares of the gradients as the backward pass has left them on the device into
  /// `sum`, if this iteration knows it already, and says whether it does; each number is given
  /// once.
  bool TakeGradientSquares(double* sum) {
    *sum = gradient_squares_;
    gradient_squares_ = -1;
    return *sum >= 0;
  }

  SolverParameter param_;
  int iter_ = 0;
  int current_step_ = 0;
  shared_ptr<Net<Dtype>> net_;
  vector<shared_ptr<Net<Dtype>>> test_nets_;
  vector<Callback*> callbacks_;
  vector<Dtype> losses_;
  Dtype smoothed_loss_ = 0;
  /// State of policy plateau: the least smoothed_loss_, and the iteration of it or of the latest
  /// step.
  float minimum_loss_ = 1e38f;
  int iter_last_event_ = 0;
  LossScale loss_scale_;
  ActionCallback action_request_function_;
  bool requested_early_exit_ = false;
  Timer iteration_timer_;
  float iterations_last_ = 0;
  /// Iterations whose update was left out because gradients were infinite or not numbers.
  int skipped_updates_ = 0;
  /// Each rank's TrainingState, serialized, of a snapshot of several; empty in a run of one.
  vector<string> rank_states_;

 private:
  Dtype ComputeGradients(bool is_last);
  void Backward(bool is_last);
  void ScaleLosses(Dtype scale);
  bool GradientsAreFinite();
  void RecordStep(bool finite_gradients);
  void Display();
  void TellIteration();
  bool ObeyRequests();
  void FindEpoch();
  bool EndsLateEpoch() const;
  bool TestsNow() const;
  void TestNow();
  void WarnOfBadLoss(Dtype loss);
  void MakeMeans(int count, vector<double>* sums);
  Dtype MeanOverRanks(Dtype value);
  void CheckSnapshotFolder();

  void SavePositions(TrainingState* state);
  void RestorePositions(const TrainingState& state);

  void SaveTestPlaces(TrainingState* state) const;
  void RestoreTestPlaces(const TrainingState& state);

  std::optional<TrainingState> before_tests_;  // positions, while tests run
  bool restores_positions_ = true;
  bool warned_of_bad_loss_ = false;
  double gradient_squares_ = -1;
  bool gradients_are_scaled_ = false;  // in the present iteration of Step
  int reduce_buckets_ = 0;
  vector<int> backward_stops_;
  vector<bool> shared_tests_;  // per test net: each rank tests its share of the batches
  /// Of such a net: the rank that has the first batch of the next test.
  vector<int> test_places_;
  /// Where test_and_snapshot_last_epochs says so: the items of an epoch, 0 elsewhere, and those of
  /// an iteration, all solvers' together.
  uint64_t epoch_items_ = 0, iteration_items_ = 0;
  vector<double> test_scores_;  // of the latest TestAll: all outputs of all test nets
  string scores_in_name_;       // while a snapshot with scores is written

  DISABLE_COPY_AND_ASSIGN(Solver);
};

}  // namespace caffe

#endif  // CAFFE_SOLVER_HPP_
