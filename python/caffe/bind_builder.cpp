// Python's NetworkDefinition, and how it is built.
#include <pybind11/stl.h>

#include "caffe/inference/hint.hpp"
#include "caffe/inference/passes/passes.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "inference_handles.hpp"

namespace caffe::pycaffe {
namespace {

using inference::Backend;
using inference::BuilderConfig;
using inference::Constant;
using inference::NetworkDefinition;
using inference::ParsePrecision;

DefinitionHandle FromCaffe(const py::object& model, const std::vector<py::object>& weights) {
  std::vector<std::string> files;
  for (const py::object& file : weights) files.push_back(PathOf(file));
  const std::string path = PathOf(model);
  const WithoutGil without_gil;
  return {NetworkDefinition::FromCaffe(path, files)};
}

DefinitionHandle FromMessage(const py::bytes& message, const std::vector<py::object>& weights) {
  std::vector<std::string> files;
  for (const py::object& file : weights) files.push_back(PathOf(file));
  NetParameter net;
  Require(net.ParseFromString(message.cast<std::string>()), "this is not a NetParameter");
  const WithoutGil without_gil;
  UpgradeNetAsNeeded("NetParameter", &net);
  return {NetworkDefinition::FromCaffe(net, files)};
}

void AddLayer(DefinitionHandle& handle, const LayerParameter& layer, const py::list& parameters) {
  std::vector<Constant> constants;
  for (const py::handle parameter : parameters) {
    const FloatArray array(parameter);
    constants.push_back(
        Constant::Of(array.shape, std::vector<float>(array.data(), array.data() + array.count())));
  }
  const WithoutGil without_gil;
  handle.net.AddLayer(layer, constants);
}

py::bytes MessageOfDefinition(const DefinitionHandle& handle) {
  const NetParameter net = inference::ToNetParameter(handle.net.graph());
  Require(net.ByteSizeLong() < (size_t(1) << 31), "the net has ", net.ByteSizeLong(),
          " bytes: messages end at 2 GB");
  return py::bytes(net.SerializeAsString());
}

std::map<std::string, std::string> LayerPrecisions(const DefinitionHandle& handle) {
  std::map<std::string, std::string> names;
  for (const auto& [layer, precision] : handle.net.layer_precisions()) {
    names[layer] = inference::Name(precision);
  }
  return names;
}

/// A field of a configuration, as a T. Throws TypeError with the field, ValueError for a number
/// that is out of range.
template <typename T>
T Field(const py::dict& fields, const char* name) {
  const py::object value = fields[name];
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return WholeNumber<T>(value, Join("BuilderConfig.", name));
  }
  try {
    return value.cast<T>();
  } catch (const py::cast_error&) {
    throw py::type_error(
        Join("BuilderConfig.", name, " cannot be ", py::repr(value).cast<std::string>()));
  }
}

/// A function of a configuration; null for None.
SharedObject FunctionField(const py::dict& fields, const char* name) {
  const py::object value = fields[name];
  if (value.is_none()) return nullptr;
  if (!PyCallable_Check(value.ptr())) {
    throw py::type_error(Join("BuilderConfig.", name, " is a function or None, not ",
                              py::repr(value).cast<std::string>()));
  }
  return Share(value);
}

Backend ParseBackend(const std::string& name) {
  const std::map<std::string, Backend> backends = {
      {"cpu", Backend::CPU}, {"cuda", Backend::CUDA}, {"reference", Backend::REFERENCE}};
  const auto found = backends.find(name);
  Require(found != backends.end(), "there is no backend '", name, "': give cpu, cuda or reference");
  return found->second;
}

void SetCallbacks(const py::dict& fields, BuilderConfig* config) {
  if (const SharedObject f = FunctionField(fields, "accuracy_loss")) {
    config->accuracy_loss = [f](const std::shared_ptr<const inference::Engine>& engine) {
      return CallPython<double>(f, EngineHandle{engine});
    };
  }
  if (const SharedObject f = FunctionField(fields, "pass_observer")) {
    config->pass_observer = [f](const std::string& pass, const inference::Graph& graph) {
      CallPython<void>(f, pass, ToText(graph));
    };
  }
  if (const SharedObject f = FunctionField(fields, "progress")) {
    config->progress = [f](int done, int of, const std::string& layer) {
      CallPython<void>(f, done, of, layer);
    };
  }
  if (const SharedObject f = FunctionField(fields, "remark")) {
    config->remark = [f](const std::string& line) { CallPython<void>(f, line); };
  }
}

CalibrationOptions OptionsOf(const py::dict& fields) {
  CalibrationOptions options;
  options.minimum_images = Field<int64_t>(fields, "minimum_images");
  options.leave_out = Field<std::set<std::string>>(fields, "leave_out");
  options.weight_scales = Field<bool>(fields, "weight_scales");
  if (const SharedObject f = FunctionField(fields, "calibration_progress")) {
    options.progress = [f](int64_t batches, int64_t images) {
      CallPython<void>(f, batches, images);
    };
  }
  return options;
}

BuilderConfig ConfigOf(const py::dict& fields) {
  BuilderConfig config;
  config.precision = ParsePrecision(Field<std::string>(fields, "precision"));
  for (const auto& [layer, name] :
       Field<std::map<std::string, std::string>>(fields, "layer_precisions")) {
    config.layer_precisions[layer] = ParsePrecision(name);
  }
  if (const auto scheme = Field<std::optional<std::string>>(fields, "quantization")) {
    config.quantization.scheme = inference::ParseQuantizationScheme(*scheme);
  }
  if (const auto arithmetic = Field<std::optional<std::string>>(fields, "arithmetic")) {
    config.quantization.arithmetic = inference::ParseArithmetic(*arithmetic);
  }
  if (const auto rounding = Field<std::optional<std::string>>(fields, "rounding")) {
    config.quantization.rounding = inference::ParseRounding(*rounding);
  }
  config.quantization.reduce_range = Field<bool>(fields, "reduce_range");
  config.max_batch = Field<int>(fields, "max_batch");
  config.max_input_shapes =
      ShapesOf(Field<std::map<std::string, py::object>>(fields, "max_input_shapes"),
               "BuilderConfig.max_input_shapes");
  config.preprocessing =
      Field<std::optional<inference::ImagePreprocessing>>(fields, "preprocessing");
  config.class_names = Field<std::vector<std::string>>(fields, "class_names");
  config.profiles = Field<std::vector<inference::ShapeProfile>>(fields, "profiles");
  const py::object calibration = fields["calibration"], calibrator = fields["calibrator"];
  if (!calibration.is_none()) {
    config.calibration =
        std::make_shared<const CalibrationTable>(Field<CalibrationTable>(fields, "calibration"));
  }
  if (!calibrator.is_none()) config.calibrator = MakePythonCalibrator(calibrator);
  config.calibration_options = OptionsOf(fields);
  config.max_accuracy_loss = Field<double>(fields, "max_accuracy_loss");
  config.allowed.clear();
  for (const std::string& name : Field<std::vector<std::string>>(fields, "allowed")) {
    config.allowed.push_back(ParsePrecision(name));
  }
  config.backend = ParseBackend(Field<std::string>(fields, "backend"));
  config.tensor_float = Field<bool>(fields, "tensor_float");
  config.threads = Field<int>(fields, "threads");
  config.timing_iterations = Field<int>(fields, "timing_iterations");
  config.timing_cache =
      Field<std::shared_ptr<inference::TimingCache>>(fields, "timing_cache");  // None: null
  config.max_workspace = Field<size_t>(fields, "max_workspace");
  config.max_memory = Field<size_t>(fields, "max_memory");
  config.skip_passes = Field<std::vector<std::string>>(fields, "skip_passes");
  SetCallbacks(fields, &config);
  return config;
}

EngineHandle Build(const DefinitionHandle& definition, const py::dict& fields) {
  const inference::Builder builder(ConfigOf(fields));
  const WithoutGil without_gil;
  UseProcessMode();
  return {builder.Build(definition.net)};
}

/// A constant as a numpy array.
py::object ArrayOf(const Constant& constant) {
  const std::map<ElementType, const char*> types = {{ElementType::FLOAT, "float32"},
                                                    {ElementType::INT8, "int8"},
                                                    {ElementType::UINT8, "uint8"},
                                                    {ElementType::INT32, "int32"}};
  const auto found = types.find(constant.type);
  CHECK(found != types.end()) << Name(constant.type);
  return NewArray(constant.shape, found->second, constant.data.get());
}

py::list ArraysOf(const std::vector<Constant>& constants) {
  py::list arrays;
  for (const Constant& constant : constants) arrays.append(ArrayOf(constant));
  return arrays;
}

/// Name, type, inputs, outputs, layer (bytes), integers (None: floats), parameters, epilogue (pairs
/// of a layer and its parameters).
py::tuple NodeTuple(const inference::Node& node) {
  py::object integers = py::none();
  if (node.integers) {
    integers = py::make_tuple(inference::Name(node.integers->rounding), node.integers->least,
                              node.integers->most, node.integers->weight_zero_point);
  }
  py::list epilogue;
  for (const inference::Epilogue& step : node.epilogue) {
    epilogue.append(
        py::make_tuple(py::bytes(step.layer.SerializeAsString()), ArraysOf(step.parameters)));
  }
  return py::make_tuple(node.name(), node.type(), node.inputs, node.outputs,
                        py::bytes(node.layer.SerializeAsString()), integers,
                        ArraysOf(node.parameters), epilogue);
}

/// Name, values (name, shape, type, scale, zero point, data of constants), nodes, inputs, outputs.
py::tuple QuantizedGraphTuple(const DefinitionHandle& definition, const py::dict& fields) {
  const BuilderConfig config = ConfigOf(fields);
  const inference::Graph graph = [&] {
    const WithoutGil without_gil;
    UseProcessMode();
    return inference::QuantizedGraph(definition.net, config);
  }();
  py::list values, nodes;
  for (const inference::Value& value : graph.values) {
    const py::object data =
        value.is_constant() ? ArrayOf({value.shape, value.type, value.data}) : py::none();
    values.append(py::make_tuple(value.name, ShapeTuple(value.shape), Name(value.type),
                                 value.affine.scale, value.affine.zero_point, data));
  }
  for (const inference::Node& node : graph.nodes) nodes.append(NodeTuple(node));
  return py::make_tuple(graph.name, values, nodes, graph.inputs, graph.outputs);
}

CalibrationTable CalibrateDefinition(const DefinitionHandle& definition,
                                     const py::object& calibrator, const py::dict& fields) {
  const std::shared_ptr<Calibrator> made = MakePythonCalibrator(calibrator);
  const CalibrationOptions options = OptionsOf(fields);
  const WithoutGil without_gil;
  UseProcessMode();
  Net<float> net(inference::ToNetParameter(definition.net.graph()));
  return Calibrate(&net, made.get(), options);
}

}  // namespace

