// libcaffe_python.so: Python for programs that are not Python. libcaffe loads it when it meets the
// first layer of type "Python"; it starts an interpreter and imports the package, which registers
// the maker of such layers.
#include <dlfcn.h>
#include <pybind11/embed.h>

#include <cstdlib>
#include <string>

#include "caffe/error.hpp"

namespace {

namespace py = pybind11;

/// The folder of this library.
std::string OwnFolder() {
  static const char here = 0;
  Dl_info info = {};
  if (!dladdr(&here, &info) || !info.dli_fname) return ".";
  const std::string file = info.dli_fname;
  const size_t slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, slash);
}

void Check(const PyStatus& status) {
  if (PyStatus_Exception(status)) {
    caffe::Fail("Python does not start: ", status.err_msg ? status.err_msg : "unknown reason");
  }
}

/// As the interpreter that the package was built for starts, in the active virtual environment if
/// there is one: its packages are those that the layers were written with. Signals stay the
/// program's.
void StartInterpreter() {
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.install_signal_handlers = 0;
  config.parse_argv = 0;
  const char* environment = std::getenv("VIRTUAL_ENV");
  const std::string executable =
      environment ? std::string(environment) + "/bin/python3" : CAFFE_PYTHON_EXECUTABLE;
  Check(PyConfig_SetBytesString(&config, &config.program_name, executable.c_str()));
  const PyStatus status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  Check(status);
}

/// Where the package may be, after PYTHONPATH's and the interpreter's own folders: next to an
/// installed library, or in the source tree.
void AddPackageFolders() {
  py::list path = py::module_::import("sys").attr("path");
  path.append(OwnFolder() + "/../python");
  path.append(OwnFolder() + "/../../python");
}

/// The visible part of Python's shutdown: functions of atexit, and buffered output.
void FlushAtExit() {
  if (!Py_IsInitialized()) return;
  const py::gil_scoped_acquire with_gil;
  try {
    py::module_::import("atexit").attr("_run_exitfuncs")();
    py::module_::import("sys").attr("stdout").attr("flush")();
    py::module_::import("sys").attr("stderr").attr("flush")();
  } catch (const std::exception&) {
    // There is nowhere left to report it.
  }
}

void Import() {
  const py::gil_scoped_acquire with_gil;
  AddPackageFolders();
  py::module_::import("caffe._caffe").attr("_set_embedded")();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void CaffeStartPython(std::string* failure) {
  try {
    if (!Py_IsInitialized()) {
      StartInterpreter();
      std::atexit(&FlushAtExit);
      PyEval_SaveThread();  // whoever needs the GIL takes it
    }
    Import();
  } catch (const std::exception& error) {
    *failure = error.what();
  }
}
