#ifndef CAFFE_PYTHON_INFERENCE_HANDLES_HPP_
#define CAFFE_PYTHON_INFERENCE_HANDLES_HPP_

#include <pybind11/pybind11.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "caffe/context.hpp"
#include "caffe/inference/builder.hpp"
#include "handles.hpp"

// What Python's NetworkDefinition, Engine and ExecutionContext hold, and how Python's functions and
// arrays reach the optimizer.

namespace caffe::pycaffe {

/// What Python's NetworkDefinition holds.
struct DefinitionHandle {
  inference::NetworkDefinition net;
};

/// What Python's Engine holds.
struct EngineHandle {
  std::shared_ptr<const inference::Engine> engine;
};

/// What Python's ExecutionContext holds. Python's class has the lock that makes threads take turns.
struct ContextHandle {
  ContextHandle(std::shared_ptr<const inference::Engine> engine, int threads)
      : context(std::move(engine), threads) {}

  inference::ExecutionContext context;
  const int gpu = Context::Current().settings().device;  ///< of an engine that computes on one
  std::atomic<bool> is_busy{false};
};

/// A Python object that C++ code without the GIL may hold and copy.
using SharedObject = std::shared_ptr<py::object>;
SharedObject Share(py::object object);

/// Calls a Python function from a thread that does not have the GIL, and returns its result as a
/// Result. What it raises is thrown and comes out of the call from Python; so is TypeError for a
/// result of another type.
template <typename Result, typename... Arguments>
Result CallPython(const SharedObject& function, Arguments&&... arguments) {
  const WithGil with_gil;
  const py::object result = CallWithGil(*function, std::forward<Arguments>(arguments)...);
  if constexpr (!std::is_void_v<Result>) {
    try {
      return result.template cast<Result>();
    } catch (const py::cast_error&) {
      throw py::type_error(Join(py::repr(*function).template cast<std::string>(), " returned ",
                                py::repr(result).template cast<std::string>(),
                                ", which is not a number"));
    }
  }
}

/// A new array with these values; `type` is numpy's name of theirs.
py::object NewArray(const std::vector<int>& shape, const char* type, const void* values);
py::object NewArray(const std::vector<int>& shape, const float* values);
/// The shape and values of what numpy can make a float32 array of. Throws TypeError for what is no
/// number.
struct FloatArray {
  explicit FloatArray(const py::handle& values);
  std::vector<int> shape;
  const float* data() const { return static_cast<const float*>(buffer_.ptr); }
  size_t count() const { return static_cast<size_t>(buffer_.size); }

 private:
  py::object array_;
  py::buffer_info buffer_;
};

/// A Python object as a calibrator: get_batch(inputs) and, where it has them,
/// read_calibration_cache(), write_calibration_cache(text), `method` and `percent`.
std::shared_ptr<Calibrator> MakePythonCalibrator(const py::object& calibrator);

void BindImagePreprocessing(py::module_& module);
void BindNetworkDefinition(py::module_& module);
void BindCalibration(py::module_& module);
void BindEngine(py::module_& module);
void BindExecutionContext(py::module_& module);
void BindBuilder(py::module_& module);
void BindDrawing(py::module_& module);

}  // namespace caffe::pycaffe

#endif  // CAFFE_PYTHON_INFERENCE_HANDLES_HPP_
