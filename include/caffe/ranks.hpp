#ifndef CAFFE_RANKS_HPP_
#define CAFFE_RANKS_HPP_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "caffe/communicator.hpp"
#include "caffe/solver.hpp"

namespace caffe {

class TerminationNotice;
template <typename Dtype>
class GradientReducer;

/// What the batch sizes of a TRAIN net are: those of each rank (BVLC Caffe), or those of all
/// together (NVCaffe's way for the GPUs of a host).
enum class BatchPer { RANK, ALL_RANKS };

/// Before the calling thread makes its solver: gives all ranks rank 0's parameters, and a seed if
/// these have none, and tells the thread's context which rank it is, so that data layers read its
/// share. Every rank calls it.
void JoinRanks(Communicator* communicator, BatchPer batch_per, SolverParameter* param);

/// Thrown by AllOf where the error was another rank's, or has been told.
class RanksFailed : public Error {
 public:
  RanksFailed() : Error("another rank has failed") {}
};

/// Calls `work` on every rank. If it throws on some, the lowest of them hands its error's message
/// to `tell`, and then all throw RanksFailed. `work` must not use the communicator.
void AllOf(Communicator* communicator, const std::function<void()>& work,
           const std::function<void(const std::string&)>& tell);

/// Trains a solver together with those of the other ranks, as one that had all their batches: the
/// gradients of each iteration become their means over all ranks before they are applied; losses
/// and scores are shown as means; snapshots are rank 0's. Each rank makes one of these for the
/// solver that it made after JoinRanks, all in the same order, and keeps it as long as it trains;
/// without it the solver trains alone again.
///
/// What normalizes over a batch sees its own rank's part of it: BatchNorm's statistics are averaged
/// when the net is tested or saved, and a loss that is normalized by the number of its valid items
/// is a mean of such means.
template <typename Dtype>
class Ranks : public Solver<Dtype>::Callback {
 public:
  /// Copies rank 0's parameters to all. Throws Error if the ranks train different nets.
  Ranks(shared_ptr<Solver<Dtype>> solver, Communicator* communicator);
  ~Ranks() override;

  /// Takes up what rank 0's solver has restored: its parameters and its state.
  void BroadcastState();
  /// Has `notice`, which must live as long as this object, say where training is.
  void KeepInformed(TerminationNotice* notice) { notice_ = notice; }
  /// What all ranks are asked to do, if `own` says it on one of them.
  ActionCallback Agreed(ActionCallback own);

 protected:
  void on_start() override;
  void on_backward(int layer) override;
  void on_gradients_ready() override;
  void on_scores(std::vector<double>* sums) override;
  void on_test() override;
  void on_snapshot() override;

 private:
  void CheckNet();
  void LogBatches() const;
  void BroadcastParameters();
  void AverageStatistics();
  SolverAction::Enum Agree(SolverAction::Enum own);

  const shared_ptr<Solver<Dtype>> solver_;
  Communicator* const communicator_;
  std::unique_ptr<GradientReducer<Dtype>> reducer_;
  TerminationNotice* notice_ = nullptr;
  bool snapshot_asked_ = false, stop_asked_ = false;
};

}  // namespace caffe

#endif  // CAFFE_RANKS_HPP_
