#include "factor_assignment.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "caffe/float16.hpp"
#include "caffe/operation.hpp"

namespace caffe {
namespace {

/// How much weights may differ from their FP16 forms, relative, in the quadratic mean: half a
/// unit of FP16's last digit. Rounding alone gives a quarter of that.
const double kWeightError = std::ldexp(1.0, -11);

/// Where weights are made to fit. FP16 holds 2^-24 to 2^16.
constexpr int kLargestExponent = 40;

bool KeepsFloatParameters(const std::string& type) {
  const Operation* operation = OperationTable::Find(type);
  return operation && operation->float_parameters;
}

}  // namespace

FactorAssignment::FactorAssignment(const RangeInspector& inspector,
                                   const RangeRewritingOptions& options)
    : inspector_(inspector), graph_(inspector.graph()), options_(options) {
  for (size_t i = 0; i < graph_.layers.size(); ++i) {
    const ValueGraph::LayerNode& node = graph_.layers[i];
    int carrier = 0;  // of a product: the bottom with the largest values
    for (int j = 1; j < static_cast<int>(node.bottoms.size()); ++j) {
      if (inspector.magnitudes(node.bottoms[j]).largest() >
          inspector.magnitudes(node.bottoms[carrier]).largest()) {
        carrier = j;
      }
    }
    rules_.push_back(FactorRuleOf(LayerAt(static_cast<int>(i)),
                                  static_cast<int>(node.bottoms.size()),
                                  static_cast<int>(node.tops.size()), carrier));
  }
  stays_float_.assign(graph_.layers.size(), false);
  sums_in_float_.assign(graph_.layers.size(), false);
  do {
    MakeClasses();
    ChooseExponents();
  } while (LoosenJoins());
  FitWeights();
  FindFloatLayers();
}

Layer<float>& FactorAssignment::LayerAt(int layer) const {
  return *inspector_.net().layers()[graph_.layers[layer].net_index];
}

void FactorAssignment::JoinValues(int a, int b) {
  const int from = std::max(classes_[a], classes_[b]), to = std::min(classes_[a], classes_[b]);
  std::replace(classes_.begin(), classes_.end(), from, to);
}

// Joins the values at all slots of one kind; `first` is one of them, or -1.
void FactorAssignment::Join(const std::vector<int>& values, const std::vector<FactorSlot>& slots,
                            FactorSlot which, int* first) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (slots[i] != which) continue;
    if (*first >= 0) JoinValues(*first, values[i]);
    *first = values[i];
  }
}

void FactorAssignment::MakeClasses() {
  classes_.resize(graph_.values.size());
  std::iota(classes_.begin(), classes_.end(), 0);
  for (size_t i = 0; i < graph_.layers.size(); ++i) {
    const ValueGraph::LayerNode& node = graph_.layers[i];
    int carried = -1, free_bottom = -1, free_top = -1;
    Join(node.bottoms, rules_[i].bottoms, FactorSlot::CARRIED, &carried);
    Join(node.tops, rules_[i].tops, FactorSlot::CARRIED, &carried);
    Join(node.bottoms, rules_[i].bottoms, FactorSlot::FREE, &free_bottom);
    Join(node.tops, rules_[i].tops, FactorSlot::FREE, &free_top);
  }
  TieSharedParameters();
}

// Layers that share parameters absorb the same factors. Those of one type get equal exponents at
// their bottoms and at their tops; of different types, one exponent everywhere, so that products
// stay as they are.
void FactorAssignment::TieSharedParameters() {
  std::map<std::string, int> owners;  // by name
  for (int i = 0; i < static_cast<int>(graph_.layers.size()); ++i) {
    for (const ParamSpec& spec : LayerAt(i).layer_param().param()) {
      if (spec.name().empty()) continue;
      const int owner = owners.emplace(spec.name(), i).first->second;
      if (owner == i) continue;
      const ValueGraph::LayerNode &a = graph_.layers[owner], &b = graph_.layers[i];
      const bool alike = LayerAt(owner).layer_param().type() == LayerAt(i).layer_param().type();
      int bottom = -1, top = -1;
      int* const top_set = alike ? &top : &bottom;
      for (int layer : {owner, i}) {
        const ValueGraph::LayerNode& node = layer == owner ? a : b;
        for (FactorSlot slot : {FactorSlot::FREE, FactorSlot::CARRIED}) {
          Join(node.bottoms, rules_[layer].bottoms, slot, &bottom);
          Join(node.tops, rules_[layer].tops, slot, top_set);
        }
      }
    }
  }
}

bool FactorAssignment::ReadBy(int value, FactorSlot slot) const {
  const auto& readers = graph_.values[value].readers;
  return std::any_of(readers.begin(), readers.end(), [&](const std::pair<int, int>& reader) {
    return rules_[reader.first].bottoms[reader.second] == slot;
  });
}

