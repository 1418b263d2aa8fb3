#include "views.hpp"

#include <pybind11/stl.h>

#include <algorithm>

#include "attributes.hpp"

namespace caffe::pycaffe {
namespace {

/// numpy, and what is used of it. Only through Python, so that one build fits every numpy.
struct Numpy {
  py::object ndarray, empty, dtype, float16, float32, float64;

  /// Kept for the life of the process: at its end the interpreter may be gone first.
  static const Numpy& Get() {
    static const Numpy* numpy = new Numpy();
    return *numpy;
  }
  const py::object& Type(ElementType type) const {
    if (type == ElementType::FLOAT16) return float16;
    return type == ElementType::DOUBLE ? float64 : float32;
  }

 private:
  Numpy() {
    const py::module_ module = py::module_::import("numpy");
    ndarray = module.attr("ndarray");
    empty = module.attr("empty");
    dtype = module.attr("dtype");
    float16 = dtype("float16");
    float32 = dtype("float32");
    float64 = dtype("float64");
  }
};

}  // namespace

py::tuple ShapeTuple(const std::vector<int>& shape) {
  py::tuple tuple(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) tuple[i] = py::int_(shape[i]);
  return tuple;
}

ElementType ElementTypeOf(const py::object& dtype) {
  const Numpy& numpy = Numpy::Get();
  const py::object wanted = numpy.dtype(dtype);
  for (const ElementType type : {ElementType::FLOAT, ElementType::FLOAT16, ElementType::DOUBLE}) {
    if (wanted.equal(numpy.Type(type))) return type;
  }
  throw py::type_error("a blob's values are float16, float32 or float64, not " +
                       py::str(wanted).cast<std::string>());
}

std::vector<int> ExtentsOf(const py::args& args) {
  const bool sequence =
      args.size() == 1 && (py::isinstance<py::tuple>(args[0]) || py::isinstance<py::list>(args[0]));
  return ShapeOf(sequence ? args[0] : py::handle(args), "an extent of a blob");
}

std::vector<int> ShapeOf(const py::handle& extents, const std::string& what) {
  if (!PySequence_Check(extents.ptr()) || PyUnicode_Check(extents.ptr())) {
    throw py::type_error(Join(what, ": a shape is a sequence of whole numbers, not ",
                              py::repr(extents).cast<std::string>()));
  }
  std::vector<int> shape;
  for (const py::handle extent : py::reinterpret_borrow<py::sequence>(extents)) {
    shape.push_back(WholeNumber(extent, what));
  }
  return shape;
}

std::map<std::string, std::vector<int>> ShapesOf(const std::map<std::string, py::object>& given,
                                                 const std::string& what) {
  std::map<std::string, std::vector<int>> shapes;
  for (const auto& [name, extents] : given) {
    shapes[name] = ShapeOf(extents, Join(what, ": an extent of '", name, "'"));
  }
  return shapes;
}

ViewState::~ViewState() {
  const std::shared_ptr<ViewGroup> alive = group.lock();
  if (alive) alive->Release(*this);
}

bool ViewState::attached() const {
  if (!blob->valid()) return false;
  Tensor& current = tensor();
  return current.has_slot(type) && &current.Overwrite(type, Layout()) == memory.get();
}

std::shared_ptr<ViewState> ViewGroup::Find(const SyncedMemory* memory) {
  for (size_t i = 0; i < states_.size(); ++i) {
    std::shared_ptr<ViewState> state = states_[i].lock();
    if (!state || state->memory.get() != memory) continue;
    std::rotate(states_.begin() + i, states_.begin() + i + 1, states_.end());
    return state;
  }
  return nullptr;
}

void ViewGroup::Release(const ViewState& state) {
  released_.push_back({state.blob, state.diff, state.memory, !state.handed_out_before});
}

namespace {

/// A net takes its inputs from the slot of their Dtype once that was handed out (Net::Forward):
/// what was written in another type is brought there.
void RefreshDtype(const BlobRef& blob, Tensor& tensor) {
  const ElementType dtype = blob.dtype();
  if (tensor.handed_out(dtype) && tensor.is_stale(dtype)) tensor.cpu_data(dtype);
}

}  // namespace

// While the flag "a mutable pointer was handed out" is set, layers pack their weights again for
// each pass. It is taken back when the last array is gone, here and not when that happens: another
// thread may have been using the net then.
void ViewGroup::ForgetReleased() {
  for (const Released& released : released_) {
    const std::shared_ptr<BlobRef> blob = released.blob.lock();
    const boost::shared_ptr<SyncedMemory> memory = released.memory.lock();
    if (!blob || !memory || !blob->valid()) continue;
    Tensor& tensor = blob->tensor(released.diff);
    bool viewed = false;
    for (const std::weak_ptr<ViewState>& other : states_) {
      const std::shared_ptr<ViewState> state = other.lock();
      viewed |= state && state->attached() && &state->tensor() == &tensor;
    }
    if (!viewed && released.forget) tensor.ForgetMutablePointers();
    RefreshDtype(*blob, tensor);
  }
  released_.clear();
}

void ViewGroup::Push() {
  states_.erase(std::remove_if(states_.begin(), states_.end(),
                               [](const auto& state) { return state.expired(); }),
                states_.end());
  if (!released_.empty()) ForgetReleased();
  for (size_t i = states_.size(); i-- > 0;) {
    const std::shared_ptr<ViewState> state = states_[i].lock();
    if (!state || !state->attached()) continue;
    if (!state->tensor().is_stale(state->type)) state->tensor().Touch(state->type);
    RefreshDtype(*state->blob, state->tensor());
  }
}

void ViewGroup::Pull() {
  for (const std::weak_ptr<ViewState>& weak : states_) {
    const std::shared_ptr<ViewState> state = weak.lock();
    if (!state || !state->attached() || !state->tensor().is_stale(state->type)) continue;
    state->tensor().cpu_data(state->type);
  }
}

py::object BlobRef::Array(bool diff, ElementType type) {
  const Numpy& numpy = Numpy::Get();
  const py::tuple extents = ShapeTuple(shape());
  Tensor& values = tensor(diff);
  if (count() == 0) return numpy.empty(extents, numpy.Type(type));
  const bool handed_out_before = values.handed_out(type);
  void* data = values.mutable_cpu_data(type);
  const boost::shared_ptr<SyncedMemory> memory = values.memory(type);
  std::shared_ptr<ViewState> state = group_->Find(memory.get());
  if (!state) {
    state = std::make_shared<ViewState>();
    state->blob = shared_from_this();
    state->group = group_;
    state->diff = diff;
    state->type = type;
    state->memory = memory;
    state->handed_out_before = handed_out_before;
    group_->Add(state);
  }
  const size_t bytes = values.count() * SizeOf(type);
  return numpy.ndarray(extents, numpy.Type(type), ViewBuffer{state, data, bytes});
}

std::shared_ptr<BlobRef> NewBlob(const std::vector<int>& shape) {
  return std::make_shared<BlobRefOf<float>>(boost::shared_ptr<Blob<float>>(new Blob<float>(shape)),
                                            std::make_shared<ViewGroup>());
}

namespace {

std::string DescribeBlob(const BlobRef& blob) {
  return Join("<caffe.Blob of shape ", py::str(ShapeTuple(blob.shape())).cast<std::string>(),
              ", stored as ", Name(blob.tensor(false).storage_type()), ">");
}

}  // namespace

void BindBlob(py::module_& module) {
  py::class_<ViewBuffer>(module, "_ViewBuffer", py::buffer_protocol(),
                         "The memory of a blob, for numpy.")
      .def_buffer([](ViewBuffer& view) {
        return py::buffer_info(view.data, 1, "B", 1, {static_cast<py::ssize_t>(view.bytes)}, {1});
      });

  py::class_<BlobRef, std::shared_ptr<BlobRef>>(
      module, "Blob", py::dynamic_attr(), CollectsAttributes(),
      "An array with its gradient: what layers take, make and learn.")
      .def(py::init([](const py::object& shape) {
             return NewBlob(ShapeOf(shape, "an extent of a blob"));
           }),
           py::arg("shape"), "A float32 blob of zeros that no net knows.")
      .def_property_readonly(
          "data", [](BlobRef& blob) { return blob.Array(false, blob.dtype()); },
          "The values: a writable numpy view on the blob's memory, float32.\n\n"
          "Of a blob that is stored as FLOAT16 it is a converted view, which is written back "
          "before\n"
          "the values are used next. The view keeps the memory alive; after the blob has grown\n"
          "(reshape) ask for a new one.")
      .def_property_readonly(
          "diff", [](BlobRef& blob) { return blob.Array(true, blob.dtype()); },
          "The gradient with respect to the values; a view like ``data``.")
      .def(
          "data_as",
          [](BlobRef& blob, const py::object& dtype) {
            return blob.Array(false, ElementTypeOf(dtype));
          },
          py::arg("dtype"),
          "The values as float16, float32 or float64: a writable view. In the type in which the "
          "blob\n"
          "is stored it is a view without conversion. Of several views of one blob in different\n"
          "types, what was written through the one asked for last counts.")
      .def(
          "diff_as",
          [](BlobRef& blob, const py::object& dtype) {
            return blob.Array(true, ElementTypeOf(dtype));
          },
          py::arg("dtype"), "The gradient as ``data_as`` gives the values.")
      .def_property_readonly(
          "data_type", [](BlobRef& blob) { return Name(blob.tensor(false).storage_type()); },
          "The type in which the values are stored: 'FLOAT', 'FLOAT16', ...")
      .def_property_readonly(
          "diff_type", [](BlobRef& blob) { return Name(blob.tensor(true).storage_type()); },
          "The type in which the gradient is stored.")
      .def_property_readonly(
          "shape", [](BlobRef& blob) { return ShapeTuple(blob.shape()); },
          "The extents of the axes, a tuple.")
      .def_property_readonly(
          "count", [](BlobRef& blob) { return blob.count(); }, "The number of values.")
      .def_property_readonly(
          "num", [](BlobRef& blob) { return blob.LegacyShape(0); }, "shape[0] of at most 4 axes.")
      .def_property_readonly(
          "channels", [](BlobRef& blob) { return blob.LegacyShape(1); },
          "shape[1] of at most 4 axes; 1 if missing.")
      .def_property_readonly(
          "height", [](BlobRef& blob) { return blob.LegacyShape(2); },
          "shape[2] of at most 4 axes; 1 if missing.")
      .def_property_readonly(
          "width", [](BlobRef& blob) { return blob.LegacyShape(3); },
          "shape[3] of at most 4 axes; 1 if missing.")
      .def(
          "reshape",
          [](BlobRef& blob, const py::args& extents) { blob.Reshape(ExtentsOf(extents)); },
          "reshape(*extents): changes the shape. Net.reshape() then carries an input's new shape "
          "to\n"
          "the other blobs.")
      .def("__repr__", &DescribeBlob);
}

}  // namespace caffe::pycaffe
