// Snapshots of the small solver, in either form.
#include <memory>

#include "caffe/io/mapped_file.hpp"
#include "caffe/solver.hpp"
#include "caffe/solver_factory.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/message_mutator.hpp"

CAFFE_FUZZ_MUTATOR(caffe::SolverState, MutateBinary)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::unique_ptr<caffe::Solver<float>> solver(
      caffe::SolverRegistry<float>::CreateSolver(caffe::fuzz::SmallSolver()));
  return caffe::fuzz::Try([&] {
    const char* name = caffe::IsHdf5(data, size) ? "small.solverstate.h5" : "small.solverstate";
    solver->Restore(caffe::fuzz::NewFile(name, data, size).c_str(), /*data_positions=*/true);
  });
}
