#include "caffe/layer_factory.hpp"

#include <set>

#include "caffe/engine.hpp"
#include "caffe/layer.hpp"
#include "caffe/util/edit_distance.hpp"

namespace caffe {
namespace {

/// Types that public nets of single projects use and that the library leaves out; true if `type` is
/// one of them.
bool IsLeftOut(const string& type) {
  static const std::set<string> types = {"Affinity",
                                         "AssistedExcitation",
                                         "CPMData",
                                         "CenterGridOutput",
                                         "ConnectedComponent",
                                         "DataRandTransform",
                                         "DenseBlock",
                                         "EvalDetection",
                                         "GeneralContrastiveLoss",
                                         "GeneralTripletLoss",
                                         "K1_EuclideanLoss",
                                         "K2_EuclideanLoss",
                                         "LabelSpecificRescale",
                                         "LpEvaluate",
                                         "MalisLoss",
                                         "RegionLoss",
                                         "Repeat",
                                         "SegmentationEvaluate",
                                         "SpatialTransformer",
                                         "VideoData",
                                         "ccpdData"};
  return types.count(type) > 0;
}

}  // namespace

template <typename Dtype>
typename LayerRegistry<Dtype>::CreatorRegistry& LayerRegistry<Dtype>::Registry() {
  static CreatorRegistry registry;
  return registry;
}

template <typename Dtype>
void LayerRegistry<Dtype>::AddCreator(const string& type, Creator creator) {
  const bool added = Registry().emplace(type, creator).second;
  CHECK(added) << "Layer type " << type << " already registered.";
}

template <typename Dtype>
shared_ptr<Layer<Dtype>> LayerRegistry<Dtype>::CreateLayer(const LayerParameter& param) {
  const auto found = Registry().find(param.type());
  if (found == Registry().end()) {
    const string near = DidYouMean(param.type(), LayerTypeList());
    const bool left_out = IsLeftOut(param.type());
    Fail(left_out ? "this library does not include layer type '" : "unknown layer type '",
         param.type(), "'", near.empty() || left_out ? "." : near,
         " A layer of your own: in C++ a class registered with REGISTER_LAYER_CLASS, as in "
         "examples/custom_layer; in Python type: 'Python' with python_param { module layer }, the "
         "class deriving from caffe.Layer");
  }
  ExplainEngine(param);
  return found->second(param);
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
