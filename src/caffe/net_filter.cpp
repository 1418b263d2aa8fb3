// Which layers of a file belong to a net: include and exclude rules.
#include <algorithm>

#include "caffe/net.hpp"

namespace caffe {
namespace {

template <typename Stages>
bool Has(const Stages& stages, const string& stage) {
  return std::find(stages.begin(), stages.end(), stage) != stages.end();
}

}  // namespace

template <typename Dtype>
bool Net<Dtype>::StateMeetsRule(const NetState& state, const NetStateRule& rule,
                                const string& layer_name) {
  const auto unmet = [&layer_name](const string& why) {
    LOG_IF(INFO, Caffe::root_solver()) << "The NetState " << why << " a rule in layer " << layer_name;
    return false;
  };
  if (rule.has_phase() && rule.phase() != state.phase()) {
    return unmet(Join("phase (", state.phase(), ") differed from the phase (", rule.phase(),
                      ") specified by"));
  }
  if (rule.has_min_level() && state.level() < rule.min_level()) {
    return unmet(Join("level (", state.level(), ") is below the min_level (", rule.min_level(),
                      ") specified by"));
  }
  if (rule.has_max_level() && state.level() > rule.max_level()) {
    return unmet(Join("level (", state.level(), ") is above the max_level (", rule.max_level(),
                      ") specified by"));
  }
  for (const string& stage : rule.stage()) {
    if (!Has(state.stage(), stage)) {
      return unmet(Join("did not contain stage '", stage, "' specified by"));
    }
  }
  for (const string& stage : rule.not_stage()) {
    if (Has(state.stage(), stage)) {
      return unmet(Join("contained a not_stage '", stage, "' specified by"));
    }
  }
  return true;
}

template <typename Dtype>
void Net<Dtype>::FilterNet(const NetParameter& param, NetParameter* param_filtered) {
  NetParameter filtered(param);
  filtered.clear_layer();
  const NetState& state = param.state();
  for (const LayerParameter& layer : param.layer()) {
    Require(layer.include_size() == 0 || layer.exclude_size() == 0, "layer '", layer.name(),
            "': give include rules or exclude rules, not both");
    const auto meets = [&](const NetStateRule& rule) {
      return StateMeetsRule(state, rule, layer.name());
    };
    const bool included =
        layer.include_size() == 0
            ? std::none_of(layer.exclude().begin(), layer.exclude().end(), meets)
            : std::any_of(layer.include().begin(), layer.include().end(), meets);
    if (included) filtered.add_layer()->CopyFrom(layer);
  }
  param_filtered->Swap(&filtered);
}

template bool Net<float>::StateMeetsRule(const NetState&, const NetStateRule&, const string&);
template bool Net<double>::StateMeetsRule(const NetState&, const NetStateRule&, const string&);
template void Net<float>::FilterNet(const NetParameter&, NetParameter*);
template void Net<double>::FilterNet(const NetParameter&, NetParameter*);

}  // namespace caffe
