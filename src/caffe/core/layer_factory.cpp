#include "caffe/layer_factory.hpp"

#include <algorithm>
#include <mutex>
#include <set>

#include "caffe/core/limits.hpp"
#include "caffe/engine.hpp"
#include "caffe/layer.hpp"
#include "caffe/util/text/edit_distance.hpp"
#include "layer_plugin.hpp"
#include "left_out_types.hpp"

namespace caffe {
namespace {

/// The layer types of BVLC Caffe 1.0: programs that register one of them never worked with it, and
/// the library itself relies on what they compute.
constexpr const char* kTypesOfBvlcCaffe[] = {"AbsVal",
                                             "Accuracy",
                                             "ArgMax",
                                             "BNLL",
                                             "BatchNorm",
                                             "BatchReindex",
                                             "Bias",
                                             "Concat",
                                             "ContrastiveLoss",
                                             "Convolution",
                                             "Crop",
                                             "Data",
                                             "Deconvolution",
                                             "Dropout",
                                             "DummyData",
                                             "ELU",
                                             "Eltwise",
                                             "Embed",
                                             "EuclideanLoss",
                                             "Exp",
                                             "Filter",
                                             "Flatten",
                                             "HDF5Data",
                                             "HDF5Output",
                                             "HingeLoss",
                                             "Im2col",
                                             "ImageData",
                                             "InfogainLoss",
                                             "InnerProduct",
                                             "Input",
                                             "LRN",
                                             "LSTM",
                                             "LSTMUnit",
                                             "Log",
                                             "MVN",
                                             "MemoryData",
                                             "MultinomialLogisticLoss",
                                             "PReLU",
                                             "Parameter",
                                             "Pooling",
                                             "Power",
                                             "Python",
                                             "RNN",
                                             "ReLU",
                                             "Reduction",
                                             "Reshape",
                                             "SPP",
                                             "Scale",
                                             "Sigmoid",
                                             "SigmoidCrossEntropyLoss",
                                             "Silence",
                                             "Slice",
                                             "Softmax",
                                             "SoftmaxWithLoss",
                                             "Split",
                                             "TanH",
                                             "Threshold",
                                             "Tile",
                                             "WindowData"};

template <size_t count>
bool IsAmong(const char* const (&types)[count], const string& type) {
  return std::find(types, types + count, type) != types + count;
}

/// The types that were registered from each origin.
template <typename Dtype>
struct RegisteredTypes {
  using Creators = typename LayerRegistry<Dtype>::CreatorRegistry;
  Creators built_in, outside;

  Creators& Of(LayerOrigin origin) { return origin == LayerOrigin::BUILT_IN ? built_in : outside; }
  bool HasTwo(const string& type) const { return built_in.count(type) && outside.count(type); }
};

template <typename Dtype>
RegisteredTypes<Dtype>& Registered() {
  static RegisteredTypes<Dtype> types;
  return types;
}

/// Logs once for each type, not for each Dtype.
void LogReplacement(const string& type) {
  static std::mutex mutex;
  static std::set<string> logged;
  const std::lock_guard<std::mutex> lock(mutex);
  if (!logged.insert(type).second) return;
  LOG(INFO) << "Layer type " << type << " is the one that was registered outside the library; it "
            << "replaces the library's own.";
}

}  // namespace

template <typename Dtype>
typename LayerRegistry<Dtype>::CreatorRegistry& LayerRegistry<Dtype>::Registry() {
  static CreatorRegistry registry;
  return registry;
}

// Called before main, in an order that only the linker knows.
template <typename Dtype>
void LayerRegistry<Dtype>::AddCreator(const string& type, Creator creator, LayerOrigin origin) {
  RegisteredTypes<Dtype>& registered = Registered<Dtype>();
  const bool added = registered.Of(origin).emplace(type, creator).second;
  string why;
  if (!added) {
    why = "Layer type " + type + " already registered.";
  } else if (registered.HasTwo(type) && IsAmong(kTypesOfBvlcCaffe, type)) {
    why =
        "Layer type " + type +
        " already registered: it is one of Caffe's own. Give the layer that is registered outside "
        "the library another name.";
    registered.Of(origin).erase(type);
  }
  if (!why.empty()) {
    LOG_IF(FATAL, !layer_plugin::Refuse(why)) << why;
    return;
  }
  if (origin == LayerOrigin::OUTSIDE || !registered.HasTwo(type)) Registry()[type] = creator;
}

template <typename Dtype>
bool LayerRegistry<Dtype>::IsReplaced(const string& type) {
  // A program's class of the library's name brings a creator of that name, too, which the linker
  // puts in the place of the library's: both are the same function then.
  if (Registered<Dtype>().HasTwo(type)) return true;
  const auto& built_in = Registered<Dtype>().built_in;
  const auto own = built_in.find(type);
  if (own == built_in.end()) return false;
  const auto now = Registry().find(type);
  return now == Registry().end() || now->second != own->second;
}

template <typename Dtype>
shared_ptr<Layer<Dtype>> LayerRegistry<Dtype>::CreateLayer(const LayerParameter& param) {
  limits::CheckAccess(param);
  const auto found = Registry().find(param.type());
  if (found == Registry().end()) {
    const string near = DidYouMean(param.type(), LayerTypeList());
    const bool left_out = IsAmong(kLeftOutTypes, param.type());
    Fail(left_out ? "this library does not include layer type '" : "unknown layer type '",
         param.type(), "'", near.empty() || left_out ? "." : near,
         " A layer of your own: in C++ a class registered with REGISTER_LAYER_CLASS, as in "
         "examples/custom_layer; in Python type: 'Python' with python_param { module layer }, the "
         "class deriving from caffe.Layer");
  }
  const bool is_replaced = IsReplaced(param.type());
  if (is_replaced) {
    LogReplacement(param.type());
  } else {
    ExplainEngine(param);
  }
  shared_ptr<Layer<Dtype>> layer = found->second(param);
  layer->is_built_in_ = !is_replaced && Registered<Dtype>().built_in.count(param.type()) > 0;
  layer->layer_param_.set_type(param.type());
  return layer;
}

template <typename Dtype>
vector<string> LayerRegistry<Dtype>::LayerTypeList() {
  vector<string> types;
  for (const auto& entry : Registry()) types.push_back(entry.first);
  return types;
}

template class LayerRegistry<float>;
template class LayerRegistry<double>;

}  // namespace caffe
