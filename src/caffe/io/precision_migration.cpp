#include "caffe/io/precision_migration.hpp"
#include "caffe/core/error_context.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>

#include "caffe/error.hpp"
#include "caffe/io/proto_text.hpp"
#include "caffe/operation.hpp"
#include "caffe/util/text/listed.hpp"
#include "caffe/util/text_file.hpp"

namespace caffe {

namespace {

constexpr const char* kDefaultTypes[] = {"default_forward_type", "default_backward_type",
                                         "default_forward_math", "default_backward_math"};
// Other fields of a net that only NVCaffe has and only half precision needs.
constexpr const char* kLossScaling[] = {"global_grad_scale", "global_grad_scale_adaptive",
                                        "default_cudnn_math_override"};
constexpr const char* kLayerTypes[] = {"forward_type", "backward_type", "forward_math",
                                       "backward_math", "cudnn_math_override"};

std::string Lowercase(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

template <typename Layer>
LayerIdentity Identity(const Layer& layer) {
  LayerIdentity identity;
  identity.name = layer.name();
  identity.bottoms.assign(layer.bottom().begin(), layer.bottom().end());
  identity.tops.assign(layer.top().begin(), layer.top().end());
  return identity;
}

/// The layers of a prototxt of any age.
std::vector<LayerIdentity> Identities(const NetParameter& net) {
  std::vector<LayerIdentity> identities;
  for (const LayerParameter& layer : net.layer()) {
    identities.push_back(Identity(layer));
    identities.back().type = layer.type();
    for (const ParamSpec& param : layer.param()) {
      identities.back().param_names.push_back(param.name());
    }
  }
  for (const V1LayerParameter& layer : net.layers()) {
    identities.push_back(Identity(layer));
    if (layer.has_layer()) identities.back().name = layer.layer().name();
    identities.back().param_names.assign(layer.param().begin(), layer.param().end());
  }
  return identities;
}

/// True for the layers that training in integers puts in, which a prototxt need not name.
bool IsInserted(const ModelLayer& layer) {
  const std::string ending = "_quantization";
  return layer.type == "FakeQuantization" && layer.name.size() > ending.size() &&
         layer.name.compare(layer.name.size() - ending.size(), ending.size(), ending) == 0;
}

/// The names of the layers with weights that are none of the net's, but for inserted ones.
std::vector<std::string> Strangers(const std::vector<ModelLayer>& layers,
                                   const std::vector<LayerIdentity>& net) {
  std::set<std::string> known;
  for (const LayerIdentity& layer : net) known.insert(layer.name);
  std::vector<std::string> names;
  for (const ModelLayer& layer : layers) {
    const bool told = layer.blobs.empty() || known.count(layer.name) || IsInserted(layer);
    if (!told) names.push_back(layer.name);
  }
  return names;
}

/// Types that have weights whatever their fields say, but for Bias and Scale with two bottoms.
bool HasWeights(const LayerParameter& layer) {
  static const std::set<std::string> types = {
      "BN",           "BatchNorm",     "Bias",  "Convolution",          "ConvolutionDepthwise",
      "CenterLoss",   "Deconvolution", "Embed", "DepthwiseConvolution", "InnerDistance",
      "InnerProduct", "LSTM",          "Lstm",  "MarginInnerProduct",   "PReLU",
      "Parameter",    "RNN",           "Scale"};
  const bool takes_two = layer.type() == "Bias" || layer.type() == "Scale";
  return types.count(layer.type()) && !(takes_two && layer.bottom_size() > 1);
}
bool HasWeights(const V1LayerParameter& layer) {
  return layer.type() == V1LayerParameter::CONVOLUTION ||
         layer.type() == V1LayerParameter::DECONVOLUTION ||
         layer.type() == V1LayerParameter::INNER_PRODUCT;
}

/// The names of the net's layers that have weights and no blobs in `stored`, each once. A Scale
/// layer behind a BatchNorm of five blobs takes its weights from these.
std::vector<std::string> LayersWithout(const std::map<std::string, size_t>& stored,
                                       const NetParameter& net) {
  std::vector<std::string> names;
  std::set<std::string> whole;  // tops of BatchNorm layers with five blobs
  const auto add = [&](const std::string& name) {
    if (!stored.count(name) && !std::count(names.begin(), names.end(), name)) names.push_back(name);
  };
  for (const LayerParameter& layer : net.layer()) {
    const auto found = stored.find(layer.name());
    const bool five = layer.type() == "BatchNorm" && found != stored.end() && found->second == 5;
    if (five && layer.top_size() == 1) whole.insert(layer.top(0));
    const bool given =
        layer.type() == "Scale" && layer.bottom_size() == 1 && whole.count(layer.bottom(0));
    if (HasWeights(layer) && !given) add(layer.name());
  }
  for (const V1LayerParameter& layer : net.layers()) {
    if (HasWeights(layer)) add(layer.name());
  }
  return names;
}

ModelLayers ReadModel(const std::string& model, const NetParameter& net) {
  return IsHdf5File(model) ? ModelLayers::FromHdf5(model, Identities(net))
                           : ModelLayers::FromCaffemodel(model);
}

std::optional<ElementType> KnownPrecision(const std::string& name) {
  const std::string lower = Lowercase(name);
  if (lower == "fp16" || lower == "float16") return ElementType::FLOAT16;
  if (lower == "fp32" || lower == "float") return ElementType::FLOAT;
  return std::nullopt;
}

/// Values that overflowed, in all layers.
int64_t Overflowed(const std::vector<LayerConversion>& layers) {
  int64_t overflowed = 0;
  for (const LayerConversion& layer : layers) overflowed += layer.counts.overflowed;
  return overflowed;
}

}  // namespace

ElementType PrecisionNamed(const std::string& flag, const std::string& name) {
  if (const auto precision = KnownPrecision(name)) return *precision;
  Fail(flag, " ", name, ": valid are fp16 (FLOAT16) and fp32 (FLOAT)");
}

ElementType MathNamed(const std::string& flag, const std::string& name) {
  const std::string lower = Lowercase(name);
  if (lower == "bf16" || lower == "bfloat16") return ElementType::BFLOAT16;
  if (const auto precision = KnownPrecision(name)) return *precision;
  Fail(flag, " ", name, ": valid are fp16 (FLOAT16), bf16 (BFLOAT16) and fp32 (FLOAT)");
}

BatchNormForm BatchNormFormNamed(const std::string& flag, const std::string& name) {
  if (name == "keep") return BatchNormForm::KEEP;
  if (name == "bvlc") return BatchNormForm::BVLC;
  if (name == "nvcaffe") return BatchNormForm::NVCAFFE;
  Fail(flag, " ", name, ": valid are keep, bvlc (3 blobs and a Scale layer) and nvcaffe (5 blobs)");
}

PrecisionMigration::PrecisionMigration(const std::string& prototxt, const std::string& model,
                                       const MigrationOptions& options)
    : options_(options) {
  ReadProtoText(prototxt, &net_);
  model_ = ReadModel(model, net_);
  CheckNames(prototxt, model);
  const BatchNormPlan plan(net_, options.batch_norm);
  notes_.insert(notes_.end(), plan.notes().begin(), plan.notes().end());
  WithFile(prototxt, [&] { text_ = EditedText(ReadTextFile(prototxt), plan); });
  WithFile(model, [&] { plan.EditWeights(&model_.layers); });
}

void PrecisionMigration::CheckNames(const std::string& prototxt, const std::string& model) {
  std::map<std::string, size_t> stored;  // how many blobs each layer has
  std::string first;
  for (const ModelLayer& layer : model_.layers) {
    if (layer.blobs.empty()) continue;
    if (stored.empty()) first = layer.name;
    stored[layer.name] = layer.blobs.size();
  }
  const std::vector<LayerIdentity> net = Identities(net_);
  const bool found = std::any_of(net.begin(), net.end(), [&](const LayerIdentity& layer) {
    return stored.count(layer.name) > 0;
  });
  Require(!stored.empty(), Error::File{model}, ": no layer has weights in it");
  Require(found, Error::File{model}, ": no layer with weights is called like one of ", prototxt,
          " (the first is '", first, "'): are these files of one net?");
  NoteNames(Join("layers with weights that ", prototxt, " has not, converted all the same: "),
            Strangers(model_.layers, net));
  NoteNames(Join("layers of ", prototxt, " that have no weights in ", model,
                 " and keep their fillers' values: "),
            LayersWithout(stored, net_));
}

void PrecisionMigration::NoteNames(const std::string& what, const std::vector<std::string>& names) {
  if (!names.empty()) notes_.push_back(what + ListedQuoted(names));
}

std::string PrecisionMigration::EditedText(const std::string& text,
                                           const BatchNormPlan& plan) const {
  const std::vector<TextField> fields = ScanTextFields(text);
  TextEdits edits(text);
  const auto remove = [&edits](const std::vector<TextField>& from, const char* name) {
    for (const TextField* field : FieldsNamed(from, name)) edits.Remove(*field);
  };
  for (const char* name : kDefaultTypes) remove(fields, name);
  if (options_.to == ElementType::FLOAT16) {
    std::string lines;
    for (const char* name : kDefaultTypes) {
      const bool is_math = std::string(name).find("math") != std::string::npos;
      lines += Join(name, ": ", is_math ? Name(options_.math) : "FLOAT16", "\n");
    }
    edits.InsertAtHead(fields, lines);
  } else {
    for (const char* name : kLossScaling) remove(fields, name);
    for (const TextField* layer : FieldsNamed(fields, "layer")) {
      for (const char* name : kLayerTypes) remove(layer->fields, name);
    }
  }
  plan.EditText(text, fields, &edits);
  return edits.Apply();
}

ModelLayers::Storage PrecisionMigration::StorageOf(const ModelLayer& layer) const {
  if (options_.to == ElementType::FLOAT) return {ElementType::FLOAT, false, options_.clamp};
  std::string type = layer.type;
  bool stays = false;
  for (const LayerParameter& described : net_.layer()) {
    if (described.name() != layer.name) continue;
    if (type.empty()) type = described.type();
    stays |= described.has_forward_type() && described.forward_type() != caffe::FLOAT16;
  }
  // As Layer::DeclareParameterTypes has it. Old layers' types all have kernels for FLOAT16.
  const Operation* operation = OperationTable::Find(type);
  const bool native = operation && operation->native && !operation->float_parameters;
  stays |= !type.empty() && !native;
  return {stays ? ElementType::FLOAT : ElementType::FLOAT16, true, options_.clamp};
}

std::vector<LayerConversion> PrecisionMigration::WriteModel(AtomicFile* file) const {
  return model_.Write([this](const ModelLayer& layer) { return StorageOf(layer); }, file);
}

std::string ConversionFaults(const std::vector<LayerConversion>& layers) {
  const int64_t overflowed = Overflowed(layers);
  int64_t not_finite = 0;
  for (const LayerConversion& layer : layers) {
    not_finite += layer.counts.nans + layer.counts.infinities;
  }
  std::string faults;
  if (overflowed > 0) faults = Join(overflowed, " values overflow");
  if (not_finite > 0) {
    faults += Join(overflowed > 0 ? " and " : "", not_finite, overflowed > 0 ? "" : " values",
                   " are NaN or infinite");
  }
  return faults;
}

std::vector<std::string> ConversionWarnings(const std::vector<LayerConversion>& layers,
                                            const MigrationOptions& options, bool written) {
  std::vector<std::string> warnings;
  for (const LayerConversion& layer : layers) {
    const ConversionCounts& counts = layer.counts;
    if (counts.nans == 0 && counts.infinities == 0) continue;
    warnings.push_back(Join("layer '", layer.layer, "': the weights hold ", counts.nans,
                            " NaN and ", counts.infinities, " infinite values"));
  }
  const int64_t overflowed = Overflowed(layers);
  const std::string beyond = Join(overflowed, " values beyond ", Name(options.to), "'s range ",
                                  written ? "became" : "would become");
  if (overflowed > 0 && options.clamp) {
    warnings.push_back(beyond + " its largest number");
  } else if (overflowed > 0) {
    const char* keeps =
        options.to == ElementType::FLOAT16
            ? ", and forward_type: FLOAT in a layer of the prototxt keeps its weights"
            : "";
    warnings.push_back(beyond + " infinite: --clamp makes them its largest number" + keeps);
  }
  return warnings;
}

}  // namespace caffe
