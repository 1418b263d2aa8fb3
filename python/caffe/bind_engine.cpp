// Python's Engine, ExecutionContext and TimingCache.
#include <pybind11/stl.h>

#include <algorithm>
#include <map>
#include <optional>

#include "caffe/context.hpp"
#include "caffe/cuda/borrowed_stream.hpp"
#include "caffe/inference/engine.hpp"
#include "caffe/inference/results.hpp"
#include "inference_handles.hpp"

namespace caffe::pycaffe {
namespace {

using inference::Engine;
using inference::ExecutionContext;
using inference::ImageSource;
using inference::LayerInfo;
using inference::ShapeProfile;
using inference::TimingCache;

EngineHandle LoadEngine(const py::object& file) {
  const std::string path = PathOf(file);
  const WithoutGil without_gil;
  return {Engine::Load(path)};
}

void SaveEngine(const EngineHandle& handle, const py::object& file) {
  const std::string path = PathOf(file);
  const WithoutGil without_gil;
  handle.engine->Save(path);
}

/// Names and shapes, at the largest batch.
py::dict Bindings(const inference::Graph& graph, const std::vector<int>& values) {
  py::dict shapes;
  for (const int value : values) {
    shapes[py::cast(graph.values[value].name)] = ShapeTuple(graph.values[value].shape);
  }
  return shapes;
}

std::string DescribeEngine(const EngineHandle& handle) {
  return Join("<caffe engine '", handle.engine->name(), "' for batches up to ",
              handle.engine->max_batch(), ">");
}

void BindLayerInfo(py::module_& module) {
  py::class_<LayerInfo>(module, "LayerInfo", "What is known of a layer of an engine.")
      .def_readonly("name", &LayerInfo::name, "The layer's name.")
      .def_readonly("type", &LayerInfo::type, "Its type, as in a prototxt file.")
      .def_readonly("implementation", &LayerInfo::implementation,
                    "What computes it: 'layer' is the layer itself.")
      .def_property_readonly(
          "precision", [](const LayerInfo& info) { return Name(info.type_of_math); },
          "In which type it computes: 'FLOAT', 'FLOAT16', 'BFLOAT16' or 'INT8'.")
      .def_property_readonly(
          "tops",
          [](const LayerInfo& info) {
            py::list tops;
            for (const std::vector<int>& shape : info.tops) tops.append(ShapeTuple(shape));
            return tops;
          },
          "The shapes of what it makes, at the largest batch.")
      .def_readonly("weight_bytes", &LayerInfo::weight_bytes, "Memory of its parameters, in bytes.")
      .def_readonly("activation_bytes", &LayerInfo::activation_bytes,
                    "Memory of what it makes, at the largest batch, in bytes.")
      .def_readonly("microseconds", &LayerInfo::microseconds,
                    "What it took when the engine was built; 0 if it was not timed.")
      .def_readonly("fused", &LayerInfo::also, "The names of the layers that were fused into it.")
      .def_readonly("joined", &LayerInfo::joined,
                    "Of those, the layers with weights that are computed together with it.")
      .def("__repr__", [](const LayerInfo& info) {
        return Join("<", info.type, " layer '", info.name, "': ", info.implementation, ", ",
                    Name(info.type_of_math), ">");
      });
}

/// Shapes by name, as tuples.
py::dict ShapeDict(const std::map<std::string, std::vector<int>>& shapes) {
  py::dict dict;
  for (const auto& [name, shape] : shapes) dict[py::cast(name)] = ShapeTuple(shape);
  return dict;
}

void BindShapeProfile(py::module_& module) {
  using Shapes = std::map<std::string, std::vector<int>>;
  py::class_<ShapeProfile>(
      module, "ShapeProfile",
      "A range of input shapes, by the inputs' names: every extent lies between those of `min` "
      "and\n"
      "`max`; layers are timed at `opt`, and memory is planned for `max`.\n\n"
      "    ShapeProfile(min={'data': (1, 3, 224, 224)}, opt={'data': (1, 3, 300, 300)},\n"
      "                 max={'data': (4, 3, 512, 512)})\n\n"
      "What is left out follows: opt is max, max is opt, min is opt; an input that is in none of\n"
      "the three keeps the net's shape. The name of a net's only input may be ''.")
      .def(py::init([](const Shapes& min, const Shapes& opt, const Shapes& max) {
             return ShapeProfile{min, opt, max};
           }),
           py::kw_only(), py::arg("min") = Shapes(), py::arg("opt") = Shapes(),
           py::arg("max") = Shapes())
      .def_property_readonly(
          "min", [](const ShapeProfile& profile) { return ShapeDict(profile.min); },
          "The smallest shapes.")
      .def_property_readonly(
          "opt", [](const ShapeProfile& profile) { return ShapeDict(profile.opt); },
          "The shapes that layers are timed at.")
      .def_property_readonly(
          "max", [](const ShapeProfile& profile) { return ShapeDict(profile.max); },
          "The largest shapes.")
      .def("__repr__", [](const ShapeProfile& profile) {
        return Join("ShapeProfile(min=", std::string(py::repr(ShapeDict(profile.min))),
                    ", opt=", std::string(py::repr(ShapeDict(profile.opt))),
                    ", max=", std::string(py::repr(ShapeDict(profile.max))), ")");
      });
}

void BindTimingCache(py::module_& module) {
  py::class_<TimingCache, std::shared_ptr<TimingCache>>(
      module, "TimingCache",
      "What ways of computing a layer took on this machine, so that the next build needs no\n"
      "timing and chooses the same.\n\n"
      "TimingCache(file) has the times in the file, none if there is no such file.")
      .def(py::init<>())
      .def(py::init(
               [](const py::object& file) { return std::make_shared<TimingCache>(PathOf(file)); }),
           py::arg("file"))
      .def("find", &TimingCache::Find, py::arg("key"), "The microseconds of a key, or None.")
      .def("set", &TimingCache::Set, py::arg("key"), py::arg("microseconds"),
           "Keeps the microseconds of a key.")
      .def(
          "write",
          [](const TimingCache& cache, const py::object& file) { cache.Write(PathOf(file)); },
          py::arg("file"), "Writes all times into a file; it is replaced at once.")
      .def("__len__", &TimingCache::size);
}

/// Guards one call during which a context must not be used by others.
class Busy {
 public:
  explicit Busy(ContextHandle* handle) : handle_(handle) {
    Require(!handle->is_busy.exchange(true),
            "the context is running: its profiler and observer cannot run or change it");
  }
  ~Busy() { handle_->is_busy = false; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  ContextHandle* handle_;
};

/// Hands layers and times to a Python function.
class PythonProfiler : public inference::Profiler {
 public:
  explicit PythonProfiler(const py::object& function) : function_(Share(function)) {}
  void ReportLayerTime(const std::string& layer, double milliseconds) override {
    CallPython<void>(function_, layer, milliseconds);
  }

