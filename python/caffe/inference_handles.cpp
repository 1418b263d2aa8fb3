// Python's objects and arrays for the optimizer.
#include "inference_handles.hpp"

#include <cstring>

namespace caffe::pycaffe {

SharedObject Share(py::object object) {
  return SharedObject(new py::object(std::move(object)), [](py::object* last) {
    if (!Py_IsInitialized()) return;  // the object is gone already
    const WithGil with_gil;
    delete last;
  });
}

py::object NewArray(const std::vector<int>& shape, const char* type, const void* values) {
  const py::object array = py::module_::import("numpy").attr("empty")(ShapeTuple(shape), type);
  const py::buffer_info buffer = py::buffer(array).request(/*writable=*/true);
  if (buffer.size > 0) std::memcpy(buffer.ptr, values, buffer.size * buffer.itemsize);
  return array;
}

py::object NewArray(const std::vector<int>& shape, const float* values) {
  return NewArray(shape, "float32", values);
}

FloatArray::FloatArray(const py::handle& values) {
  const py::module_ numpy = py::module_::import("numpy");
  const py::object given = numpy.attr("asarray")(values);
  const std::string kind = given.attr("dtype").attr("kind").cast<std::string>();
  if (kind.find_first_of("fiub") == std::string::npos) {
    throw py::type_error("float32 values, or numbers that convert to it, are wanted, not " +
                         py::str(given.attr("dtype")).cast<std::string>());
  }
  array_ = numpy.attr("require")(given, "float32", "C");
  buffer_ = py::buffer(array_).request();
  shape.assign(buffer_.shape.begin(), buffer_.shape.end());
}

}  // namespace caffe::pycaffe
