#include "ranks_in_threads.hpp"

#include <exception>
#include <mutex>

#include "caffe/data/rank_settings.hpp"
#include "caffe/ranks.hpp"
#include "caffe/solver_factory.hpp"
#include "caffe/util/system/joined_threads.hpp"

namespace caffe {
namespace {

/// The calling thread's part among ranks, given back when this ends.
class KeptRankSettings {
 public:
  KeptRankSettings()
      : settings_(RankSettings::Current()),
        count_(Caffe::solver_count()),
        rank_(Caffe::solver_rank()) {}
  ~KeptRankSettings() {
    RankSettings::Current() = settings_;
    Caffe::set_solver_count(count_);
    Caffe::set_solver_rank(rank_);
  }
  KeptRankSettings(const KeptRankSettings&) = delete;
  KeptRankSettings& operator=(const KeptRankSettings&) = delete;

 private:
  const RankSettings settings_;
  const int count_, rank_;
};

}  // namespace

template <typename Dtype>
void TrainInThreads(const shared_ptr<Solver<Dtype>>& root, const SolverParameter& param, int ranks,
                    const std::function<void(int)>& enter, const char* restore) {
  const KeptRankSettings kept;
  const ActionCallback root_action = root->action_function();
  const bool resumed = restore || root->iter() > 0;
  const auto communicators = ThreadCommunicators(ranks);
  std::mutex mutex;
  std::exception_ptr first_error;  // the others' say that another rank has failed
  const auto fail = [&](int rank) {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!first_error) first_error = std::current_exception();
    }
    communicators[rank]->Abort();
  };
  const auto train = [&](int rank, shared_ptr<Solver<Dtype>> solver) {
    Communicator* const communicator = communicators[rank].get();
    try {
      enter(rank);
      SolverParameter rank_param = param;
      JoinRanks(communicator, BatchPer::RANK, &rank_param);
      if (!solver) solver.reset(SolverRegistry<Dtype>::CreateSolver(rank_param));
      Ranks<Dtype> together(solver, communicator);
      const auto nothing = [] { return SolverAction::NONE; };
      solver->SetActionFunction(
          together.Agreed(rank == 0 && root_action ? root_action : ActionCallback(nothing)));
      if (restore && rank == 0) solver->Restore(restore, /*data_positions=*/true);
      if (resumed) together.BroadcastState();
      solver->Solve();
    } catch (...) {
      fail(rank);
    }
  };
  JoinedThreads threads;
  try {
    for (int rank = 1; rank < ranks; ++rank) threads.Start(train, rank, nullptr);
  } catch (...) {  // the system has no more threads
    fail(0);
  }
  train(0, root);
  threads.Join();
  root->SetActionFunction(root_action);
  if (first_error) std::rethrow_exception(first_error);
}

template void TrainInThreads(const shared_ptr<Solver<float>>&, const SolverParameter&, int,
                             const std::function<void(int)>&, const char*);
template void TrainInThreads(const shared_ptr<Solver<double>>&, const SolverParameter&, int,
                             const std::function<void(int)>&, const char*);

}  // namespace caffe
