#include "caffe/layer_factory.hpp"

#include "caffe/engine.hpp"
#include "caffe/layer.hpp"
#include "caffe/util/edit_distance.hpp"

namespace caffe {

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
    Fail("unknown layer type '", param.type(), "'", near.empty() ? "." : near,
         " A layer of your own is registered with REGISTER_LAYER_CLASS (caffe/layer_factory.hpp)");
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
