#ifndef CAFFE_PYTHON_TEXT_HPP_
#define CAFFE_PYTHON_TEXT_HPP_

#include <pybind11/pybind11.h>

#include <limits>
#include <string>

#include "caffe/error.hpp"

// Text and numbers between Python and C++. Included before anything that casts a std::string.
//
// Names in prototxt files, caffemodels, plans and calibration tables are bytes; most are UTF-8.
// Python gets them as it gets file names: bytes that are not UTF-8 become surrogates
// (os.fsdecode), and are the same bytes again when they come back, so that every name that Python
// was told finds what it is the name of. Messages are for reading: they have such bytes as \xff.

namespace pybind11::detail {

/// str with surrogateescape, in place of pybind11's strict UTF-8; bytes are taken as they are.
template <>
class type_caster<std::string> {
 public:
  PYBIND11_TYPE_CASTER(std::string, const_name("str"));

  bool load(handle source, bool /*convert*/) {
    object encoded = reinterpret_borrow<object>(source);
    if (PyUnicode_Check(source.ptr())) {
      encoded = reinterpret_steal<object>(
          PyUnicode_AsEncodedString(source.ptr(), "utf-8", "surrogateescape"));
      if (!encoded) {
        PyErr_Clear();
        return false;
      }
    }
    if (PyByteArray_Check(encoded.ptr())) {
      value.assign(PyByteArray_AsString(encoded.ptr()), PyByteArray_Size(encoded.ptr()));
      return true;
    }
    if (!PyBytes_Check(encoded.ptr())) return false;
    value.assign(PyBytes_AsString(encoded.ptr()), PyBytes_Size(encoded.ptr()));
    return true;
  }

  static handle cast(const std::string& text, return_value_policy, handle) {
    PyObject* decoded = PyUnicode_DecodeUTF8(text.data(), text.size(), "surrogateescape");
    if (!decoded) throw error_already_set();
    return decoded;
  }
};

}  // namespace pybind11::detail

namespace caffe {
namespace pycaffe {

namespace py = pybind11;

/// A message for reading, as a str.
inline py::str Readable(const std::string& message) {
  PyObject* text = PyUnicode_DecodeUTF8(message.data(), message.size(), "backslashreplace");
  if (!text) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(text);
}

/// A whole number as an Integer. Throws TypeError for another object and ValueError for a number
/// that is out of the type's range, both with the name of what it was given for.
template <typename Integer = int>
Integer WholeNumber(const py::handle& object, const std::string& what) {
  const auto repr = [&] { return py::repr(object).cast<std::string>(); };
  if (!PyIndex_Check(object.ptr())) {
    throw py::type_error(Join(what, " is a whole number, not ", repr()));
  }
  const py::object number = py::reinterpret_steal<py::object>(PyNumber_Index(object.ptr()));
  if (!number) throw py::error_already_set();
  py::detail::make_caster<Integer> caster;
  if (!caster.load(number, /*convert=*/false)) {
    throw py::value_error(Join(what, " is a number from ", std::numeric_limits<Integer>::min(),
                               " to ", std::numeric_limits<Integer>::max(), ", not ", repr()));
  }
  return py::detail::cast_op<Integer>(caster);
}

}  // namespace pycaffe
}  // namespace caffe

#endif  // CAFFE_PYTHON_TEXT_HPP_
