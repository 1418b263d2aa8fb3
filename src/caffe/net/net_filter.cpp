// Which layers a net's phase, level and stages include.
#include <algorithm>

#include "caffe/net.hpp"

namespace caffe {
namespace {

bool Contains(const google::protobuf::RepeatedPtrField<string>& stages, const string& stage) {
  return std::find(stages.begin(), stages.end(), stage) != stages.end();
}

// Layers with include rules are left out unless one is met; others are kept unless an exclude rule
// is met.
template <typename Dtype>
bool Includes(const NetState& state, const LayerParameter& layer) {
  Require(layer.include_size() == 0 || layer.exclude_size() == 0, "layer '", layer.name(), "' (",
          layer.type(), "): specify either include rules or exclude rules, not both");
  for (const NetStateRule& rule : layer.include()) {
    if (Net<Dtype>::StateMeetsRule(state, rule, layer.name())) return true;
  }
  for (const NetStateRule& rule : layer.exclude()) {
    if (Net<Dtype>::StateMeetsRule(state, rule, layer.name())) return false;
  }
  return layer.include_size() == 0;
}

template <typename... Parts>
bool Differs(const string& layer_name, const Parts&... parts) {
  LOG_IF(INFO, Caffe::root_solver())
      << Join(parts...) << " specified by a rule in layer " << layer_name;
  return false;
}

}  // namespace

template <typename Dtype>
void Net<Dtype>::FilterNet(const NetParameter& param, NetParameter* param_filtered) {
  NetParameter filtered(param);
  filtered.clear_layer();
  for (const LayerParameter& layer : param.layer()) {
    if (Includes<Dtype>(param.state(), layer)) filtered.add_layer()->CopyFrom(layer);
  }
  param_filtered->Swap(&filtered);
}

template <typename Dtype>
bool Net<Dtype>::StateMeetsRule(const NetState& state, const NetStateRule& rule,
                                const string& layer_name) {
  if (rule.has_phase() && rule.phase() != state.phase()) {
    return Differs(layer_name, "The NetState phase (", state.phase(), ") differed from the phase (",
                   rule.phase(), ")");
  }
  if (rule.has_min_level() && state.level() < rule.min_level()) {
    return Differs(layer_name, "The NetState level (", state.level(), ") is above the min_level (",
                   rule.min_level(), ")");
  }
  if (rule.has_max_level() && state.level() > rule.max_level()) {
    return Differs(layer_name, "The NetState level (", state.level(), ") is above the max_level (",
                   rule.max_level(), ")");
  }
  for (const string& stage : rule.stage()) {
    if (!Contains(state.stage(), stage)) {
      return Differs(layer_name, "The NetState did not contain stage '", stage, "'");
    }
  }
  for (const string& stage : rule.not_stage()) {
    if (Contains(state.stage(), stage)) {
      return Differs(layer_name, "The NetState contained a not_stage '", stage, "'");
    }
  }
  return true;
}

template void Net<float>::FilterNet(const NetParameter&, NetParameter*);
template void Net<double>::FilterNet(const NetParameter&, NetParameter*);
template bool Net<float>::StateMeetsRule(const NetState&, const NetStateRule&, const string&);
template bool Net<double>::StateMeetsRule(const NetState&, const NetStateRule&, const string&);

}  // namespace caffe
