#ifndef CAFFE_RANKS_IN_THREADS_HPP_
#define CAFFE_RANKS_IN_THREADS_HPP_

#include <functional>

#include "caffe/solver.hpp"

namespace caffe {

/// Trains `root`, the solver of rank 0, to max_iter in the calling thread together with those that
/// `ranks` - 1 threads make of `param`. What `root` is asked to do (SetActionFunction) all
/// do. Each thread first calls `enter` with its rank, which sets its mode and device. `restore`: a
/// .solverstate to begin with, or null; a root that has been restored already goes on from there.
/// Afterwards the calling thread belongs to no ranks again. Rethrows what one of them threw.
template <typename Dtype>
void TrainInThreads(const shared_ptr<Solver<Dtype>>& root, const SolverParameter& param, int ranks,
                    const std::function<void(int)>& enter, const char* restore);

}  // namespace caffe

#endif  // CAFFE_RANKS_IN_THREADS_HPP_
