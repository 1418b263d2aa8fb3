// Python's NCCL: one of several processes that train together, each on a GPU of its own.
#include <pybind11/stl.h>

#include "caffe/parallel.hpp"
#include "solver_handle.hpp"
#ifndef CPU_ONLY
#include "caffe/cuda/libraries.hpp"
#endif

namespace caffe::pycaffe {
namespace {

using SolverPointer = std::shared_ptr<SolverHandle>;

/// Why there is no training on several GPUs; empty if there is.
std::string WhyNot() {
#ifdef CPU_ONLY
  return "this libcaffe was built without CUDA and NCCL, which training on several GPUs needs";
#else
  return cuda::WhyNoNccl();
#endif
}

[[noreturn]] void Refuse() { Fail("caffe.NCCL cannot be used: ", WhyNot()); }

/// What Python's NCCL holds. The solver keeps the C++ object, which it calls in each iteration.
struct NcclHandle {
  SolverPointer solver;
#ifdef USE_NCCL
  std::shared_ptr<NCCL<float>> nccl;
#endif
};

#ifdef USE_NCCL

NcclHandle MakeNccl(const SolverPointer& solver, const py::bytes& uid) {
  if (!WhyNot().empty()) Refuse();
  const std::string name = uid;
  NcclHandle handle;
  handle.solver = solver;
  solver->Run([&] { handle.nccl = std::make_shared<NCCL<float>>(solver->solver, name); });
  solver->callbacks.push_back(handle.nccl);
  return handle;
}

py::bytes NewUid() {
  if (!WhyNot().empty()) Refuse();
  return py::bytes(NCCL<float>::new_uid());
}

void Broadcast(const NcclHandle& handle) {
  handle.solver->Run([&] { handle.nccl->Broadcast(); });
}

#else

NcclHandle MakeNccl(const SolverPointer&, const py::bytes&) { Refuse(); }
py::bytes NewUid() { Refuse(); }
void Broadcast(const NcclHandle&) { Refuse(); }

#endif

// Scripts written for Caffe add the object by hand; it takes part from the beginning.
void CheckSolver(const SolverHandle& solver, const NcclHandle& nccl) {
  Require(nccl.solver.get() == &solver, "this NCCL was made for another solver");
}
void CheckNet(const NetHandle& net, const NcclHandle& nccl) {
  Require(nccl.solver->net->net == net.net, "this NCCL was made for the solver of another net");
}

/// A class of the module, to give it further functions.
template <typename Class>
Class Reopen(const py::module_& module, const char* name) {
  return py::reinterpret_borrow<Class>(module.attr(name));
}

}  // namespace

void BindNccl(py::module_& module) {
  module.def(
      "has_nccl", [] { return WhyNot().empty(); },
      "Whether caffe.NCCL can be used: this build knows NCCL, its library is here, and NVIDIA's\n"
      "driver. Processes may be forked afterwards.");
  py::class_<NcclHandle>(
      module, "NCCL",
      "Trains the net of a solver together with those of other processes, each on a GPU of its "
      "own:\n"
      "gradients become their means over all of them.\n\n"
      "NCCL(solver, uid) is made in each process after set_mode_gpu, set_device, set_solver_count\n"
      "and set_solver_rank; uid is what new_uid() gave one of them. It returns when all have "
      "come;\n"
      "from then on the solver trains with the others. Raises caffe.Error where has_nccl() is "
      "False.")
      .def(py::init(&MakeNccl), py::arg("solver").none(false), py::arg("uid"))
      .def_static("new_uid", &NewUid, "A name, bytes, for processes that come together.")
      .def("bcast", &Broadcast,
           "Makes the parameters and states of all solvers those of rank 0; all call it.");
  Reopen<py::class_<SolverHandle, SolverPointer>>(module, "Solver")
      .def("add_callback", &CheckSolver, py::arg("nccl"),
           "Does nothing more: a solver trains with the others since its NCCL was made.");
  Reopen<py::class_<NetHandle, std::shared_ptr<NetHandle>>>(module, "Net")
      .def("after_backward", &CheckNet, py::arg("nccl"),
           "Does nothing more: gradients are exchanged while the backward pass goes on.");
}

}  // namespace caffe::pycaffe
