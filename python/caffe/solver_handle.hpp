#ifndef CAFFE_PYTHON_SOLVER_HANDLE_HPP_
#define CAFFE_PYTHON_SOLVER_HANDLE_HPP_

#include <memory>
#include <vector>

#include "caffe/solver.hpp"
#include "handles.hpp"

namespace caffe::pycaffe {

/// What Python's solvers hold.
struct SolverHandle {
  boost::shared_ptr<Solver<float>> solver;
  std::shared_ptr<NetHandle> net;
  std::vector<std::shared_ptr<NetHandle>> test_nets;
  std::vector<std::shared_ptr<Solver<float>::Callback>> callbacks;  // that the solver knows

  std::vector<NetHandle*> Nets() const {
    std::vector<NetHandle*> nets = {net.get()};
    for (const auto& test_net : test_nets) nets.push_back(test_net.get());
    return nets;
  }
  /// Runs f() with the solver's nets handed over to C++.
  template <typename Function>
  void Run(Function&& f) {
    Compute(Nets(), f);
  }
};

}  // namespace caffe::pycaffe

#endif  // CAFFE_PYTHON_SOLVER_HANDLE_HPP_
