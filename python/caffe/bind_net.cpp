// Python's Net: what pycaffe.py builds the class on that people use.
#include <pybind11/stl.h>

#include "caffe/layers/memory_data_layer.hpp"
#include "handles.hpp"
#include "layer_blobs.hpp"

namespace caffe::pycaffe {
namespace {

std::shared_ptr<NetHandle> MakeNet(const py::object& network_file, int phase, int level,
                                   const std::vector<std::string>& stages,
                                   const py::object& weights) {
  Require(phase == TRAIN || phase == TEST, "the phase of a net is caffe.TRAIN or caffe.TEST, not ",
          phase);
  const std::string model = PathOf(network_file);
  const std::string trained = weights.is_none() ? "" : PathOf(weights);
  auto handle = std::make_shared<NetHandle>();
  const WithoutGil without_gil;
  UseProcessMode();
  handle->net.reset(new Net<float>(model, static_cast<Phase>(phase), level, &stages));
  if (!trained.empty()) handle->net->CopyTrainedLayersFrom(trained);
  return handle;
}

float ForwardLayers(NetHandle& net, int start, int end) {
  return Compute({&net}, [&] { return net.net->ForwardFromTo(start, end); });
}

void BackwardLayers(NetHandle& net, int start, int end) {
  Compute({&net}, [&] { net.net->BackwardFromTo(start, end); });
}

void CopyFrom(NetHandle& net, const py::object& file) {
  const std::string path = PathOf(file);
  Compute({&net}, [&] { net.net->CopyTrainedLayersFrom(path); });
}

void LoadHdf5(NetHandle& net, const py::object& file) {
  const std::string path = PathOf(file);
  Compute({&net}, [&] { net.net->CopyTrainedLayersFromHDF5(path); });
}

void Save(NetHandle& net, const py::object& file, bool write_diff, bool raw) {
  const std::string path = PathOf(file);
  Compute({&net}, [&] { net.net->ToBinaryProto(path, write_diff, raw); });
}

void SaveHdf5(NetHandle& net, const py::object& file, bool write_diff) {
  const std::string path = PathOf(file);
  Compute({&net}, [&] { net.net->ToHDF5(path, write_diff); });
}

void ShareWith(NetHandle& net, NetHandle& other) {
  Compute({&net, &other}, [&] { net.net->ShareTrainedLayersWith(other.net.get()); });
}

std::vector<std::shared_ptr<BlobRef>> BlobsOfNet(NetHandle& net) {
  std::vector<std::shared_ptr<BlobRef>> blobs;
  for (const auto& blob : net.net->blobs()) blobs.push_back(ShareBlob(blob, net.views));
  return blobs;
}

// Blobs between inputs and outputs need not stay in memory if only those are asked for.
std::shared_ptr<BlobRef> BlobCalled(NetHandle& net, const std::string& name) {
  Require(net.net->has_blob(name), "the net has no blob '", name, "'");
  return ShareBlob(net.net->blob_by_name(name), net.views);
}

py::list LayersOf(NetHandle& net) {
  py::list layers;
  for (const auto& layer : net.net->layers()) layers.append(LayerObject(layer, net.views));
  return layers;
}

template <typename Where>
void AddCallback(NetHandle& net, const py::function& function, Where&& where) {
  net.callbacks.push_back(std::make_unique<NetCallback>(function, net.views));
  where(*net.net, net.callbacks.back().get());
}

/// The memory of a float32 array whose rows follow one another, and the number of its rows.
struct InputArray {
  float* data;
  int rows;
};

InputArray CheckInput(const py::object& array, const char* what, int channels, int height,
                      int width) {
  const py::buffer_info info = py::reinterpret_borrow<py::buffer>(array).request(true);
  Require(info.format == py::format_descriptor<float>::format(), what,
          " has to be an array of float32, not of '", info.format, "' (array.astype('float32'))");
  py::ssize_t stride = sizeof(float);
  for (py::ssize_t axis = info.ndim - 1; axis >= 0; stride *= info.shape[axis], --axis) {
    Require(info.strides[axis] == stride || info.shape[axis] == 1, what,
            " has to be C contiguous (numpy.ascontiguousarray)");
  }
  const py::ssize_t row = static_cast<py::ssize_t>(channels) * height * width;
  Require(info.ndim >= 1 && info.size == info.shape[0] * row, what, " has ",
          info.ndim ? info.size / std::max<py::ssize_t>(1, info.shape[0]) : 0,
          " values a row where the layer has ", channels, " x ", height, " x ", width);
  return {static_cast<float*>(info.ptr), static_cast<int>(info.shape[0])};
}

void SetInputArrays(NetHandle& net, const py::object& data, const py::object& labels) {
  auto layer = boost::dynamic_pointer_cast<MemoryDataLayer<float>>(net.net->layers().at(0));
  Require(layer != nullptr, "set_input_arrays is for nets whose first layer is a MemoryData layer");
  const InputArray values =
      CheckInput(data, "data", layer->channels(), layer->height(), layer->width());
  const InputArray classes = CheckInput(labels, "labels", 1, 1, 1);
  Require(values.rows == classes.rows, "there are ", values.rows, " rows of data and ",
          classes.rows, " labels");
  Require(values.rows % layer->batch_size() == 0, "the ", values.rows,
          " rows of data are no multiple of the batch size ", layer->batch_size());
  layer->Reset(values.data, classes.data, values.rows);
  net.views->KeepInputs(py::make_tuple(data, labels));
}

}  // namespace

void BindNet(py::module_& module) {
  using Handle = std::shared_ptr<NetHandle>;
  py::class_<NetHandle, Handle>(module, "Net", "What caffe.Net is made on.")
      .def(py::init(&MakeNet), py::arg("network_file"), py::arg("phase"), py::arg("level") = 0,
           py::arg("stages") = std::vector<std::string>(), py::arg("weights") = py::none())
      .def(py::init([](const Handle& same) { return same; }), py::arg("same"))
      .def("_forward", &ForwardLayers, py::arg("start"), py::arg("end"),
           "Runs the layers start to end, both included; returns their loss.")
      .def("_backward", &BackwardLayers, py::arg("start"), py::arg("end"),
           "Runs the layers start down to end backwards, both included.")
      .def(
          "reshape", [](NetHandle& net) { Compute({&net}, [&] { net.net->Reshape(); }); },
          "Carries the shapes of the input blobs to all others.")
      .def(
          "clear_param_diffs",
          [](NetHandle& net) { Compute({&net}, [&] { net.net->ClearParamDiffs(); }); },
          "Sets the gradients of all parameters to zero; backward adds to them.")
      .def("copy_from", &CopyFrom, py::arg("weights_file"),
           "Loads the weights of the layers of the same names from a .caffemodel or HDF5 file.")
      .def("share_with", &ShareWith, py::arg("other"),
           "Uses the weights of another net's layers of the same names instead of its own.")
      .def("save", &Save, py::arg("file"), py::arg("write_diff") = false, py::arg("raw") = false,
           "Writes the weights to a .caffemodel, with their gradients if asked for: as float32, "
           "which\nevery Caffe reads, or, with raw=True, as they are stored (FLOAT16 in half the "
           "size), which\nNVCaffe reads too.")
      .def("save_hdf5", &SaveHdf5, py::arg("file"), py::arg("write_diff") = false,
           "Writes the weights to an HDF5 file.")
      .def("load_hdf5", &LoadHdf5, py::arg("file"), "Loads weights that save_hdf5 wrote.")
      .def("_set_input_arrays", &SetInputArrays, py::arg("data"), py::arg("labels"))
      .def_property(
          "name", [](NetHandle& net) { return net.net->name(); },
          [](NetHandle& net, const std::string& name) { net.net->set_name(name); },
          "The net's name: its prototxt file's, or the one set since. Saved files have it.")
      .def_property_readonly(
          "phase", [](NetHandle& net) { return int(net.net->phase()); },
          "caffe.TRAIN or caffe.TEST.")
      .def_property_readonly("_blobs", &BlobsOfNet)
      .def("_blob_called", &BlobCalled, py::arg("name"), "The blob of that name.")
      .def_property_readonly("_blob_names", [](NetHandle& net) { return net.net->blob_names(); })
      .def_property_readonly("_layer_names", [](NetHandle& net) { return net.net->layer_names(); })
      .def_property_readonly("_layers", &LayersOf)
      .def_property_readonly("_inputs",
                             [](NetHandle& net) { return net.net->input_blob_indices(); })
      .def_property_readonly("_outputs",
                             [](NetHandle& net) { return net.net->output_blob_indices(); })
      .def_property_readonly("_blob_loss_weights",
                             [](NetHandle& net) { return net.net->blob_loss_weights(); })
      .def(
          "_top_ids", [](NetHandle& net, int layer) { return net.net->top_ids(layer); },
          py::arg("layer"))
      .def(
          "_bottom_ids", [](NetHandle& net, int layer) { return net.net->bottom_ids(layer); },
          py::arg("layer"))
      .def(
          "before_forward",
          [](NetHandle& net, const py::function& function) {
            AddCallback(net, function, [](auto& n, auto* c) { n.add_before_forward(c); });
          },
          py::arg("function"), "Calls function(layer index) before each layer runs forward.")
      .def(
          "after_forward",
          [](NetHandle& net, const py::function& function) {
            AddCallback(net, function, [](auto& n, auto* c) { n.add_after_forward(c); });
          },
          py::arg("function"), "Calls function(layer index) after each layer has run forward.")
      .def(
          "before_backward",
          [](NetHandle& net, const py::function& function) {
            AddCallback(net, function, [](auto& n, auto* c) { n.add_before_backward(c); });
          },
          py::arg("function"), "Calls function(layer index) before each layer runs backward.")
      .def(
          "after_backward",
          [](NetHandle& net, const py::function& function) {
            AddCallback(net, function, [](auto& n, auto* c) { n.add_after_backward(c); });
          },
          py::arg("function"), "Calls function(layer index) after each layer has run backward.");
}

}  // namespace caffe::pycaffe
