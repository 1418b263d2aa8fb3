// The module caffe._caffe: C++ for Python. caffe/__init__.py and pycaffe.py make it what people
// use.
#include "handles.hpp"

#include <pybind11/stl.h>

namespace caffe {
namespace pycaffe {
namespace {

void BindErrors(py::module_& module) {
  static PyObject* error = PyErr_NewExceptionWithDoc(
      "caffe.Error",
      "What is wrong with a file, a field, a shape or a value; the text says which and what to do.",
      PyExc_RuntimeError, nullptr);
  module.attr("Error") = py::handle(error);
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& caught) {
      PyErr_SetString(error, caught.what());
    }
  });
}

void BindGlobals(py::module_& module) {
  module.attr("TRAIN") = int(TRAIN);
  module.attr("TEST") = int(TEST);
  module.attr("__version__") = CAFFE_VERSION;
  module.def(
      "set_mode_cpu", [] { SetMode(Caffe::CPU); }, "Computes on the CPU, in all threads.");
  module.def(
      "set_mode_gpu", [] { SetMode(Caffe::GPU); },
      "Computes on the GPU, in all threads. In a build without CUDA the first use of a net\n"
      "then raises caffe.Error.");
}

}  // namespace
}  // namespace pycaffe
}  // namespace caffe

PYBIND11_MODULE(_caffe, module) {
  module.doc() = "Caffe's C++ library for Python; use the package caffe.";
  using namespace caffe::pycaffe;
  BindErrors(module);
  BindGlobals(module);
  BindBlob(module);
  BindLayer(module);
  BindPythonLayer(module);
  BindNet(module);
}
