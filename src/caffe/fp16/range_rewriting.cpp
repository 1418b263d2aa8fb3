#include "caffe/fp16/range_rewriting.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "caffe/io/caffemodel.hpp"
#include "caffe/operation.hpp"
#include "factor_assignment.hpp"

namespace caffe {
namespace {

/// The layers that the inspected net has, as its file states them, but whatever the state.
NetParameter FilteredNet(const NetParameter& net) {
  NetParameter unfiltered = net, filtered;
  unfiltered.mutable_state()->set_phase(TEST);
  Net<float>::FilterNet(unfiltered, &filtered);
  filtered.clear_state();
  for (LayerParameter& layer : *filtered.mutable_layer()) {
    layer.clear_include();
    layer.clear_exclude();
  }
  return filtered;
}

void ClearTypesOf(LayerParameter* layer) {
  layer->clear_forward_type();
  layer->clear_backward_type();
  layer->clear_forward_math();
  layer->clear_backward_math();
}

void ClearDefaultTypes(NetParameter* net) {
  net->clear_default_forward_type();
  net->clear_default_backward_type();
  net->clear_default_forward_math();
  net->clear_default_backward_math();
}

std::vector<int64_t> ShapeOf(const Blob<float>& blob) {
  return {blob.shape().begin(), blob.shape().end()};
}

/// BVLC's statistics are sums; divided by their weight they are what they stand for.
bool HasUnnormalizedStatistics(const LayerRange& layer) {
  if (layer.type != "BatchNorm" || layer.parameters.size() != 3) return false;
  if (layer.parameters[2].magnitudes.largest() <= 1) return false;
  return std::max(layer.parameters[0].magnitudes.largest(),
                  layer.parameters[1].magnitudes.largest()) > kLargestFloat16;
}

}  // namespace

void ClearTypes(NetParameter* net) {
  ClearDefaultTypes(net);
  for (LayerParameter& layer : *net->mutable_layer()) ClearTypesOf(&layer);
}

/// The parameters of a layer of the rewritten net and where they come from.
struct RangeRewriting::LayerWeights {
  LayerParameter param;  ///< of the rewritten net
  int index = -1;        ///< in the inspector's layers; -1: a layer that was put in
  std::vector<shared_ptr<Blob<float>>> blobs;
  std::vector<int> exponents;
  bool divide_statistics = false;
};

/// Writes the rewritten layers, with names for the values and the layers between them.
class RangeRewriting::Emitter {
 public:
  Emitter(const RangeInspector& inspector, const FactorAssignment& factors,
          const NetParameter& original, const RangeRewritingOptions& options)
      : inspector_(inspector),
        graph_(inspector.graph()),
        factors_(factors),
        original_(original),
        options_(options) {
    for (const LayerParameter& layer : original.layer()) {
      layer_names_.insert(layer.name());
      blob_names_.insert(layer.top().begin(), layer.top().end());
    }
    NameValues();
  }

  void Emit(RangeRewriting* result) {
    for (int i = 0; i < static_cast<int>(graph_.layers.size()); ++i) {
      EmitLayer(i, result);
      for (int value : graph_.layers[i].tops) EmitOtherForm(value, result);
    }
  }

 private:
  /// A value may be needed in two forms: as it was, and divided. The producer writes one of them.
  int OtherExponent(int value) const {
    return factors_.raw_exponent(value) == 0 ? factors_.exponent(value) : 0;
  }
  bool NeedsOther(int value) const {
    const int raw = factors_.raw_exponent(value);
    const auto& readers = graph_.values[value].readers;
    if (OtherExponent(value) == raw) return false;
    if (readers.empty()) return raw != 0;  // an output of the net is as it was
    return std::any_of(readers.begin(), readers.end(), [&](const std::pair<int, int>& reader) {
      return factors_.read_exponent(reader.first, reader.second) != raw;
    });
  }

  // From the last value to the first: layers in place share a name with what they overwrite.
  void NameValues() {
    raw_names_.resize(graph_.values.size());
    other_names_.resize(graph_.values.size());
    for (int v = static_cast<int>(graph_.values.size()) - 1; v >= 0; --v) {
      const ValueGraph::Value& value = graph_.values[v];
      const bool other = NeedsOther(v);
      std::string& raw_name = raw_names_[v];
      std::string& other_name = other_names_[v];
      if (value.overwriter >= 0) {
        const auto& reader = value.readers.front();
        const int overwritten_by = graph_.layers[reader.first].tops[reader.second];
        (other ? other_name : raw_name) = raw_names_[overwritten_by];
      } else if (other && value.readers.empty()) {
        other_name = value.blob;
      } else {
        raw_name = value.blob;
      }
      const char* raw_kind = factors_.raw_exponent(v) == 0 ? "_unscaled" : "_scaled";
      const char* other_kind = OtherExponent(v) == 0 ? "_unscaled" : "_scaled";
      if (raw_name.empty() && !value.blob.empty()) raw_name = Fresh(value.blob + raw_kind);
      if (other && other_name.empty()) other_name = Fresh(value.blob + other_kind);
    }
  }