 private:
  SharedObject function_;
};

inference::BlobObserver PythonObserver(const py::object& function) {
  return [function = Share(function)](const std::string& blob, const std::vector<int>& shape,
                                      const float* values) {
    const WithGil with_gil;
    CallWithGil(*function, blob, NewArray(shape, values));
  };
}

// The functions are the context's for this run only, so that it holds no Python objects.
void Run(ContextHandle& handle, const py::object& profiler, const py::object& observer) {
  const Busy busy(&handle);
  struct Forget {
    ExecutionContext* context;
    ~Forget() {
      context->SetProfiler(nullptr);
      context->SetObserver(nullptr);
    }
  } const forget{&handle.context};
  PythonProfiler timed(profiler);
  if (!profiler.is_none()) handle.context.SetProfiler(&timed);
  if (!observer.is_none()) handle.context.SetObserver(PythonObserver(observer));
  const WithoutGil without_gil;
  UseProcessMode();
  handle.context.Run();
}

/// Calls f(context) alone and without the GIL: layers are reshaped.
template <typename Function>
void Change(ContextHandle& handle, Function&& f) {
  const Busy busy(&handle);
  const WithoutGil without_gil;
  UseProcessMode();
  f(handle.context);
}

/// Addresses in a GPU's memory, and handles of streams, as Python has them.
using Address = std::uintptr_t;

// Behind what is on the streams of `producers`, too.
void EnqueueOn(ContextHandle& handle, Address stream, const std::vector<Address>& producers,
               const std::map<std::string, Address>& places) {
  const Busy busy(&handle);
  const WithoutGil without_gil;
  UseProcessMode();
  std::map<std::string, void*> memory;
  for (const auto& [name, address] : places) {
    void* const place = memory[name] = reinterpret_cast<void*>(address);
    const int gpu = place ? cuda::GpuOf(place) : handle.gpu;
    Require(gpu >= 0, "enqueue_on: the place of '", name, "' is not in a GPU's memory");
    Require(gpu == handle.gpu, "enqueue_on: the place of '", name, "' is in the memory of GPU ",
            gpu, ", the engine runs on GPU ", handle.gpu);
  }
  const auto on = cuda::BorrowStream(reinterpret_cast<void*>(stream));
  for (const Address producer : producers) {
    if (producer != stream) on->WaitFor(*cuda::BorrowStream(reinterpret_cast<void*>(producer)));
  }
  handle.context.Enqueue(*on, memory);
}

/// Files, and arrays of height x width x channels (grey; blue, green, red) of bytes.
void SetImages(ContextHandle& handle, const py::list& images) {
  std::vector<ImageSource> sources;
  std::vector<py::buffer_info> arrays;
  for (const py::handle image : images) {
    if (!py::isinstance<py::buffer>(image) || py::isinstance<py::bytes>(image)) {
      sources.push_back({PathOf(py::reinterpret_borrow<py::object>(image))});
      continue;
    }
    arrays.push_back(py::reinterpret_borrow<py::buffer>(image).request());
    const py::buffer_info& array = arrays.back();
    Require(array.ndim == 3 && array.itemsize == 1, "an image is an array of bytes with 3 axes");
    sources.push_back({Join("image ", sources.size()), static_cast<const uint8_t*>(array.ptr),
                       static_cast<int>(array.shape[0]), static_cast<int>(array.shape[1]),
                       static_cast<int>(array.shape[2])});
  }
  Change(handle, [&](ExecutionContext& context) { inference::SetImages(sources, &context); });
}

/// Outputs of the last run by name, for each item of the batch.
py::list ItemOutputs(ContextHandle& handle) {
  const inference::Tensors outputs = inference::Outputs(&handle.context);
  py::list items;
  for (int i = 0; i < handle.context.batch(); ++i) {
    py::dict item;
    for (const auto& [name, batch] : outputs) {
      const inference::NamedTensor one = ItemOf(handle.context.engine(), name, batch, i);
      item[py::cast(name)] = NewArray(one.shape, one.values.data());
    }
    items.append(item);
  }
  return items;
}

std::shared_ptr<ContextHandle> MakeContext(const EngineHandle& engine, int threads) {
  const WithoutGil without_gil;
  UseProcessMode();
  return std::make_shared<ContextHandle>(engine.engine, threads);
}

/// An input's memory for numpy; the context lives as long as a reference to it exists.
struct InputMemory {
  std::shared_ptr<ContextHandle> context;
  float* data;
  std::vector<int> shape;
};

py::buffer_info BufferOf(InputMemory& memory) {
  const std::vector<py::ssize_t> extents(memory.shape.begin(), memory.shape.end());
  std::vector<py::ssize_t> strides(extents.size(), sizeof(float));
  for (size_t axis = extents.size(); axis-- > 1;) {
    strides[axis - 1] = strides[axis] * extents[axis];
  }
  return py::buffer_info(memory.data, sizeof(float), py::format_descriptor<float>::format(),
                         static_cast<py::ssize_t>(extents.size()), extents, strides);
}

}  // namespace

void BindEngine(py::module_& module) {
  BindLayerInfo(module);
  BindShapeProfile(module);
  BindTimingCache(module);
  py::class_<EngineHandle>(
      module, "Engine",
      "A built net. It never changes, and any number of contexts and threads share it.\n\n"
      "Builder.build makes one, Engine.load reads one from a plan.")
      .def_static("load", &LoadEngine, py::arg("file"),
                  "The engine of a plan file, whose weights stay in the mapped file. Raises "
                  "caffe.Error\n"
                  "for a plan that is damaged or was built for another machine or version.")
      .def("save", &SaveEngine, py::arg("file"), "Writes the plan; the file is replaced at once.")
      .def_property_readonly(
          "name", [](const EngineHandle& handle) { return handle.engine->name(); },
          "The net's name.")
      .def_property_readonly(
          "max_batch", [](const EngineHandle& handle) { return handle.engine->max_batch(); },
          "The largest batch that contexts can run; 0 without inputs.")
      .def_property_readonly(
          "inputs",
          [](const EngineHandle& handle) {
            const inference::Graph& graph = *handle.engine->graph();
            return Bindings(graph, graph.inputs);
          },
          "The inputs: their shapes by name, at the largest batch.")
      .def_property_readonly(
          "outputs",
          [](const EngineHandle& handle) {
            const inference::Graph& graph = *handle.engine->graph();
            return Bindings(graph, graph.outputs);
          },
          "The outputs: their shapes by name, at the largest batch.")
      .def_property_readonly(
          "preprocessing",
          [](const EngineHandle& handle) -> std::optional<inference::ImagePreprocessing> {
            if (!handle.engine->preprocessing()) return std::nullopt;
            return *handle.engine->preprocessing();
          },
          "How images become the input, an ImagePreprocessing; None: not known.")
      .def_property_readonly(
          "class_names", [](const EngineHandle& handle) { return handle.engine->class_names(); },
          "Names of classes, by label; empty: not known.")
      .def_property_readonly(
          "profiles", [](const EngineHandle& handle) { return handle.engine->profiles(); },
          "The ranges of shapes that it was built for, as ShapeProfile; none without.")
      .def_property_readonly(
          "layers", [](const EngineHandle& handle) { return handle.engine->layers(); },
          "The layers in the order in which they run, as LayerInfo. Those of which nothing is "
          "left\n"
          "are not among them.")
      .def_property_readonly(
          "tuned_threads",
          [](const EngineHandle& handle) { return handle.engine->tuned_threads(); },
          "With how many threads its layers were timed when it was built; 0: they were not, or on "
          "a GPU.")
      .def_property_readonly(
          "weight_bytes", [](const EngineHandle& handle) { return handle.engine->weight_bytes(); },
          "Memory of the weights, which all contexts share, in bytes.")
      .def_property_readonly(
          "activation_bytes",
          [](const EngineHandle& handle) { return handle.engine->activation_bytes(); },
          "Memory that each context takes, in bytes.")
      .def(
          "to_json", [](const EngineHandle& handle) { return handle.engine->ToJson(); },
          "Inputs, outputs and layers as JSON.")
      .def(
          "to_text", [](const EngineHandle& handle) { return ToText(*handle.engine->graph()); },
          "A line for each layer: what it computes, from what, and where its top lies.")
      .def("__repr__", &DescribeEngine);
}

void BindExecutionContext(py::module_& module) {
  py::class_<InputMemory>(module, "_InputMemory", py::buffer_protocol(),
                          "The memory of an input, for numpy.")
      .def_buffer(&BufferOf);
  py::class_<ContextHandle, std::shared_ptr<ContextHandle>>(
      module, "ExecutionContext", "What caffe.inference.ExecutionContext is made of.")
      .def(py::init(&MakeContext), py::arg("engine"), py::arg("threads") = 0)
      .def_property_readonly(
          "threads", [](const ContextHandle& handle) { return handle.context.threads(); },
          "How many threads share the loops of a run.")
      .def("_run", &Run, py::arg("profiler"), py::arg("observer"))
      .def_property_readonly("_computes_on_gpu",
                             [](const ContextHandle& handle) {
                               return !handle.context.engine().graph()->target.empty();
                             })
      .def("_enqueue_on", &EnqueueOn, py::arg("stream"), py::arg("producers"), py::arg("places"))
      .def(
          "_set_batch",
          [](ContextHandle& handle, const py::object& batch) {
            const int items = WholeNumber(batch, "set_batch: the batch");
            Change(handle, [&](ExecutionContext& context) { context.SetBatch(items); });
          },
          py::arg("batch"))
      .def(
          "_set_input_shapes",
          [](ContextHandle& handle, const std::map<std::string, py::object>& given) {
            const auto shapes = ShapesOf(given, "set_input_shapes");
            Change(handle, [&](ExecutionContext& context) { context.SetInputShapes(shapes); });
          },
          py::arg("shapes"))
      .def("_set_images", &SetImages, py::arg("images"))
      .def("_item_outputs", &ItemOutputs)
      .def(
          "_set_profile",
          [](ContextHandle& handle, int profile) {
            Change(handle, [&](ExecutionContext& context) { context.SetProfile(profile); });
          },
          py::arg("profile"))
      .def_property_readonly(
          "profile", [](const ContextHandle& handle) { return handle.context.profile(); },
          "The number of the profile that is run: set_profile, or shapes, change it.")
      .def_property_readonly(
          "batch", [](const ContextHandle& handle) { return handle.context.batch(); },
          "How many items are run: axis 0 of the inputs. set_batch changes it.")
      .def(
          "input_shape",
          [](const ContextHandle& handle, const std::string& name) {
            return ShapeTuple(handle.context.InputShape(name));
          },
          py::arg("name"), "The present shape of an input.")
      .def(
          "output_shape",
          [](const ContextHandle& handle, const std::string& name) {
            return ShapeTuple(handle.context.OutputShape(name));
          },
          py::arg("name"),
          "The present shape of an output; where it depends on the data (detections), that of the\n"
          "last run.")
      .def(
          "_input_memory",
          [](const std::shared_ptr<ContextHandle>& handle, const std::string& name) {
            return InputMemory{handle, handle->context.Input(name),
                               handle->context.InputShape(name)};
          },
          py::arg("name"))
      .def(
          "_output",
          [](ContextHandle& handle, const std::string& name) {
            return NewArray(handle.context.OutputShape(name), handle.context.Output(name));
          },
          py::arg("name"));
}

}  // namespace caffe::pycaffe
