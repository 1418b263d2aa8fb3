#ifndef CAFFE_PYTHON_GIL_HPP_
#define CAFFE_PYTHON_GIL_HPP_

#include <cxxabi.h>
#include <pybind11/pybind11.h>
#include <unistd.h>

#include <optional>
#include <utility>

// The GIL of threads that compute. While the interpreter ends, daemon threads may still do so.
// Before 3.14 Python ends a thread that then asks for the GIL by pthread_exit, which unwinds the
// stack, as an exception does: through destructors, which end the program, and through handles,
// which count references without the GIL. Such a thread sleeps here until the process is gone, as
// Python 3.14 has it.

namespace caffe::pycaffe {

namespace py = pybind11;

/// Returns f(), which may wait for the GIL.
template <typename Function>
auto OrSleepAtExit(Function&& f) -> decltype(f()) {
#ifdef __GLIBCXX__
  try {
    return f();
  } catch (abi::__forced_unwind&) {
    while (true) pause();
  }
#else
  return f();
#endif
}

/// While it lives, other Python threads run.
class WithoutGil {
 public:
  WithoutGil() : thread_(PyEval_SaveThread()) {}
  ~WithoutGil() {
    OrSleepAtExit([this] { PyEval_RestoreThread(thread_); });
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* const thread_;
};

/// While it lives, this thread has the GIL.
class WithGil {
 public:
  WithGil() {
    OrSleepAtExit([this] { held_.emplace(); });
  }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  std::optional<py::gil_scoped_acquire> held_;
};

/// function(arguments...), for this thread that has the GIL. Python takes turns in there, too.
template <typename... Arguments>
py::object CallWithGil(const py::object& function, Arguments&&... arguments) {
  const py::tuple given = py::make_tuple(std::forward<Arguments>(arguments)...);
  PyObject* const result =
      OrSleepAtExit([&] { return PyObject_CallObject(function.ptr(), given.ptr()); });
  if (!result) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

}  // namespace caffe::pycaffe

#endif  // CAFFE_PYTHON_GIL_HPP_
