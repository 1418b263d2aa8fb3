#include "caffe/layers/python_layer.hpp"

#include <dlfcn.h>

#include <map>
#include <mutex>

#include "caffe/core/plugin_files.hpp"

namespace caffe {
namespace {

// What else holds for it, only the user's class knows.
const bool python_registered =
    OperationTable::Add(Operation("Python").AnyInPlace().Stateful().UpdatesParameters().CpuOnly(
        "it is the user's code"));

constexpr char kPlugin[] = "libcaffe_python.so";
constexpr char kVariable[] = "CAFFE_PYTHON_PLUGIN";

std::mutex factory_mutex;

template <typename Dtype>
PythonLayerFactory<Dtype>& Factory() {
  static PythonLayerFactory<Dtype> factory;
  return factory;
}

/// Loads the plugin and lets it start Python, which makes the package call SetPythonLayerFactory;
/// returns why not, or "". It stays loaded: layers live on in it.
string LoadPlugin() {
  string reason;
  for (const string& file : PluginFiles(kVariable, kPlugin)) {
    void* plugin = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!plugin) {
      reason = dlerror();
      continue;
    }
    const auto start = reinterpret_cast<PythonPluginStart>(dlsym(plugin, kPythonPluginStart));
    if (!start) return file + ": this is not a plugin for Python layers";
    string failure;
    start(&failure);
    return failure;
  }
  return reason;
}

/// Stands where a Python layer cannot be made, and says so when it is used.
template <typename Dtype>
class UnusablePythonLayer : public Layer<Dtype> {
 public:
  UnusablePythonLayer(const LayerParameter& param, const string& reason)
      : Layer<Dtype>(param), reason_(reason) {}
  const char* type() const override { return "Python"; }
  void LayerSetUp(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) override { Refuse(); }
  void Reshape(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) override { Refuse(); }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) override { Refuse(); }
  void Backward_cpu(const vector<Blob<Dtype>*>&, const vector<bool>&,
                    const vector<Blob<Dtype>*>&) override {
    Refuse();
  }

 private:
  [[noreturn]] void Refuse() const { Fail(reason_); }

  const string reason_;
};

}  // namespace

template <typename Dtype>
void SetPythonLayerFactory(PythonLayerFactory<Dtype> factory) {
  const std::lock_guard<std::mutex> lock(factory_mutex);
  Factory<Dtype>() = std::move(factory);
}

template void SetPythonLayerFactory<float>(PythonLayerFactory<float>);
template void SetPythonLayerFactory<double>(PythonLayerFactory<double>);

string CppTwinOf(const PythonParameter& param) {
  const std::map<string, string> twins = {
      {"ProposalLayer",
       "type: 'Proposal' proposal_param { feat_stride: 16 ratio: 0.5 ratio: 1 ratio: 2 scale: 8 "
       "scale: 16 scale: 32 }, with the numbers of this layer's param_str"},
      {"AnchorTargetLayer", "type: 'AnchorTarget', with the same python_param"},
      {"ProposalTargetLayer", "type: 'ProposalTarget', with the same python_param"},
  };
  const auto found = twins.find(param.layer());
  if (found == twins.end()) return "";
  return Join("\nThe same in C++, without Python: ", found->second);
}

namespace {

template <typename Dtype>
PythonLayerFactory<Dtype> CurrentFactory() {
  const std::lock_guard<std::mutex> lock(factory_mutex);
  return Factory<Dtype>();
}

string NeedsPackage(const PythonParameter& param, const string& reason) {
  return Join("layers of type Python (here python_param: module '", param.module(), "', layer '",
              param.layer(), "') need Caffe's Python package, which could not be loaded: ", reason,
              "\nRun the net from Python (import caffe), or name the library ", kPlugin,
              " of a build with BUILD_python in the environment variable ", kVariable,
              CppTwinOf(param));
}

template <typename Dtype>
shared_ptr<Layer<Dtype>> CreatePythonLayer(const LayerParameter& param) {
  const auto unusable = [&](const string& reason) {
    return shared_ptr<Layer<Dtype>>(new UnusablePythonLayer<Dtype>(param, reason));
  };
  const PythonParameter& python = param.python_param();
  if (python.module().empty() || python.layer().empty()) {
    return unusable("python_param: module and layer say which class of which module computes");
  }
  PythonLayerFactory<Dtype> factory = CurrentFactory<Dtype>();
  string reason;
  if (!factory) {
    static std::mutex loading;  // Python starts once; it sets the factory meanwhile
    const std::lock_guard<std::mutex> lock(loading);
    factory = CurrentFactory<Dtype>();
    if (!factory) reason = LoadPlugin();
    factory = CurrentFactory<Dtype>();
  }
  return factory ? factory(param) : unusable(NeedsPackage(python, reason));
}

}  // namespace

REGISTER_LAYER_CREATOR(Python, CreatePythonLayer);

}  // namespace caffe
