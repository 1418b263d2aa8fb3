// The module caffe._caffe: C++ for Python. caffe/__init__.py and pycaffe.py make it the public
// interface.
#include <gflags/gflags.h>
#include <glog/logging.h>
#include <pybind11/stl.h>

#include <mutex>

#include "caffe/gpu_fallback.hpp"
#include "caffe/io/proto_text.hpp"
#include "caffe/limits.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/timer.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "caffe/version.hpp"
#include "handles.hpp"
#include "inference_handles.hpp"

namespace caffe::pycaffe {
namespace {

/// The exception of type `type` for an Error.
py::object ErrorObject(const py::handle& type, const Error& caught) {
  py::object object = type(Readable(caught.what()));
  object.attr("file") = caught.file();
  object.attr("layer") = caught.layer();
  object.attr("field") = caught.field();
  object.attr("remedy") = caught.remedy();
  return object;
}

void BindErrors(py::module_& module) {
  py::dict unsaid;
  for (const char* name : {"file", "layer", "field", "remedy"}) unsaid[name] = "";
  static PyObject* error = PyErr_NewExceptionWithDoc(
      "caffe.Error",
      "What is wrong with a file, a field, a shape or a value; the text says which and what to "
      "do.\n"
      "file, layer, field and remedy have these parts of it, '' for what it does not say.",
      PyExc_RuntimeError, unsaid.ptr());
  module.attr("Error") = py::handle(error);
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& caught) {
      PyErr_SetObject(error, ErrorObject(error, caught).ptr());
    }
  });
}

/// glog may be started once in a process.
void InitLog(const py::object& level, const py::object& to_stderr) {
  if (!level.is_none()) FLAGS_minloglevel = level.cast<int>();
  if (!to_stderr.is_none()) FLAGS_logtostderr = to_stderr.cast<bool>();
  static std::once_flag once;
  std::call_once(once, [] { google::InitGoogleLogging("pycaffe"); });
}

void SetLoggingDisabled(bool disabled) {
  static const int level_at_start = FLAGS_minloglevel;
  FLAGS_minloglevel = disabled ? google::GLOG_FATAL : level_at_start;
}

void BindLogging(py::module_& module) {
  module.def(
      "init_log", &InitLog, py::arg("level") = py::none(), py::arg("to_stderr") = py::none(),
      "Starts the log: from level 0 (information), 1 (warnings), 2 (errors) on, and to stderr\n"
      "or to files in the temporary folder. The level may be changed by calling it again.");
  module.def(
      "log", [](const std::string& text) { LOG(INFO) << text; }, py::arg("text"),
      "Writes a line into Caffe's log.");
  module.def("set_logging_disabled", &SetLoggingDisabled, py::arg("disabled") = true,
             "Stops the log, or lets it go on.");
}

void SetDeviceNumber(const py::object& device) {
  SetDevice(WholeNumber(device, "set_device: the number of a GPU"));
}

void SetDevices(const std::vector<py::object>& devices) {
  Require(!devices.empty(), "set_devices takes the numbers of the GPUs to use, and got none");
  for (const py::object& device : devices) SetDeviceNumber(device);
  Require(devices.size() == 1,
          "one solver trains on one GPU: for several start a process for each, "
          "as python/train.py does with caffe.NCCL, or use caffe train -gpu");
}

void ChangeLimit(const char* name, const py::object& value, Limits* changed) {
  if (value.is_none()) return;
  for (const LimitField& field : LimitFields()) {
    if (field.name != name) continue;
    if (field.number) {
      changed->*field.number = WholeNumber<uint64_t>(value, "set_limits: " + field.name);
    } else {
      changed->*field.flag = value.cast<bool>();
    }
  }
}

/// None leaves a limit as it is.
void SetLimits(bool untrusted, const py::object& blob_bytes, const py::object& net_bytes,
               const py::object& layers, const py::object& axes, const py::object& nesting,
               const py::object& read_bytes, const py::object& record_bytes,
               const py::object& image_pixels, const py::object& python_layers,
               const py::object& layer_files) {
  Limits changed = untrusted ? Limits::Untrusted() : Caffe::limits();
  ChangeLimit("blob_bytes", blob_bytes, &changed);
  ChangeLimit("net_bytes", net_bytes, &changed);
  ChangeLimit("layers", layers, &changed);
  ChangeLimit("axes", axes, &changed);
  ChangeLimit("nesting", nesting, &changed);
  ChangeLimit("read_bytes", read_bytes, &changed);
  ChangeLimit("record_bytes", record_bytes, &changed);
  ChangeLimit("image_pixels", image_pixels, &changed);
  ChangeLimit("python_layers", python_layers, &changed);
  ChangeLimit("layer_files", layer_files, &changed);
  Caffe::set_limits(changed);
}

py::dict GetLimits() {
  const Limits current = Caffe::limits();
  py::dict values;
  for (const LimitField& field : LimitFields()) {
    values[field.name.c_str()] =
        field.number ? py::object(py::int_(current.*field.number)) : py::bool_(current.*field.flag);
  }
  return values;
}

