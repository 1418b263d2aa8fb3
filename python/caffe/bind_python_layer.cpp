// Python's Layer: the base of layers that are written in Python.
#include <pybind11/stl.h>

#include <atomic>
#include <boost/make_shared.hpp>

#include "caffe/layers/python_layer.hpp"
#include "python_layer.hpp"

namespace caffe::pycaffe {
namespace {

std::atomic<bool> embedded{false};

/// "Traceback (most recent call last): ...", as Python prints it, without the end of its last line.
std::string TracebackOf(const py::error_already_set& error) {
  const py::object lines =
      py::module_::import("traceback")
          .attr("format_exception")(error.type(), error.value(),
                                    error.trace() ? error.trace() : py::none());
  const py::object text = py::str("").attr("join")(lines).attr("rstrip")();
  return text.cast<std::string>();
}

/// Throws what a Python layer raised: in a Python program the exception itself, which a note tells
/// the layer where Python has notes.
[[noreturn]] void Rethrow(py::error_already_set& error, const LayerParameter& param,
                          const char* method) {
  const std::string where =
      Join("in ", method, " of the Python layer '", param.name(), "' (class ",
           param.python_param().module(), ".", param.python_param().layer(), ")");
  if (embedded && !error.matches(PyExc_KeyboardInterrupt)) {
    Fail(where, ":\n", TracebackOf(error));
  }
  if (py::hasattr(error.value(), "add_note")) error.value().attr("add_note")(where);
  throw error;
}

}  // namespace

void SetEmbedded() { embedded = true; }

template <typename Dtype>
py::list PythonLayer<Dtype>::Lend(const vector<Blob<Dtype>*>& blobs) {
  py::list list(blobs.size());
  for (size_t i = 0; i < blobs.size(); ++i) {
    LentBlob& lent = lent_[blobs[i]];
    if (!lent.ref) {
      lent.ref = std::make_shared<BlobRefOf<Dtype>>(blobs[i], views_);
      lent.object = py::cast(std::static_pointer_cast<BlobRef>(lent.ref));
    }
    list[i] = lent.object;
  }
  return list;
}

template <typename Dtype>
void PythonLayer<Dtype>::ForgetBlobs() {
  for (auto& lent : lent_) lent.second.ref->Invalidate();
  lent_.clear();
}

/// True if the user's class, or the object, has the method: Layer has some of the same names.
template <typename Dtype>
bool PythonLayer<Dtype>::Overrides(const char* method) const {
  const py::object type = py::type::of(self_);
  const py::object own = py::getattr(type, method, py::none());
  const py::object base = py::getattr(py::type::of<LayerHandle>(), method, py::none());
  return py::hasattr(self_, method) && (!own.is(base) || self_.attr("__dict__").contains(method));
}

template <typename Dtype>
template <typename... Arguments>
void PythonLayer<Dtype>::Call(const char* method, const Arguments&... arguments) {
  const PythonParameter& param = this->layer_param_.python_param();
  Require(Overrides(method), "the class ", param.module(), ".", param.layer(), " has no method '",
          method, "'");
  views_->Pull();
  try {
    CallWithGil(self_.attr(method), arguments...);
  } catch (py::error_already_set& error) {
    Rethrow(error, this->layer_param_, method);
  }
  views_->Push();
}

template <typename Dtype>
void PythonLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  const WithGil with_gil;
  Require(bool(self_), "a Python layer is made by a net or by caffe.create_layer");
  const std::string& text = this->layer_param_.python_param().param_str();
  self_.attr("param_str") = text;
  self_.attr("param_str_") = text;  // its name before 2015
  self_.attr("phase") =
      py::module_::import("caffe._phase").attr("Phase")(static_cast<int>(this->phase_));
  vector<shared_ptr<Blob<Dtype>>> given;
  given.swap(this->blobs_);
  if (Overrides("setup")) Call("setup", Lend(bottom), Lend(top));
  TakeParameters(given);
}

/// Parameters that the layer was made with (by the file that describes it, or an engine) count, as
/// in other layers. setup adds blobs all the same: it does not know of them.
template <typename Dtype>
void PythonLayer<Dtype>::TakeParameters(const vector<shared_ptr<Blob<Dtype>>>& given) {
  if (given.empty()) return;
  if (this->blobs_.empty()) {
    this->blobs_ = given;
    return;
  }
  Require(this->blobs_.size() == given.size(), "setup adds ", this->blobs_.size(),
          " blob(s), the layer was made with ", given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    Blob<Dtype>& blob = *this->blobs_[i];
    Require(blob.shape() == given[i]->shape(), "setup adds a blob of shape ", blob.shape_string(),
            " as parameter ", i, ", the layer was made with one of ", given[i]->shape_string());
    blob.CopyFrom(*given[i]);
  }
  views_->Pull();
}

