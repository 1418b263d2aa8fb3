#ifndef CAFFE_NVCAFFE_SOLVER_HPP_
#define CAFFE_NVCAFFE_SOLVER_HPP_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "caffe/nvcaffe/net.hpp"
#include "caffe/sgd_solvers.hpp"
#include "caffe/solver_factory.hpp"

namespace nvcaffe {

/// NVCaffe's solver, which has no type parameter: a handle on a caffe::Solver<float>.
class Solver {
 public:
  /// A handle on `solver`, which is not null.
  explicit Solver(shared_ptr<caffe::Solver<float>> solver)
      : solver_(std::move(solver)), net_(new Net(solver_->net())) {
    for (const auto& net : solver_->test_nets()) test_nets_.push_back(HandleOn(net));
  }
  virtual ~Solver() = default;

  caffe::Solver<float>& typed() const { return *solver_; }

  /// Trains to max_iter, from `resume_file` if given. Always true: an Error says what went wrong.
  bool Solve(const char* resume_file = nullptr) {
    solver_->Solve(resume_file);
    return true;
  }
  bool Solve(const string& resume_file) { return Solve(resume_file.c_str()); }
  void Step(int iters) { solver_->Step(iters); }
  void Restore(const char* resume_file) { solver_->Restore(resume_file); }
  void Snapshot() { solver_->Snapshot(); }
  void SetActionFunction(caffe::ActionCallback func) { solver_->SetActionFunction(func); }
  caffe::SolverAction::Enum GetRequestedAction() { return solver_->GetRequestedAction(); }
  void CheckSnapshotWritePermissions() { solver_->CheckSnapshotWritePermissions(); }

  const caffe::SolverParameter& param() const { return solver_->param(); }
  const char* type() const { return solver_->type(); }
  int iter() const { return solver_->iter(); }
  bool is_root() const { return caffe::Caffe::root_solver(); }
  shared_ptr<Net> net() { return net_; }
  const vector<shared_ptr<Net>>& test_nets() { return test_nets_; }

 private:
  static shared_ptr<Net> HandleOn(const shared_ptr<caffe::Net<float>>& net) {
    return shared_ptr<Net>(new Net(net));
  }

  shared_ptr<caffe::Solver<float>> solver_;
  shared_ptr<Net> net_;
  vector<shared_ptr<Net>> test_nets_;
};

class SolverRegistry {
 public:
  /// A solver of param's type, for the caller to delete. Throws Error for an unknown type.
  static Solver* CreateSolver(const caffe::SolverParameter& param, const Solver* root = nullptr,
                              size_t rank = 0) {
    caffe::Require(rank == 0 && root == nullptr, "a solver of rank ", rank,
                   " of several is made behind caffe::JoinRanks: see caffe/ranks.hpp");
    return new Solver(
        shared_ptr<caffe::Solver<float>>(caffe::SolverRegistry<float>::CreateSolver(param)));
  }
  static vector<string> SolverTypeList() { return caffe::SolverRegistry<float>::SolverTypeList(); }
};

}  // namespace nvcaffe

#endif  // CAFFE_NVCAFFE_SOLVER_HPP_