  std::string Fresh(const std::string& wanted) { return Fresh(wanted, &blob_names_); }
  static std::string Fresh(const std::string& wanted, std::set<std::string>* taken) {
    std::string name = wanted;
    for (int i = 2; !taken->insert(name).second; ++i) name = wanted + "_" + std::to_string(i);
    return name;
  }

  void EmitLayer(int index, RangeRewriting* result) {
    const ValueGraph::LayerNode& node = graph_.layers[index];
    Layer<float>& source = *inspector_.net().layers()[node.net_index];
    LayerWeights layer;
    layer.index = index;
    layer.param = original_.layer(index);
    layer.blobs = source.blobs();
    layer.exponents = AbsorbFactors(source, factors_.bottom_exponent(index),
                                    factors_.top_exponent(index), &layer.param);
    AbsorbInCoefficients(factors_.coefficient_exponents(index), &layer.param);
    layer.divide_statistics = HasUnnormalizedStatistics(inspector_.layers()[index]);
    for (int j = 0; j < layer.param.bottom_size(); ++j) {
      const int value = node.bottoms[j];
      const bool raw = factors_.read_exponent(index, j) == factors_.raw_exponent(value);
      layer.param.set_bottom(j, raw ? raw_names_[value] : other_names_[value]);
    }
    for (int j = 0; j < layer.param.top_size(); ++j) {
      layer.param.set_top(j, raw_names_[node.tops[j]]);
    }
    StateTypes(index, &layer.param, result);
    if (layer.divide_statistics) result->normalized_layers_.push_back(layer.param.name());
    *result->net_.add_layer() = layer.param;
    result->weights_.push_back(std::move(layer));
  }

  // What the file set to FLOAT stays so.
  void StateTypes(int index, LayerParameter* layer, RangeRewriting* result) const {
    const bool stated_float = layer->has_forward_type() &&
                              (layer->forward_type() == FLOAT || layer->forward_type() == DOUBLE);
    ClearTypesOf(layer);
    if (stated_float || factors_.stays_float(index)) {
      layer->set_forward_type(FLOAT);
      layer->set_backward_type(FLOAT);
      result->float_layers_.push_back(layer->name());
    } else if (factors_.sums_in_float(index)) {
      layer->set_forward_math(FLOAT);
      layer->set_backward_math(FLOAT);
      result->float_math_layers_.push_back(layer->name());
    }
  }

  void EmitOtherForm(int v, RangeRewriting* result) {
    if (!NeedsOther(v)) return;
    LayerWeights layer;
    LayerParameter& param = layer.param;
    param.set_name(Fresh("rescale_" + other_names_[v], &layer_names_));
    param.set_type("Power");
    param.add_bottom(raw_names_[v]);
    param.add_top(other_names_[v]);
    const int exponent = factors_.raw_exponent(v) - OtherExponent(v);
    param.mutable_power_param()->set_scale(std::ldexp(1.f, exponent));
    if (inspector_.magnitudes(v).ExponentFor(options_.headroom) > 0) {
      param.set_forward_type(FLOAT);
      param.set_backward_type(FLOAT);
    }
    result->inserted_layers_.push_back(param.name());
    *result->net_.add_layer() = param;
    result->weights_.push_back(std::move(layer));
  }

