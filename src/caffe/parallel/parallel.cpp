#include "caffe/parallel.hpp"

#include "ranks_in_threads.hpp"

namespace caffe {

template <typename Dtype>
P2PSync<Dtype>::P2PSync(shared_ptr<Solver<Dtype>> root_solver, P2PSync* parent,
                        const SolverParameter& param)
    : solver_(std::move(root_solver)), param_(param) {
  Require(parent == nullptr,
          "P2PSync: make one with a null parent and call its Run: it makes those ",
          "of the other devices");
}

template <typename Dtype>
void P2PSync<Dtype>::Run(const vector<int>& gpus) {
  const int ranks = static_cast<int>(gpus.size());
  Require(ranks > 0 && ranks == Caffe::solver_count(), "P2PSync::Run is given ", ranks,
          " devices, but the solver was made for ", Caffe::solver_count(),
          Error::Remedy{"call Caffe::set_solver_count before making it"});
  const Caffe::Brew mode = Caffe::mode();
  const auto enter = [&](int rank) {
    Caffe::set_mode(mode);
    if (mode == Caffe::GPU) Caffe::SetDevice(gpus[rank]);
  };
  TrainInThreads<Dtype>(solver_, param_, ranks, enter, nullptr);
}

INSTANTIATE_CLASS(P2PSync);

}  // namespace caffe