void BindSettings(py::module_& module) {
  module.def(
      "set_mode_cpu", [] { SetMode(Caffe::CPU); }, "Computes on the CPU, in all threads.");
  module.def(
      "set_mode_gpu", [] { SetMode(Caffe::GPU); },
      "Computes on the GPU, in all threads. Where no GPU can be used it raises caffe.Error,\n"
      "unless the CPU is to compute in its place: set_gpu_fallback.");
  module.def("set_gpu_fallback", &set_gpu_fallback, py::arg("fall_back") = true,
             "Lets the CPU compute, after a warning, where a GPU is asked for and none can be\n"
             "used. CAFFE_GPU_FALLBACK=1 in the environment does so, too.");
  module.def("set_ignore_unknown_fields", &set_ignore_unknown_fields, py::arg("ignore") = true,
             "Has fields of prototxt files that this Caffe does not know skipped with a warning;\n"
             "otherwise they raise caffe.Error.");
  module.def(
      "set_limits", &SetLimits, py::arg("untrusted") = false, py::arg("blob_bytes") = py::none(),
      py::arg("net_bytes") = py::none(), py::arg("layers") = py::none(),
      py::arg("axes") = py::none(), py::arg("nesting") = py::none(),
      py::arg("read_bytes") = py::none(), py::arg("record_bytes") = py::none(),
      py::arg("image_pixels") = py::none(), py::arg("python_layers") = py::none(),
      py::arg("layer_files") = py::none(),
      "Changes what nets and files may ask for, in all threads; what asks for more raises\n"
      "caffe.Error. Takes the names that limits() has, as set_limits(blob_bytes=2**30);\n"
      "untrusted=True begins with those for files of strangers, with no Python layers and no\n"
      "files of layers.");
  module.def("limits", &GetLimits,
             "The limits that hold: blob_bytes, net_bytes, layers, axes, nesting, read_bytes,\n"
             "record_bytes, image_pixels, python_layers, layer_files.");
  module.def("set_device", &SetDeviceNumber, py::arg("device"),
             "Chooses the GPU of this number, for all threads.");
  module.def("set_devices", &SetDevices, py::arg("devices"),
             "Chooses the GPUs of these numbers (NVCaffe's function).");
  module.def(
      "threads", &GetThreads,
      "How many threads share a loop. Where neither set_threads nor OMP_NUM_THREADS has said:\n"
      "the processors that the process may use, at most the CPU quota of its cgroup "
      "(container),\n"
      "rounded up.");
  module.def("set_threads", &SetThreads, py::arg("threads"),
             "Shares loops by that many threads, in all threads of Python. Nets and execution\n"
             "contexts are made after it: they may keep the number that held when they were made.\n"
             "Raises caffe.Error for less than 1.");
  module.def(
      "set_random_seed",
      [](const py::object& seed) {
        Caffe::set_random_seed(WholeNumber<unsigned>(seed, "set_random_seed: the seed"));
      },
      py::arg("seed"),
      "Seeds the random numbers of the nets and solvers that this thread makes and runs.");
  module.def("solver_count", &Caffe::solver_count, "The number of solvers that train together.");
  module.def(
      "set_solver_count",
      [](const py::object& count) {
        Caffe::set_solver_count(WholeNumber(count, "set_solver_count: the number of solvers"));
      },
      py::arg("count"), "Says how many solvers train together.");
  module.def("solver_rank", &Caffe::solver_rank, "Which of them this process (or thread) is.");
  module.def(
      "set_solver_rank",
      [](const py::object& rank) {
        Caffe::set_solver_rank(WholeNumber(rank, "set_solver_rank: the rank"));
      },
      py::arg("rank"),
      "Says which of the solvers that train together this one is; 0 logs and snapshots.");
  module.def("set_multiprocess", &Caffe::set_multiprocess, py::arg("multiprocess"),
             "Says whether each solver is a process of its own.");
}

/// A serialized NetParameter of any age in the current format.
py::bytes UpgradedNet(const py::bytes& message) {
  NetParameter net;
  Require(net.ParseFromString(message.cast<std::string>()), "this is not a NetParameter");
  Require(UpgradeNetAsNeeded("NetParameter", &net), "net '", net.name(),
          "' is in an old format, parts of which have no equivalent today; the log lists them");
  return py::bytes(net.SerializeAsString());
}

void BindTimer(py::module_& module) {
  py::class_<Timer>(module, "Timer", "A stopwatch.")
      .def(py::init<>())
      .def("start", &Timer::Start, "Starts it, from zero.")
      .def("stop", &Timer::Stop, "Stops it.")
      .def_property_readonly("ms", &Timer::MilliSeconds,
                             "Milliseconds between start and stop; stops it if it runs.");
}

}  // namespace
}  // namespace caffe::pycaffe

PYBIND11_MODULE(_caffe, module) {
  module.doc() = "Caffe's C++ library for Python; use the package caffe.";
  using namespace caffe::pycaffe;
  module.attr("TRAIN") = int(caffe::TRAIN);
  module.attr("TEST") = int(caffe::TEST);
  module.attr("__version__") = caffe::Version();
  BindErrors(module);
  BindLogging(module);
  BindSettings(module);
  BindTimer(module);
  BindBlob(module);
  BindLayer(module);
  BindPythonLayer(module);
  BindNet(module);
  BindSolver(module);
  BindNccl(module);
  BindCalibration(module);
  BindNetworkDefinition(module);
  BindImagePreprocessing(module);
  BindEngine(module);
  BindExecutionContext(module);
  BindBuilder(module);
  BindDrawing(module);
  module.def("layer_type_list", &caffe::LayerRegistry<float>::LayerTypeList,
             "The types of layers that nets can have.");
  module.def("_upgraded_net", &UpgradedNet, py::arg("message"));
}