void BindNetworkDefinition(py::module_& module) {
  py::class_<DefinitionHandle>(module, "NetworkDefinition",
                               "What caffe.inference.NetworkDefinition is made of.")
      .def(py::init(
               [](const std::string& name) { return DefinitionHandle{NetworkDefinition(name)}; }),
           py::arg("name"))
      .def(py::init<const DefinitionHandle&>(), py::arg("same"))
      .def_static("_from_caffe", &FromCaffe, py::arg("model"), py::arg("weights"))
      .def_static("_from_message", &FromMessage, py::arg("message"), py::arg("weights"))
      .def_property_readonly(
          "name", [](const DefinitionHandle& handle) { return handle.net.name(); },
          "The net's name.")
      .def(
          "add_input",
          [](DefinitionHandle& handle, const std::string& name, const py::object& shape) {
            handle.net.AddInput(name, ShapeOf(shape, Join("input '", name, "': an extent")));
          },
          py::arg("name"), py::arg("shape"), "Adds an input. Axis 0 of its shape is the batch.")
      .def("_add_layer", &AddLayer, py::arg("layer"), py::arg("parameters"))
      .def(
          "mark_output",
          [](DefinitionHandle& handle, const std::string& name) { handle.net.MarkOutput(name); },
          py::arg("name"), "Makes a blob an output; others may be optimized away.")
      .def(
          "set_precision",
          [](DefinitionHandle& handle, const std::string& layer, const std::string& precision) {
            handle.net.SetPrecision(layer, ParsePrecision(precision));
          },
          py::arg("layer"), py::arg("precision"),
          "The type in which a layer shall compute, whatever BuilderConfig.precision says: a\n"
          "Precision or its name, 'fp16'.")
      .def(
          "set_range",
          [](DefinitionHandle& handle, const std::string& blob, float minimum, float maximum) {
            handle.net.SetRange(blob, minimum, maximum);
          },
          py::arg("blob"), py::arg("minimum"), py::arg("maximum"),
          "Says that a blob's values lie between these, so that INT8 needs no calibration of it.")
      .def_property_readonly("_layer_precisions", &LayerPrecisions)
      .def_property_readonly(
          "ranges", [](const DefinitionHandle& handle) { return handle.net.ranges(); },
          "What set_range said, as a CalibrationTable.")
      .def("_to_message", &MessageOfDefinition)
      .def(
          "to_text", [](const DefinitionHandle& handle) { return ToText(handle.net.graph()); },
          "A line for each layer: what it computes, from what, and the shape of its top.")
      .def("__repr__", [](const DefinitionHandle& handle) {
        return Join("<caffe network definition '", handle.net.name(), "'>");
      });
}

void BindBuilder(py::module_& module) {
  module.def("_build_engine", &Build, py::arg("net"), py::arg("config"));
  module.def("_quantized_graph", &QuantizedGraphTuple, py::arg("net"), py::arg("config"));
  module.def("_calibrate", &CalibrateDefinition, py::arg("net"), py::arg("calibrator"),
             py::arg("options"));
  module.def(
      "_split_threads",
      [](const std::string& hint, int threads) {
        UseProcessMode();
        const inference::ThreadSplit split =
            inference::SplitThreads(inference::ParseHint(hint), threads);
        return std::make_pair(split.contexts, split.threads);
      },
      py::arg("hint"), py::arg("threads"));
  module.def("_pass_names", [] {
    std::vector<std::pair<std::string, std::string>> passes;
    for (const inference::Pass& pass : inference::Passes()) {
      passes.emplace_back(pass.name, pass.description);
    }
    return passes;
  });
}

}  // namespace caffe::pycaffe
