// Solvers as text, on the small net: parsed, upgraded, and one iteration.
#include <memory>

#include "caffe/io/proto_text.hpp"
#include "caffe/solver.hpp"
#include "caffe/solver_factory.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/message_mutator.hpp"

CAFFE_FUZZ_MUTATOR(caffe::SolverParameter, MutateText)

namespace {

/// Of what leads to other files, or takes as long as it says.
void Restrict(caffe::SolverParameter* solver) {
  const caffe::SolverParameter small = caffe::fuzz::SmallSolver();
  solver->clear_net();
  solver->clear_train_net();
  solver->clear_train_net_param();
  solver->clear_weights();
  solver->set_solver_mode(small.solver_mode());
  *solver->mutable_net_param() = small.net_param();
  solver->set_snapshot_prefix(small.snapshot_prefix());
  solver->set_snapshot(0);
  solver->clear_test_net();
  solver->clear_test_net_param();
  for (int& iterations : *solver->mutable_test_iter()) iterations = std::min(iterations, 2);
  solver->set_iter_size(std::min(solver->iter_size(), 2));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return caffe::fuzz::Try([&] {
    caffe::SolverParameter param;
    caffe::ParseProtoText(caffe::fuzz::TextOf(data, size), "solver.prototxt", &param);
    caffe::UpgradeSolverAsNeeded("solver.prototxt", &param);
    Restrict(&param);
    std::unique_ptr<caffe::Solver<float>> solver(caffe::SolverRegistry<float>::CreateSolver(param));
    solver->Step(1);
  });
}
