#include "caffe/layers/python_layer.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>

namespace caffe {
namespace {

constexpr char kPlugin[] = "libcaffe_python.so";
constexpr char kVariable[] = "CAFFE_PYTHON_PLUGIN";

std::mutex factory_mutex;

template <typename Dtype>
PythonLayerFactory<Dtype>& Factory() {
  static PythonLayerFactory<Dtype> factory;
  return factory;
}

/// The folder of the library or program that this code is in, with its last slash.
string OwnFolder() {
  Dl_info info = {};
  if (!dladdr(kPlugin, &info) || !info.dli_fname) return "";
  const string file = info.dli_fname;
  return file.substr(0, file.rfind('/') + 1);
}

/// Loads the plugin, whose static initialisers call SetPythonLayerFactory; returns why not, or "".
/// It stays loaded: layers live on in it.
string LoadPlugin() {
  const char* named = std::getenv(kVariable);
  const vector<string> candidates =
      named && *named ? vector<string>{named} : vector<string>{OwnFolder() + kPlugin, kPlugin};
  string reason;
  for (const string& file : candidates) {
    if (dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL)) return "";
    if (const char* error = dlerror()) reason = error;
  }
  return reason;
}

/// Stands where a Python layer cannot be made, and says so when it is used.
template <typename Dtype>
class MissingPythonLayer : public Layer<Dtype> {
 public:
  MissingPythonLayer(const LayerParameter& param, const string& reason)
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
  /// The C++ layer that does what a well-known Python layer does.
  static string Twin(const string& layer) {
    if (layer == "ProposalLayer") {
      return "; for a deployed net type: 'Proposal' computes the same in C++ (proposal_param: "
             "feat_stride, ...)";
    }
    return "";
  }
  [[noreturn]] void Refuse() const {
    const PythonParameter& param = this->layer_param_.python_param();
    Fail("layers of type Python (here python_param: module '", param.module(), "', layer '",
         param.layer(), "') need Caffe's Python package: run the net from Python (import caffe), ",
         "or name the package's library, ", kPlugin, ", in the environment variable ", kVariable,
         reason_.empty() ? "" : " (", reason_, reason_.empty() ? "" : ")", Twin(param.layer()));
  }

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

namespace {

template <typename Dtype>
PythonLayerFactory<Dtype> CurrentFactory() {
  const std::lock_guard<std::mutex> lock(factory_mutex);
  return Factory<Dtype>();
}

template <typename Dtype>
shared_ptr<Layer<Dtype>> CreatePythonLayer(const LayerParameter& param) {
  PythonLayerFactory<Dtype> factory = CurrentFactory<Dtype>();
  string reason;
  if (!factory) {
    reason = LoadPlugin();
    factory = CurrentFactory<Dtype>();
  }
  if (factory) return factory(param);
  return shared_ptr<Layer<Dtype>>(new MissingPythonLayer<Dtype>(param, reason));
}

}  // namespace

REGISTER_LAYER_CREATOR(Python, CreatePythonLayer);

}  // namespace caffe
