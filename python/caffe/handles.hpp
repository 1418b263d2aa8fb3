#ifndef CAFFE_PYTHON_HANDLES_HPP_
#define CAFFE_PYTHON_HANDLES_HPP_

#include <pybind11/pybind11.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "caffe/layer.hpp"
#include "caffe/net.hpp"
#include "caffe/solver.hpp"
#include "gil.hpp"
#include "views.hpp"

// What Python's Layer, Net and Solver objects hold.

namespace caffe::pycaffe {

template <typename LayerType>
struct DtypeOfLayer;
template <typename Dtype>
struct DtypeOfLayer<Layer<Dtype>> {
  using type = Dtype;
};
template <typename LayerType>
using DtypeOf = typename DtypeOfLayer<LayerType>::type;

/// What Python's Layer holds: a layer of one of the Dtypes.
class LayerHandle {
 public:
  LayerHandle(boost::shared_ptr<Layer<float>> layer, std::shared_ptr<ViewGroup> views)
      : single_(std::move(layer)), views_(std::move(views)) {}
  LayerHandle(boost::shared_ptr<Layer<double>> layer, std::shared_ptr<ViewGroup> views)
      : double_(std::move(layer)), views_(std::move(views)) {}

  /// f(Layer<Dtype>&).
  template <typename Function>
  auto Visit(Function&& f) const {
    return single_ ? f(*single_) : f(*double_);
  }
  const std::shared_ptr<ViewGroup>& views() const { return views_; }

 private:
  boost::shared_ptr<Layer<float>> single_;
  boost::shared_ptr<Layer<double>> double_;
  std::shared_ptr<ViewGroup> views_;
};

/// Calls a Python function with the index of a layer.
class NetCallback : public Net<float>::Callback {
 public:
  NetCallback(py::function function, std::weak_ptr<ViewGroup> views)
      : function_(std::move(function)), views_(std::move(views)) {}

 protected:
  void run(int layer) override;

 private:
  py::function function_;
  std::weak_ptr<ViewGroup> views_;
};

/// What Python's Net holds.
struct NetHandle {
  boost::shared_ptr<Net<float>> net;
  std::shared_ptr<ViewGroup> views = std::make_shared<ViewGroup>();
  std::recursive_mutex mutex;  // a net belongs to one thread at a time
  std::vector<std::unique_ptr<NetCallback>> callbacks;
};

/// Hands several nets over to C++ for the lifetime of the object: waits until no other thread uses
/// them, makes what Python wrote known, puts this thread into the mode of the process, and lets
/// other Python threads run. Done() takes them back and shows in the arrays what C++ wrote.
class ComputeScope {
 public:
  explicit ComputeScope(std::vector<NetHandle*> nets);
  ~ComputeScope();
  void Done();

 private:
  void TakeBack();

  std::vector<NetHandle*> nets_;
  std::vector<std::unique_lock<std::recursive_mutex>> locks_;
  std::optional<WithoutGil> without_gil_;
};

/// Runs f() on nets handed over to C++, and returns what it returns.
template <typename Function>
auto Compute(std::vector<NetHandle*> nets, Function&& f) {
  ComputeScope scope(std::move(nets));
  if constexpr (std::is_void_v<decltype(f())>) {
    f();
    scope.Done();
  } else {
    auto result = f();
    scope.Done();
    return result;
  }
}

/// The mode, device and number of threads that Python chose, for all its threads.
void SetMode(Caffe::Brew mode);
void SetDevice(int device);
void SetThreads(int threads);
int GetThreads();
/// Makes them this thread's. Throws Error in GPU mode where there is no GPU.
void UseProcessMode();

/// A path as Python programs give it: str, bytes or os.PathLike.
std::string PathOf(const py::object& path);

/// Python's object for a layer: what the user's class made, if it is a Python layer.
py::object LayerObject(const boost::shared_ptr<Layer<float>>& layer,
                       const std::shared_ptr<ViewGroup>& views);

void BindLayer(py::module_& module);
void BindPythonLayer(py::module_& module);
void BindNet(py::module_& module);
void BindSolver(py::module_& module);
/// Behind BindNet and BindSolver, whose classes take an NCCL.
void BindNccl(py::module_& module);

}  // namespace caffe::pycaffe

#endif  // CAFFE_PYTHON_HANDLES_HPP_
