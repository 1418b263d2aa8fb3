#ifndef CAFFE_PYTHON_LAYER_HPP_
#define CAFFE_PYTHON_LAYER_HPP_

#include <functional>
#include <string>

#include "caffe/layer.hpp"

namespace caffe {

/// Makes the layer that python_param describes: module, layer (a class in it), param_str.
template <typename Dtype>
using PythonLayerFactory = std::function<shared_ptr<Layer<Dtype>>(const LayerParameter&)>;

/// Says who makes layers of type "Python"; an empty function: none. The Python package does so
/// when it is imported. libcaffe itself knows no Python: a program without the package loads it
/// when it meets the first such layer, through the library that the environment variable
/// CAFFE_PYTHON_PLUGIN names, else through libcaffe_python.so next to libcaffe or where the system
/// looks for libraries.
///
/// Without any, a layer of type "Python" throws Error when it is set up.
template <typename Dtype>
void SetPythonLayerFactory(PythonLayerFactory<Dtype> factory);

/// A sentence on the layer in C++ that does the work of a well-known Python layer (Faster R-CNN's),
/// for messages of where that layer cannot be had; "" for others.
std::string CppTwinOf(const PythonParameter& param);

/// What the plugin has: starts the interpreter if need be and imports the package. `failure` gets
/// the reason where that fails.
typedef void (*PythonPluginStart)(std::string* failure);
constexpr char kPythonPluginStart[] = "CaffeStartPython";

}  // namespace caffe

#endif  // CAFFE_PYTHON_LAYER_HPP_
