// Python's LayerParameter, Layer and BlobVec, and create_layer.
#include <pybind11/stl.h>

#include "attributes.hpp"
#include "caffe/io/proto_text.hpp"
#include "handles.hpp"
#include "layer_blobs.hpp"
#include "python_layer.hpp"

namespace caffe::pycaffe {
namespace {

/// Text, a message of caffe_pb2, or another LayerParameter.
LayerParameter ToLayerParameter(const py::object& from) {
  LayerParameter param;
  if (py::isinstance<LayerParameter>(from)) return from.cast<LayerParameter>();
  if (py::isinstance<py::str>(from)) {
    ParseProtoText(from.cast<std::string>(), "layer parameter", &param);
    return param;
  }
  if (py::hasattr(from, "SerializeToString")) {
    const std::string name =
        py::getattr(py::getattr(from, "DESCRIPTOR"), "full_name").cast<std::string>();
    if (name == "caffe.LayerParameter" &&
        param.ParseFromString(from.attr("SerializeToString")().cast<std::string>())) {
      return param;
    }
  }
  throw py::type_error(
      "a layer is described by text, a caffe_pb2.LayerParameter or a "
      "LayerParameter, not by " +
      py::repr(py::type::of(from)).cast<std::string>());
}

py::object MessageOfLayer(const LayerParameter& param) {
  const py::object message = py::module_::import("caffe.proto.caffe_pb2").attr("LayerParameter")();
  message.attr("ParseFromString")(py::bytes(param.SerializeAsString()));
  return message;
}

py::object CreateLayer(const py::object& description) {
  const LayerParameter param = ToLayerParameter(description);
  return LayerObject(LayerRegistry<float>::CreateLayer(param), std::make_shared<ViewGroup>());
}

using Blobs = std::vector<std::shared_ptr<BlobRef>>;

template <typename Dtype>
std::vector<Blob<Dtype>*> BlobsOf(const Blobs& refs) {
  std::vector<Blob<Dtype>*> blobs;
  for (const std::shared_ptr<BlobRef>& ref : refs) {
    const auto* typed = dynamic_cast<const BlobRefOf<Dtype>*>(ref.get());
    if (!typed) throw py::type_error("the layer and its blobs are of different types");
    blobs.push_back(&typed->blob());
  }
  return blobs;
}

/// Calls f(layer, bottoms, tops) on a layer alone, with what Python wrote and for Python to read.
template <typename Function>
void RunLayer(LayerHandle& handle, const Blobs& bottom, const Blobs& top, Function&& f) {
  std::vector<ViewGroup*> groups = {handle.views().get()};
  for (const Blobs* blobs : {&bottom, &top}) {
    for (const std::shared_ptr<BlobRef>& blob : *blobs) groups.push_back(blob->group().get());
  }
  for (ViewGroup* group : groups) group->Push();
  handle.Visit([&](auto& layer) {
    using Dtype = DtypeOf<std::decay_t<decltype(layer)>>;
    const auto bottoms = BlobsOf<Dtype>(bottom), tops = BlobsOf<Dtype>(top);
    const WithoutGil without_gil;
    UseProcessMode();
    f(layer, bottoms, tops);
  });
  for (ViewGroup* group : groups) group->Pull();
}

void SetUp(LayerHandle& handle, const Blobs& bottom, const Blobs& top) {
  RunLayer(handle, bottom, top,
           [](auto& layer, auto& bottoms, auto& tops) { layer.SetUp(bottoms, tops); });
}

void Reshape(LayerHandle& handle, const Blobs& bottom, const Blobs& top) {
  RunLayer(handle, bottom, top,
           [](auto& layer, auto& bottoms, auto& tops) { layer.Reshape(bottoms, tops); });
}

double Forward(LayerHandle& handle, const Blobs& bottom, const Blobs& top) {
  double loss = 0;
  RunLayer(handle, bottom, top,
           [&](auto& layer, auto& bottoms, auto& tops) { loss = layer.Forward(bottoms, tops); });
  return loss;
}

void Backward(LayerHandle& handle, const Blobs& top, const std::vector<bool>& propagate_down,
              const Blobs& bottom) {
  Require(propagate_down.size() == bottom.size(), "propagate_down has ", propagate_down.size(),
          " value(s) for ", bottom.size(), " bottom blob(s)");
  RunLayer(handle, bottom, top, [&](auto& layer, auto& bottoms, auto& tops) {
    layer.Backward(tops, propagate_down, bottoms);
  });
}

}  // namespace

void BindLayer(py::module_& module) {
  py::class_<LayerParameter>(module, "LayerParameter",
                             "What describes a layer: the message of prototxt files, read only.\n\n"
                             "Made from text (``'name: \"a\" type: \"ReLU\"'``) or a\n"
                             "caffe_pb2.LayerParameter; ``to_message()`` gives the latter back.")
      .def(py::init(&ToLayerParameter), py::arg("description") = py::str(""))
      .def_property_readonly(
          "name", [](const LayerParameter& param) { return param.name(); }, "The layer's name.")
      .def_property_readonly(
          "type", [](const LayerParameter& param) { return param.type(); }, "The layer's type.")
      .def("to_message", &MessageOfLayer, "The same as a caffe_pb2.LayerParameter.")
      .def("__str__", [](const LayerParameter& param) { return param.DebugString(); });

  py::class_<LayerBlobs>(
      module, "BlobVec",
      "The learned blobs of a layer, a sequence. BlobVec() is an empty one that\n"
      "belongs to no layer.")
      .def(py::init<>())
      .def("__len__", &LayerBlobs::size)
      .def("__getitem__", &LayerBlobs::At, py::arg("index"))
      .def("__getitem__", &LayerBlobs::Slice, py::arg("slice"))
      .def("__iter__", [](const LayerBlobs& blobs) { return py::iter(blobs.List()); })
      .def("__repr__", [](const LayerBlobs& blobs) { return py::repr(blobs.List()); })
      .def("add_blob", &LayerBlobs::Add,
           "add_blob(*shape): appends a blob of zeros; for the setup of a Python layer.")
      .def("append", &LayerBlobs::Append, py::arg("blob"),
           "Appends a blob, which is then shared with its other owners.");

  py::class_<LayerHandle, std::shared_ptr<LayerHandle>>(
      module, "Layer", py::dynamic_attr(), CollectsAttributes(),
      "A layer of any type: one of a net, or one that create_layer made and that is run by hand\n"
      "with SetUp, Forward and Backward on blobs of the caller's; and the base of layers written\n"
      "in Python, which a prototxt file names:\n\n"
      "    layer { type: \"Python\" ... python_param { module: \"m\" layer: \"L\" param_str: "
      "\"..\" } }\n"
      "\n"
      "A subclass L in module m has setup(bottom, top), which may be missing, reshape(bottom, "
      "top),\n"
      "forward(bottom, top) and backward(top, propagate_down, bottom). bottom and top are lists "
      "of\n"
      "Blobs; self.param_str is the text of the file, self.phase caffe.TRAIN or caffe.TEST,\n"
      "self.blobs what the layer learns (self.blobs.add_blob(3, 4) in setup adds one).")
      .def(py::init(&MakePythonLayerHandle), py::arg("param"))
      .def_property_readonly(
          "type",
          [](const LayerHandle& handle) {
            return handle.Visit([](auto& layer) { return std::string(layer.type()); });
          },
          "The layer's type, as in a prototxt file.")
      .def_property_readonly(
          "blobs", [](const std::shared_ptr<LayerHandle>& handle) { return LayerBlobs(handle); },
          "What the layer learns: its weights, bias, ...")
      .def_property_readonly(
          "layer_param",
          [](const LayerHandle& handle) {
            return handle.Visit([](auto& layer) { return layer.layer_param(); });
          },
          "The LayerParameter that the layer was made from.")
      .def("SetUp", &SetUp, py::arg("bottom"), py::arg("top"),
           "Makes the layer ready for these lists of blobs and shapes the tops. Before the first\n"
           "Forward.")
      .def("Reshape", &Reshape, py::arg("bottom"), py::arg("top"),
           "Shapes the tops for the bottoms as they are now.")
      .def("Forward", &Forward, py::arg("bottom"), py::arg("top"),
           "Computes the tops; returns the weighted sum of those that are losses.")
      .def("Backward", &Backward, py::arg("top"), py::arg("propagate_down"), py::arg("bottom"),
           "Computes the gradients of the parameters (added to their diffs) and of those bottoms\n"
           "for which the list propagate_down says True.")
      .def("setup", &SetUp, py::arg("bottom"), py::arg("top"), "As SetUp.")
      .def("reshape", &Reshape, py::arg("bottom"), py::arg("top"), "As Reshape.")
      .def("__repr__", [](const LayerHandle& handle) {
        return handle.Visit([](auto& layer) {
          return Join("<caffe layer '", layer.layer_param().name(), "' of type ", layer.type(),
                      ">");
        });
      });

  module.def("create_layer", &CreateLayer, py::arg("description"),
             "A layer from its description: text, a caffe_pb2.LayerParameter or a LayerParameter.");
}

}  // namespace caffe::pycaffe