template <typename Dtype>
void PythonLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
  const WithGil with_gil;
  Call("reshape", Lend(bottom), Lend(top));
}

template <typename Dtype>
void PythonLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  const WithGil with_gil;
  Call("forward", Lend(bottom), Lend(top));
}

template <typename Dtype>
void PythonLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                      const vector<bool>& propagate_down,
                                      const vector<Blob<Dtype>*>& bottom) {
  const WithGil with_gil;
  Call("backward", Lend(top), propagate_down, Lend(bottom));
}

template class PythonLayer<float>;
template class PythonLayer<double>;

namespace {

/// The class that python_param names. Throws Error with the path that was searched and Python's own
/// error.
py::object ImportClass(const PythonParameter& param) {
  py::object module;
  try {
    module = py::module_::import(param.module().c_str());
  } catch (py::error_already_set& error) {
    Fail("python_param: the module '", param.module(), "' cannot be imported; sys.path is ",
         py::str(py::module_::import("sys").attr("path")).cast<std::string>(),
         ", PYTHONPATH adds folders to it", CppTwinOf(param), "\n", TracebackOf(error));
  }
  Require(py::hasattr(module, param.layer().c_str()), "python_param: the module '", param.module(),
          "' (", py::str(py::getattr(module, "__file__", py::str("built in"))).cast<std::string>(),
          ") has no class '", param.layer(), "'");
  const py::object layer = module.attr(param.layer().c_str());
  Require(PyType_Check(layer.ptr()) &&
              PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(layer.ptr()),
                               reinterpret_cast<PyTypeObject*>(py::type::of<LayerHandle>().ptr())),
          "python_param: ", param.module(), ".", param.layer(),
          " is not a subclass of caffe.Layer");
  return layer;
}

/// Which Dtype an object of Python's Layer gets: the factory's that makes it.
thread_local bool make_double = false;

struct MakeDouble {
  explicit MakeDouble(bool value) : before(make_double) { make_double = value; }
  ~MakeDouble() { make_double = before; }
  const bool before;
};

template <typename Dtype>
std::shared_ptr<LayerHandle> MakeHandle(const LayerParameter& param) {
  const auto layer = boost::make_shared<PythonLayer<Dtype>>(param);
  return std::make_shared<LayerHandle>(layer, layer->views());
}

/// Stands for the net's ownership of the Python object. After the interpreter's end nothing is
/// done.
template <typename Dtype>
struct ReleaseObject {
  PyObject* self;
  void operator()(Layer<Dtype>* layer) const {
    if (!Py_IsInitialized()) return;
    const WithGil with_gil;
    static_cast<PythonLayer<Dtype>*>(layer)->ForgetBlobs();
    Py_DECREF(self);
  }
};

template <typename Dtype>
boost::shared_ptr<Layer<Dtype>> MakePythonLayer(const LayerParameter& param) {
  const WithGil with_gil;
  const py::object type = ImportClass(param.python_param());
  const MakeDouble scope(std::is_same<Dtype, double>::value);
  py::object self;
  try {
    self = CallWithGil(type, param);
  } catch (py::error_already_set& error) {
    Rethrow(error, param, "__init__");
  }
  PythonLayer<Dtype>* layer = nullptr;
  self.cast<LayerHandle&>().Visit([&](auto& made) {
    if constexpr (std::is_same_v<DtypeOf<std::decay_t<decltype(made)>>, Dtype>) {
      layer = static_cast<PythonLayer<Dtype>*>(&made);
    }
  });
  CHECK(layer);
  layer->set_self(self);
  return boost::shared_ptr<Layer<Dtype>>(layer, ReleaseObject<Dtype>{self.release().ptr()});
}

}  // namespace

std::shared_ptr<LayerHandle> MakePythonLayerHandle(const LayerParameter& param) {
  if (make_double) return MakeHandle<double>(param);
  return MakeHandle<float>(param);
}

py::object LayerObject(const boost::shared_ptr<Layer<float>>& layer,
                       const std::shared_ptr<ViewGroup>& views) {
  if (const auto* python = dynamic_cast<const PythonLayer<float>*>(layer.get())) {
    return py::reinterpret_borrow<py::object>(python->self());
  }
  return py::cast(std::make_shared<LayerHandle>(layer, views));
}

void BindPythonLayer(py::module_& module) {
  module.def("_set_embedded", &SetEmbedded,
             "For the library that runs Python layers in programs that are not Python.");
  SetPythonLayerFactory<float>(&MakePythonLayer<float>);
  SetPythonLayerFactory<double>(&MakePythonLayer<double>);
}

}  // namespace caffe::pycaffe
