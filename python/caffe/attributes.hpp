#ifndef CAFFE_PYTHON_ATTRIBUTES_HPP_
#define CAFFE_PYTHON_ATTRIBUTES_HPP_

#include <pybind11/pybind11.h>

namespace caffe::pycaffe {

namespace py = pybind11;

/// What Python's collector asks objects that take attributes for. pybind11 shows it the attributes
/// each time, but from Python 3.11 on a class that is derived in Python shows them by itself: what
/// is counted twice is never collected where it refers to itself, a layer that keeps one of its own
/// methods for example.
inline int VisitAttributes(PyObject* self, visitproc visit, void* arg) {
  const bool is_derived = Py_TYPE(self)->tp_traverse != &VisitAttributes;
  if (PY_VERSION_HEX < 0x030B0000 || !is_derived) {
    return py::detail::pybind11_traverse(self, visit, arg);
  }
  Py_VISIT(Py_TYPE(self));
  return 0;
}

/// py::class_'s argument, together with py::dynamic_attr; classes that are bound as derived from
/// such a class need it, too.
inline py::custom_type_setup CollectsAttributes() {
  return py::custom_type_setup(
      [](PyHeapTypeObject* type) { type->ht_type.tp_traverse = &VisitAttributes; });
}

}  // namespace caffe::pycaffe

#endif  // CAFFE_PYTHON_ATTRIBUTES_HPP_
