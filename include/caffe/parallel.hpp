#ifndef CAFFE_PARALLEL_HPP_
#define CAFFE_PARALLEL_HPP_

// What Caffe's header of this name brings along; its class P2PSync of 2015, and in builds with
// USE_NCCL, there as here, its class NCCL. `caffe train -gpu 0,1` trains with ranks.hpp, on which
// both stand.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/common.hpp"
#include "caffe/internal_thread.hpp"
#include "caffe/layer.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/solver.hpp"
#include "caffe/syncedmem.hpp"
#include "caffe/util/blocking_queue.hpp"

namespace caffe {

/// Trains a net on several devices of this machine, a thread for each.
template <typename Dtype>
class P2PSync {
 public:
  /// `root_solver` is that of the first device, made after Caffe::set_solver_count. The others are
  /// made of `param`; `parent` is null: which thread sends its gradients to which is no concern of
  /// the caller's.
  P2PSync(shared_ptr<Solver<Dtype>> root_solver, P2PSync* parent, const SolverParameter& param);

  const shared_ptr<Solver<Dtype>>& solver() const { return solver_; }
  /// Trains to max_iter, from where the root solver is. In GPU mode each thread has one of `gpus`,
  /// the calling one the first; in CPU mode only their number counts. Throws Error if it is not
  /// Caffe::solver_count(); rethrows what one of the threads threw.
  void Run(const vector<int>& gpus);

 private:
  const shared_ptr<Solver<Dtype>> solver_;
  const SolverParameter param_;

  DISABLE_COPY_AND_ASSIGN(P2PSync);
};

}  // namespace caffe

#ifdef USE_NCCL

// Programs take it from here, as from Caffe's header in such builds.
#include <boost/thread.hpp>

namespace caffe {

class Communicator;
template <typename Dtype>
class Ranks;

/// Trains a net on several GPUs: the gradients of all solvers become their means.
template <typename Dtype>
class NCCL : public Solver<Dtype>::Callback, public Net<Dtype>::Callback {
 public:
  /// For Run: the solver of the first GPU.
  explicit NCCL(shared_ptr<Solver<Dtype>> solver);
  /// The solver of one of several processes, made after set_solver_count, set_solver_rank and
  /// SetDevice; `uid` is what new_uid gave one of them. Returns when all have come; from here on
  /// the solver trains with the others.
  NCCL(shared_ptr<Solver<Dtype>> solver, const string& uid);
  ~NCCL() override;

  static string new_uid();
  /// Makes all processes' parameters and solver states the first one's.
  void Broadcast();
  /// Trains to max_iter with a thread for each of `gpus`, the first of which is the calling one;
  /// from the .solverstate `restore` if that is not null. Rethrows what one of them threw.
  void Run(const vector<int>& gpus, const char* restore);

 protected:
  // Programs add this object to the solver and the net, as in Caffe; its Ranks has done so.
  void on_start() override {}
  void on_gradients_ready() override {}
  void run(int /*layer*/) override {}

 private:
  const shared_ptr<Solver<Dtype>> solver_;
  std::unique_ptr<Communicator> communicator_;
  std::unique_ptr<Ranks<Dtype>> ranks_;
};

}  // namespace caffe

#endif  // USE_NCCL

#endif  // CAFFE_PARALLEL_HPP_