  const RangeInspector& inspector_;
  const ValueGraph& graph_;
  const FactorAssignment& factors_;
  const NetParameter& original_;
  const RangeRewritingOptions& options_;
  std::set<std::string> layer_names_, blob_names_;
  std::vector<std::string> raw_names_, other_names_;  // per value; "" where there is no such form
};

RangeRewriting::RangeRewriting(const RangeInspector& inspector, const NetParameter& net,
                               const RangeRewritingOptions& options) {
  Require(options.headroom >= 1, "the headroom must be 1 or more, got ", options.headroom);
  Require(options.max_subnormal >= 0 && options.max_subnormal <= 1,
          "the share of values that may become subnormal lies between 0 and 1, not at ",
          options.max_subnormal);
  Require(inspector.batches() > 0, "the inspector has seen no batch");
  inspector.RequireFinite();
  const NetParameter original = FilteredNet(net);
  const auto& layers = inspector.layers();
  Require(original.layer_size() == static_cast<int>(layers.size()), "the net has ",
          original.layer_size(), " layers, the inspected one ", layers.size());
  for (int i = 0; i < original.layer_size(); ++i) {
    Require(original.layer(i).name() == layers[i].name, "layer ", i, " of the net is '",
            original.layer(i).name(), "', of the inspected one '", layers[i].name, "'");
  }
  net_ = original;
  net_.clear_layer();
  ClearDefaultTypes(&net_);
  net_.set_default_forward_type(FLOAT16);
  net_.set_default_backward_type(FLOAT16);
  const FactorAssignment factors(inspector, options);
  Emitter(inspector, factors, original, options).Emit(this);
  ReportRegions(inspector, factors);
  ReportFolded(inspector);
}

RangeRewriting::~RangeRewriting() = default;

void RangeRewriting::ReportRegions(const RangeInspector& inspector,
                                   const FactorAssignment& factors) {
  const ValueGraph& graph = inspector.graph();
  struct Ends {
    int from = -1, to = -1;
    bool reaches_output = false;
    ScaledRegion region;
  };
  std::map<int, Ends> found;
  for (int v = 0; v < static_cast<int>(graph.values.size()); ++v) {
    const int exponent = factors.exponent(v);
    if (exponent == 0) continue;
    const ValueGraph::Value& value = graph.values[v];
    Ends& ends = found[factors.class_of(v)];
    ScaledRegion& region = ends.region;
    region.exponent = exponent;
    if (ends.from < 0) ends.from = value.producer;
    ends.reaches_output |= value.readers.empty();
    for (const auto& reader : value.readers) ends.to = std::max(ends.to, reader.first);
    if (std::find(region.blobs.begin(), region.blobs.end(), value.blob) == region.blobs.end()) {
      region.blobs.push_back(value.blob);
    }
    const Magnitudes& magnitudes = inspector.magnitudes(v);
    region.largest = std::max(region.largest, magnitudes.largest());
    region.subnormal_before = std::max(region.subnormal_before, magnitudes.ShareSubnormal());
    region.subnormal_after = std::max(region.subnormal_after, magnitudes.ShareSubnormal(exponent));
  }
  for (auto& entry : found) {
    Ends& ends = entry.second;
    ends.region.from = inspector.layers()[ends.from].name;
    if (!ends.reaches_output) ends.region.to = inspector.layers()[ends.to].name;
    regions_.push_back(std::move(ends.region));
  }
}

void RangeRewriting::ReportFolded(const RangeInspector& inspector) {
  for (const LayerWeights& layer : weights_) {
    for (size_t j = 0; j < layer.exponents.size(); ++j) {
      const int exponent = layer.exponents[j];
      if (exponent == 0) continue;
      const BlobRange& parameter = inspector.layers()[layer.index].parameters[j];
      const Operation* operation = OperationTable::Find(layer.param.type());
      const bool kept_float = operation && operation->float_parameters;
      FoldedFactor folded{layer.param.name(), parameter.name, exponent, 0, 0};
      if (!kept_float && !layer.param.has_forward_type()) {
        folded.subnormal_before = parameter.magnitudes.ShareSubnormal();
        folded.subnormal_after = parameter.magnitudes.ShareSubnormal(-exponent);
      }
      folded_.push_back(folded);
    }
  }
}

std::vector<float> RangeRewriting::Values(const LayerWeights& layer, size_t blob) const {
  const Blob<float>& source = *layer.blobs[blob];
  std::vector<float> values(source.cpu_data(), source.cpu_data() + source.count());
  if (layer.divide_statistics) {
    const double weight = layer.blobs[2]->cpu_data()[0];
    const double factor = blob == 2 || weight == 0 ? 0 : 1 / weight;
    for (float& value : values) value = static_cast<float>(value * factor);
    if (blob == 2) values[0] = 1;
  }
  const int exponent = layer.exponents[blob];
  if (exponent != 0) {
    for (float& value : values) value = std::ldexp(value, exponent);
  }
  return values;
}

NetParameter RangeRewriting::Weights() const {
  NetParameter net;
  net.set_name(net_.name());
  for (const LayerWeights& layer : weights_) {
    LayerParameter* param = net.add_layer();
    *param = layer.param;
    for (size_t i = 0; i < layer.blobs.size(); ++i) {
      BlobProto* blob = param->add_blobs();
      for (int64_t dim : ShapeOf(*layer.blobs[i])) blob->mutable_shape()->add_dim(dim);
      blob->mutable_shape();
      const std::vector<float> values = Values(layer, i);
      blob->mutable_data()->Add(values.begin(), values.end());
    }
  }
  return net;
}

void RangeRewriting::WriteModel(const std::string& file) const {
  NetParameter head;
  head.set_name(net_.name());
  CaffemodelWriter writer(file, head);
  for (const LayerWeights& layer : weights_) {
    std::vector<std::vector<float>> values;
    std::vector<BlobSource> blobs;
    for (size_t i = 0; i < layer.blobs.size(); ++i) values.push_back(Values(layer, i));
    for (size_t i = 0; i < layer.blobs.size(); ++i) {
      blobs.push_back({ShapeOf(*layer.blobs[i]), ElementType::FLOAT, values[i].data(), nullptr});
    }
    writer.WriteLayer(layer.param, blobs);
  }
  writer.Finish();
}

}  // namespace caffe
