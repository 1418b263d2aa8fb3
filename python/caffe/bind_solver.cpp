// Python's solvers: what pycaffe.py builds the classes on that people use.
#include <pybind11/stl.h>

#include <chrono>

#include "caffe/sgd_solvers.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "solver_handle.hpp"

namespace caffe::pycaffe {
namespace {

/// Calls two Python functions around the computation of gradients.
class SolverCallback : public Solver<float>::Callback {
 public:
  SolverCallback(py::function on_start, py::function on_gradients_ready,
                 std::vector<std::weak_ptr<ViewGroup>> views)
      : on_start_(std::move(on_start)),
        on_gradients_ready_(std::move(on_gradients_ready)),
        views_(std::move(views)) {}

 protected:
  void on_start() override { Call(on_start_); }
  void on_gradients_ready() override { Call(on_gradients_ready_); }

 private:
  void Call(const py::function& function) {
    const WithGil with_gil;
    for (const auto& weak : views_) {
      if (const auto views = weak.lock()) views->Pull();
    }
    CallWithGil(function);
    for (const auto& weak : views_) {
      if (const auto views = weak.lock()) views->Push();
    }
  }

  py::function on_start_, on_gradients_ready_;
  std::vector<std::weak_ptr<ViewGroup>> views_;
};

std::shared_ptr<NetHandle> Wrap(const boost::shared_ptr<Net<float>>& net) {
  auto handle = std::make_shared<NetHandle>();
  handle->net = net;
  return handle;
}

/// Asked between iterations: Ctrl-C, and whatever a signal handler written in Python raises, ends
/// the training as an exception. Only now and then, because another thread may keep the GIL for
/// milliseconds.
class CheckSignals {
 public:
  SolverAction::Enum operator()() {
    const Clock::time_point now = Clock::now();
    if (now < next_) return SolverAction::NONE;
    next_ = now + std::chrono::milliseconds(50);
    const WithGil with_gil;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    return SolverAction::NONE;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point next_ = Clock::now();
};

std::shared_ptr<SolverHandle> MakeSolver(const py::object& solver_file, const std::string& type) {
  const std::string file = PathOf(solver_file);
  auto handle = std::make_shared<SolverHandle>();
  {
    const WithoutGil without_gil;
    UseProcessMode();
    SolverParameter param;
    ReadSolverParamsFromTextFileOrDie(file, &param);
    if (!type.empty()) param.set_type(type);
    handle->solver.reset(SolverRegistry<float>::CreateSolver(param, file));
  }
  handle->solver->SetActionFunction(CheckSignals());
  handle->net = Wrap(handle->solver->net());
  for (const auto& net : handle->solver->test_nets()) handle->test_nets.push_back(Wrap(net));
  return handle;
}

void Solve(SolverHandle& handle, const py::object& resume_file) {
  const std::string file = resume_file.is_none() ? "" : PathOf(resume_file);
  handle.Run([&] { handle.solver->Solve(file.empty() ? nullptr : file.c_str()); });
}

void Step(SolverHandle& handle, const py::object& number) {
  const int iterations = WholeNumber(number, "Solver.step: the number of iterations");
  handle.Run([&] { handle.solver->Step(iterations); });
}

void Restore(SolverHandle& handle, const py::object& state_file, bool data_positions) {
  const std::string file = PathOf(state_file);
  handle.Run([&] { handle.solver->Restore(file.c_str(), data_positions); });
}

void ShareWeights(SolverHandle& handle, NetHandle& net) {
  std::vector<NetHandle*> nets = handle.Nets();
  nets.push_back(&net);
  Compute(nets, [&] { net.net->ShareTrainedLayersWith(handle.net->net.get()); });
}

void AddSolverCallback(SolverHandle& handle, const py::function& on_start,
                       const py::function& on_gradients_ready) {
  std::vector<std::weak_ptr<ViewGroup>> views;
  for (NetHandle* net : handle.Nets()) views.push_back(net->views);
  handle.callbacks.push_back(
      std::make_shared<SolverCallback>(on_start, on_gradients_ready, std::move(views)));
  handle.solver->add_callback(handle.callbacks.back().get());
}

float LearningRate(const SolverHandle& handle) {
  auto* sgd = dynamic_cast<SGDSolver<float>*>(handle.solver.get());
  Require(sgd, "a solver of type ", handle.solver->type(), " has no learning rate policy");
  return sgd->GetLearningRate();
}

/// The solver rereads its parameters in each iteration.
SolverParameter& ParamOf(const SolverHandle& handle) {
  return const_cast<SolverParameter&>(handle.solver->param());
}

/// solver.param: the parameters as the solver uses them.
struct ParamHandle {
  std::shared_ptr<SolverHandle> solver;
  SolverParameter& param() const { return ParamOf(*solver); }
};

py::object MessageOfSolver(const ParamHandle& handle) {
  const py::object message = py::module_::import("caffe.proto.caffe_pb2").attr("SolverParameter")();
  message.attr("ParseFromString")(py::bytes(handle.param().SerializeAsString()));
  return message;
}

}  // namespace

void BindSolver(py::module_& module) {
  py::class_<ParamHandle>(module, "SolverParameter",
                          "The parameters of a solver, as it uses them; to_message() gives all.")
      .def_property_readonly(
          "max_iter", [](const ParamHandle& p) { return p.param().max_iter(); },
          "Iterations of solve().")
      .def_property_readonly(
          "display", [](const ParamHandle& p) { return p.param().display(); },
          "Iterations between two log lines; 0: none.")
      .def_property_readonly(
          "layer_wise_reduce", [](const ParamHandle& p) { return p.param().layer_wise_reduce(); },
          "Whether several GPUs exchange gradients while the backward pass runs.")
      .def_property(
          "base_lr", [](const ParamHandle& p) { return p.param().base_lr(); },
          [](const ParamHandle& p, float rate) { p.param().set_base_lr(rate); },
          "What the learning rate policy starts from; may be changed between iterations.")
      .def("to_message", &MessageOfSolver, "A caffe_pb2.SolverParameter.")
      .def("__str__", [](const ParamHandle& p) { return p.param().DebugString(); });

  using Handle = std::shared_ptr<SolverHandle>;
  py::class_<SolverHandle, Handle>(module, "Solver", "What caffe's solvers are made on.")
      .def(py::init(&MakeSolver), py::arg("solver_file"), py::arg("type"))
      .def(py::init([](const Handle& same) { return same; }), py::arg("same"))
      .def("solve", &Solve, py::arg("resume_file") = py::none(),
           "Trains up to max_iter, from a .solverstate file if one is given. Ctrl-C ends it with\n"
           "KeyboardInterrupt between two iterations; what was learned stays.")
      .def("step", &Step, py::arg("iterations"),
           "Does so many iterations; none where the number is negative, as in Caffe.")
      .def("restore", &Restore, py::arg("state_file"), py::arg("data_positions") = true,
           "Takes up where a .solverstate was written: iteration, weights, history and, with\n"
           "data_positions, the positions of data layers and the random generators, so that\n"
           "training goes on bit for bit. Without it, as in Caffe, they stay where they are.")
      .def(
          "snapshot", [](SolverHandle& handle) { handle.Run([&] { handle.solver->Snapshot(); }); },
          "Writes the weights and the state under snapshot_prefix.")
      .def(
          "apply_update",
          [](SolverHandle& handle) { handle.Run([&] { handle.solver->ApplyUpdate(); }); },
          "Changes the weights by the gradients as they stand in net.params.")
      .def("share_weights", &ShareWeights, py::arg("net"),
           "Makes another net use the weights that are being trained.")
      .def("add_callback", &AddSolverCallback, py::arg("on_start"), py::arg("on_gradients_ready"),
           "Calls on_start() before each iteration's forward pass, and on_gradients_ready() when\n"
           "its gradients are there and the weights still to be changed.")
      .def_property_readonly("_net", [](SolverHandle& handle) { return handle.net; })
      .def_property_readonly("_test_nets", [](SolverHandle& handle) { return handle.test_nets; })
      .def_property_readonly(
          "type", [](SolverHandle& handle) { return handle.solver->type(); }, "'SGD', 'Adam', ...")
      .def_property_readonly(
          "iter", [](SolverHandle& handle) { return handle.solver->iter(); },
          "The number of iterations done.")
      .def_property_readonly(
          "param", [](const Handle& handle) { return ParamHandle{handle}; },
          "The solver's parameters.")
      .def_property(
          "lr", &LearningRate,
          [](SolverHandle& handle, float rate) { ParamOf(handle).set_base_lr(rate); },
          "The learning rate of the present iteration. Setting it sets base_lr, from which the\n"
          "policy computes the rate.")
      .def_property(
          "base_lr", [](SolverHandle& handle) { return ParamOf(handle).base_lr(); },
          [](SolverHandle& handle, float rate) { ParamOf(handle).set_base_lr(rate); },
          "What the learning rate policy starts from.");
}

}  // namespace caffe::pycaffe