bool FactorAssignment::BeyondRange(int value) const {
  return inspector_.magnitudes(value).ExponentFor(options_.headroom) > 0;
}

// Values between rigid layers alone need no factor: they are FLOAT.
void FactorAssignment::ChooseExponents() {
  exponents_.assign(graph_.values.size(), 0);
  for (int v = 0; v < static_cast<int>(graph_.values.size()); ++v) {
    const ValueGraph::Value& value = graph_.values[v];
    const bool rigid = rules_[value.producer].tops[value.top] == FactorSlot::RIGID &&
                       !ReadBy(v, FactorSlot::CARRIED) && !ReadBy(v, FactorSlot::FREE) &&
                       !ReadBy(v, FactorSlot::LOOSE);
    if (rigid) continue;
    int& exponent = exponents_[classes_[v]];
    exponent = std::max(exponent, inspector_.magnitudes(v).ExponentFor(options_.headroom));
  }
}

// Makes branches of sums loose that their class's factor makes subnormal. False if there are none.
bool FactorAssignment::LoosenJoins() {
  bool loosened = false;
  for (int i = 0; i < static_cast<int>(graph_.layers.size()); ++i) {
    if (!MayBeLoose(LayerAt(i).layer_param())) continue;
    const std::vector<int>& bottoms = graph_.layers[i].bottoms;
    for (size_t j = 0; j < bottoms.size(); ++j) {
      const Magnitudes& magnitudes = inspector_.magnitudes(bottoms[j]);
      const double alone = magnitudes.ShareSubnormal(magnitudes.ExponentFor(options_.headroom));
      const double share = magnitudes.ShareSubnormal(exponent(bottoms[j]));
      FactorSlot& slot = rules_[i].bottoms[j];
      if (slot == FactorSlot::LOOSE || share <= alone + options_.max_subnormal) continue;
      slot = FactorSlot::LOOSE;
      loosened = true;
    }
  }
  return loosened;
}

std::vector<int> FactorAssignment::coefficient_exponents(int layer) const {
  const std::vector<FactorSlot>& slots = rules_[layer].bottoms;
  if (std::count(slots.begin(), slots.end(), FactorSlot::LOOSE) == 0) return {};
  std::vector<int> exponents;
  for (int value : graph_.layers[layer].bottoms) {
    exponents.push_back(exponent(value) - exponent(graph_.layers[layer].tops[0]));
  }
  return exponents;
}

// True if a factor other than 1 costs an additional layer.
bool FactorAssignment::IsAnchored(int value) const {
  const ValueGraph::Value& source = graph_.values[value];
  return source.readers.empty() || ReadBy(value, FactorSlot::RIGID) ||
         rules_[source.producer].tops[source.top] == FactorSlot::RIGID;
}

// Doubles what the value's class is divided by, if that costs nothing.
bool FactorAssignment::Raise(int value) {
  int& exponent = exponents_[classes_[value]];
  if (exponent >= kLargestExponent) return false;
  for (int v = 0; v < static_cast<int>(graph_.values.size()); ++v) {
    if (classes_[v] != classes_[value]) continue;
    if (exponent == 0 && IsAnchored(v)) return false;
    const Magnitudes& magnitudes = inspector_.magnitudes(v);
    const double subnormal = magnitudes.ShareSubnormal(exponent + 1);
    if (subnormal > options_.max_subnormal && subnormal > magnitudes.ShareSubnormal(exponent)) {
      return false;
    }
  }
  ++exponent;
  return true;
}

double FactorAssignment::WeightError(int layer, size_t blob, int exponent) {
  const auto key = std::make_tuple(layer, blob, exponent);
  const auto found = weight_errors_.find(key);
  if (found != weight_errors_.end()) return found->second;
  const auto& weights = *LayerAt(layer).blobs()[blob];
  double error = 0, total = 0;
  for (int i = 0; i < weights.count(); ++i) {
    const float weight = std::ldexp(weights.cpu_data()[i], exponent);
    const double difference = double(weight) - float(float16(weight));
    error += difference * difference;
    total += double(weight) * weight;
  }
  return weight_errors_[key] = total == 0 ? 0 : std::sqrt(error / total);
}

