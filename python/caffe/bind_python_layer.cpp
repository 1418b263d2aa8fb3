// Python's Layer: the base of layers that are written in Python.
#include "handles.hpp"

namespace caffe {
namespace pycaffe {

py::object LayerObject(const boost::shared_ptr<Layer<float>>& layer,
                       const std::shared_ptr<ViewGroup>& views) {
  return py::cast(std::make_shared<LayerHandle>(layer, views));
}

void BindPythonLayer(py::module_&) {}

}  // namespace pycaffe
}  // namespace caffe