// As FP16 will hold them. Digits matter in the first blob, what is multiplied.
FactorAssignment::Weights FactorAssignment::WeightsOf(int layer) {
  Layer<float>& source = LayerAt(layer);
  if (KeepsFloatParameters(source.layer_param().type())) return Weights::FIT;
  LayerParameter scratch = source.layer_param();
  const std::vector<int> exponents =
      AbsorbFactors(source, bottom_exponent(layer), top_exponent(layer), &scratch);
  for (size_t i = 0; i < exponents.size(); ++i) {
    const Magnitudes& magnitudes = inspector_.layers()[layer].parameters[i].magnitudes;
    if (std::ldexp(magnitudes.largest(), exponents[i]) > kLargestFloat16) {
      return Weights::TOO_LARGE;
    }
  }
  if (exponents.empty() || WeightError(layer, 0, exponents[0]) <= kWeightError) {
    return Weights::FIT;
  }
  return Weights::TOO_SMALL;
}

// Lets the layer's weights become twice as large (small); false if it cannot.
bool FactorAssignment::RaiseAdjacent(int layer, Weights weights) {
  const ValueGraph::LayerNode& node = graph_.layers[layer];
  const bool before = weights == Weights::TOO_SMALL;
  const std::vector<int>& values = before ? node.bottoms : node.tops;
  const std::vector<FactorSlot>& slots = before ? rules_[layer].bottoms : rules_[layer].tops;
  for (size_t i = 0; i < values.size(); ++i) {
    if (slots[i] == FactorSlot::FREE) return Raise(values[i]);
  }
  return false;
}

// Exponents only grow, and not beyond the largest: this ends.
void FactorAssignment::FitWeights() {
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < static_cast<int>(graph_.layers.size()); ++i) {
      const Weights weights = stays_float_[i] ? Weights::FIT : WeightsOf(i);
      if (weights == Weights::FIT) continue;
      changed = true;
      if (!RaiseAdjacent(i, weights)) stays_float_[i] = true;
    }
  }
}

void FactorAssignment::FindFloatLayers() {
  for (int i = 0; i < static_cast<int>(graph_.layers.size()); ++i) {
    const ValueGraph::LayerNode& node = graph_.layers[i];
    const FactorRule& rule = rules_[i];
    const Operation* operation = OperationTable::Find(LayerAt(i).layer_param().type());
    bool rigid = rule.Has(FactorSlot::RIGID), beyond = false;
    for (size_t j = 0; j < node.bottoms.size(); ++j) {
      const bool own_float = operation && operation->IsFloatBottom(static_cast<int>(j));
      beyond |= rule.bottoms[j] == FactorSlot::RIGID && !own_float && BeyondRange(node.bottoms[j]);
    }
    for (size_t j = 0; j < node.tops.size(); ++j) {
      const bool own_float = operation && operation->IsFloatTop(static_cast<int>(j));
      beyond |= rule.tops[j] == FactorSlot::RIGID && !own_float && BeyondRange(node.tops[j]);
    }
    const InnerRanges& inside = inspector_.layers()[i].inside;
    const bool commutes = rule.Has(FactorSlot::CARRIED) || rule.Has(FactorSlot::FREE);
    if (!commutes) {
      beyond |= ExponentFor(inspector_.layers()[i].LargestInside(), options_.headroom) > 0;
    }
    if (rigid && beyond) stays_float_[i] = true;
    const auto sum = inside.find("partial sum");
    sums_in_float_[i] = sum != inside.end() && rule.Has(FactorSlot::FREE) &&
                        std::ldexp(sum->second, -top_exponent(i)) > kLargestFloat16;
  }
}

int FactorAssignment::raw_exponent(int value) const {
  const ValueGraph::Value& source = graph_.values[value];
  return rules_[source.producer].tops[source.top] == FactorSlot::RIGID ? 0 : exponent(value);
}

int FactorAssignment::read_exponent(int layer, int bottom) const {
  const int value = graph_.layers[layer].bottoms[bottom];
  switch (rules_[layer].bottoms[bottom]) {
    case FactorSlot::RIGID:
      return 0;
    case FactorSlot::UNREAD:
      return raw_exponent(value);
    default:
      return exponent(value);
  }
}

namespace {

int FindSlot(const std::vector<FactorSlot>& slots) {
  for (FactorSlot wanted : {FactorSlot::FREE, FactorSlot::CARRIED, FactorSlot::LOOSE}) {
    const auto found = std::find(slots.begin(), slots.end(), wanted);
    if (found != slots.end()) return static_cast<int>(found - slots.begin());
  }
  return -1;
}

}  // namespace

int FactorAssignment::bottom_exponent(int layer) const {
  const int slot = FindSlot(rules_[layer].bottoms);
  return slot < 0 ? 0 : exponent(graph_.layers[layer].bottoms[slot]);
}

int FactorAssignment::top_exponent(int layer) const {
  const int slot = FindSlot(rules_[layer].tops);
  return slot < 0 ? 0 : exponent(graph_.layers[layer].tops[slot]);
}

}  // namespace caffe
