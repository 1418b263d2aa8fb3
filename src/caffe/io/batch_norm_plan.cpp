#include "caffe/io/batch_norm_plan.hpp"

#include <algorithm>
#include <utility>

#include "caffe/error.hpp"
#include "caffe/io/weight_source.hpp"
#include "caffe/io/wire.hpp"
#include "caffe/operation.hpp"
#include "caffe/util/text/text_table.hpp"

namespace caffe {

namespace {

bool HasScaleAndBias(const LayerParameter& layer) {
  const BatchNormParameter& param = layer.batch_norm_param();
  return param.scale_bias() || param.has_scale_filler() || param.has_bias_filler();
}

bool Reads(const LayerParameter& layer, const std::string& blob) {
  return std::count(layer.bottom().begin(), layer.bottom().end(), blob) > 0;
}
bool Writes(const LayerParameter& layer, const std::string& blob) {
  return std::count(layer.top().begin(), layer.top().end(), blob) > 0;
}

/// The phases, levels and stages in which a layer is there, for comparing.
std::string RulesOf(const LayerParameter& layer) {
  LayerParameter rules;
  *rules.mutable_include() = layer.include();
  *rules.mutable_exclude() = layer.exclude();
  return rules.SerializeAsString();
}

/// A Scale layer that multiplies channels by parameters of its own.
bool IsChannelScale(const LayerParameter& layer) {
  return layer.type() == "Scale" && layer.bottom_size() == 1 && layer.top_size() == 1 &&
         layer.scale_param().axis() == 1 && layer.scale_param().num_axes() == 1;
}

const char* ValueText(bool value) { return value ? "true" : "false"; }

// Text of a layer.

constexpr int kStatistics = 3;  // the first blobs of a BatchNorm in either form
constexpr const char* kFrozen = "param { lr_mult: 0 decay_mult: 0 }";

/// A name as a prototxt has it: it may hold quotes, backslashes and line ends.
std::string QuotedName(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) {
    if (c >= 0 && c < ' ') {
      text += Formatted("\\%03o", static_cast<unsigned>(c));
      continue;
    }
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"";
}

std::string TextOf(const std::string& text, const TextField& field) {
  return text.substr(field.begin, field.end - field.begin);
}

/// Where the ParamSpecs of a layer stand.
std::vector<const TextField*> ParamBlocks(const LayerParameter& layer, const TextField& field) {
  std::vector<const TextField*> blocks = FieldsNamed(field.fields, "param");
  Require(blocks.size() == static_cast<size_t>(layer.param_size()), "layer '", layer.name(),
          "': batch normalization takes another form only where each param stands in a block of "
          "its own: param { ... }");
  return blocks;
}

// Encoded fields of a layer.

std::string EncodedString(int number, const std::string& value) {
  std::string bytes;
  wire::AppendHeader(number, value.size(), &bytes);
  return bytes + value;
}

/// The message without the fields of these numbers.
std::string Drop(const std::string& message, const std::vector<uint32_t>& numbers) {
  const uint8_t* begin = reinterpret_cast<const uint8_t*>(message.data());
  wire::Reader fields({begin, begin + message.size()}, begin);
  wire::Field field;
  std::string rest;
  while (fields.Next(&field)) {
    if (std::count(numbers.begin(), numbers.end(), field.number)) continue;
    rest.append(reinterpret_cast<const char*>(field.whole.begin), field.whole.size());
  }
  return rest;
}

/// The contents of all fields of that number, which together are one message.
std::string Contents(const std::string& message, uint32_t number) {
  const uint8_t* begin = reinterpret_cast<const uint8_t*>(message.data());
  wire::Reader fields({begin, begin + message.size()}, begin);
  wire::Field field;
  std::string all;
  while (fields.Next(&field)) {
    if (field.number != number) continue;
    all.append(reinterpret_cast<const char*>(field.content.begin), field.content.size());
  }
  return all;
}

/// A layer's encoding with batch_norm_param's scale and bias set as given, nothing else changed.
std::string SetScaleBias(const std::string& rest, bool scale_bias) {
  constexpr uint32_t kParam = LayerParameter::kBatchNormParamFieldNumber;
  std::string param = Drop(Contents(rest, kParam), {BatchNormParameter::kScaleFillerFieldNumber,
                                                    BatchNormParameter::kBiasFillerFieldNumber,
                                                    BatchNormParameter::kScaleBiasFieldNumber});
  if (scale_bias) {
    wire::AppendTag(BatchNormParameter::kScaleBiasFieldNumber, wire::Type::VARINT, &param);
    wire::AppendVarint(1, &param);
  }
  return Drop(rest, {kParam}) + (param.empty() ? "" : EncodedString(kParam, param));
}

StoredLayer Stored(const ModelLayer& layer) {
  StoredLayer stored;
  stored.param.set_name(layer.name);
  for (const ModelBlob& blob : layer.blobs) stored.blobs.push_back(blob.stored);
  return stored;
}

ModelLayer* Find(std::vector<ModelLayer>* layers, const std::string& name) {
  for (ModelLayer& layer : *layers) {
    if (layer.name == name) return &layer;
  }
  return nullptr;
}

template <typename Blobs>
std::vector<ModelBlob> ModelBlobs(const Blobs& values, const std::string& layer) {
  std::vector<ModelBlob> blobs;
  for (const std::vector<float>& blob : values) {
    blobs.push_back(ModelBlob::Of(blob, Join("layer '", layer, "', blob ", blobs.size())));
  }
  return blobs;
}

}  // namespace

BatchNormPlan::BatchNormPlan(const NetParameter& net, BatchNormForm form) : net_(net), form_(form) {
  for (int i = 0; form != BatchNormForm::KEEP && i < net.layer_size(); ++i) {
    if (net.layer(i).type() != "BatchNorm" || net.layer(i).top_size() != 1) continue;
    form == BatchNormForm::NVCAFFE ? PlanMerge(i) : PlanSplit(i);
  }
}

/// The next layer that touches what the layer makes, if that is a Scale layer; else -1.
int BatchNormPlan::ScaleAfter(int layer) const {
  const std::string& top = net_.layer(layer).top(0);
  for (int i = layer + 1; i < net_.layer_size(); ++i) {
    if (Reads(net_.layer(i), top)) return IsChannelScale(net_.layer(i)) ? i : -1;
    if (Writes(net_.layer(i), top)) return -1;
  }
  return -1;
}

/// True if a layer behind `writer` other than `reader` reads what `writer` put into the blob.
bool BatchNormPlan::IsReadBesides(const std::string& blob, int writer, int reader) const {
  for (int i = writer + 1; i < net_.layer_size(); ++i) {
    if (i != reader && Reads(net_.layer(i), blob)) return true;
    if (Writes(net_.layer(i), blob)) return false;
  }
  return false;
}

/// The first of the blobs in whose memory the blob lies, as the layers before `end` make them.
std::string BatchNormPlan::MemoryOf(std::string blob, int end) const {
  for (int i = end - 1; i >= 0; --i) {
    const LayerParameter& layer = net_.layer(i);
    if (!Writes(layer, blob) || Reads(layer, blob)) continue;
    if (!SharesBottom(layer)) break;
    blob = layer.bottom(0);
  }
  return blob;
}

/// A blob that a layer in place changes too, as it has the same memory, and that is an output or
/// read behind it by a layer other than `reader`; "" if there is none.
std::string BatchNormPlan::SeenBesides(int layer, int reader) const {
  const std::string& changed = net_.layer(layer).top(0);
  if (!Reads(net_.layer(layer), changed)) return "";
  const std::string memory = MemoryOf(changed, layer);
  for (int i = 0; i < layer; ++i) {
    for (const std::string& blob : net_.layer(i).top()) {
      if (blob == changed || MemoryOf(blob, layer) != memory) continue;
      if (IsReadBesides(blob, layer, reader) || !IsReadBesides(blob, i, -1)) return blob;
    }
  }
  return "";
}

void BatchNormPlan::PlanMerge(int layer) {
  const LayerParameter& norm = net_.layer(layer);
  const int next = ScaleAfter(layer);
  if (HasScaleAndBias(norm) || next < 0) return;
  const LayerParameter& scale = net_.layer(next);
  const std::string pair = Join("'", norm.name(), "' and '", scale.name(), "'");
  if (IsReadBesides(norm.top(0), layer, next)) {
    notes_.push_back(Join("layers ", pair, " stay two: others read blob '", norm.top(0), "' too"));
  } else if (const std::string seen = SeenBesides(layer, next); !seen.empty()) {
    notes_.push_back(Join("layers ", pair, " stay two: blob '", seen, "' shows what '", norm.name(),
                          "' changes in place"));
  } else if (RulesOf(norm) != RulesOf(scale)) {
    notes_.push_back(Join("layers ", pair, " stay two: their include or exclude rules differ"));
  } else if (norm.param_size() > kStatistics && scale.param_size() > 0) {
    notes_.push_back(Join("layers ", pair, " stay two: both have a param for the scale"));
  } else {
    changes_.push_back({layer, next, norm.name(), scale.name(), norm.bottom(0), scale.top(0), true,
                        scale.scale_param().bias_term()});
  }
}

void BatchNormPlan::PlanSplit(int layer) {
  const LayerParameter& norm = net_.layer(layer);
  Change change{layer, -1, norm.name(), "", norm.bottom(0), norm.top(0), true, true};
  if (HasScaleAndBias(norm)) {
    change.scale_name = NewName(norm.name() + "_scale");
  } else {
    change.scale_layer = ScaleAfter(layer);
    if (change.scale_layer < 0) return;
    const LayerParameter& scale = net_.layer(change.scale_layer);
    change.scale_name = scale.name();
    change.has_bias = scale.scale_param().bias_term();
    change.edits_text = false;
  }
  changes_.push_back(change);
}

std::string BatchNormPlan::NewName(std::string name) const {
  const auto taken = [&](const LayerParameter& layer) { return layer.name() == name; };
  while (std::any_of(net_.layer().begin(), net_.layer().end(), taken)) name += "_";
  return name;
}

void BatchNormPlan::EditText(const std::string& text, const std::vector<TextField>& fields,
                             TextEdits* edits) const {
  const std::vector<const TextField*> layers = FieldsNamed(fields, "layer");
  for (const Change& change : changes_) {
    if (!change.edits_text) continue;
    Require(layers.size() == static_cast<size_t>(net_.layer_size()),
            "batch normalization takes another form only where each layer stands in a block of its "
            "own: layer { ... }");
    if (form_ == BatchNormForm::NVCAFFE) {
      MergeText(change, text, *layers[change.layer], *layers[change.scale_layer], edits);
    } else {
      SplitText(change, text, *layers[change.layer], edits);
    }
  }
}

// The parameters of the Scale layer become the BatchNorm's fourth and fifth.
std::string BatchNormPlan::MergedParams(const Change& change, const std::string& text,
                                        const TextField& scale) const {
  const LayerParameter& layer = net_.layer(change.scale_layer);
  const int given = net_.layer(change.layer).param_size();
  const bool says_nothing = layer.param_size() == 0;
  if (says_nothing && (change.has_bias || given > kStatistics)) return "";
  const auto line = [](const std::string& param) { return "  " + param + "\n"; };
  std::string lines;
  for (int i = given; i < kStatistics; ++i) lines += line(kFrozen);
  if (says_nothing) lines += line("param { }");
  for (const TextField* param : ParamBlocks(layer, scale)) lines += line(TextOf(text, *param));
  // The bias is zero where the Scale layer had none, and stays so.
  return change.has_bias ? lines : lines + line(kFrozen);
}

void BatchNormPlan::MergeText(const Change& change, const std::string& text, const TextField& norm,
                              const TextField& scale, TextEdits* edits) const {
  edits->Remove(scale);
  const TextField& top = *FieldsNamed(norm.fields, "top").at(0);
  if (net_.layer(change.layer).top(0) != change.top) {
    edits->Replace(top.value_begin, top.value_end, QuotedName(change.top));
  }
  std::string added = MergedParams(change, text, scale);
  const std::vector<const TextField*> params = FieldsNamed(norm.fields, "batch_norm_param");
  if (params.empty()) {
    added += "  batch_norm_param { scale_bias: true }\n";
  } else {
    for (const TextField* old : FieldsNamed(params[0]->fields, "scale_bias")) edits->Remove(*old);
    edits->InsertFirst(*params[0], "scale_bias: true");
  }
  if (!added.empty()) edits->Insert(norm.value_end, added);
}

// The fourth and fifth parameter of the BatchNorm become the Scale layer's.
std::string BatchNormPlan::SplitParams(const Change& change, const std::string& text,
                                       const TextField& norm, TextEdits* edits) const {
  const LayerParameter& layer = net_.layer(change.layer);
  if (layer.param_size() <= kStatistics) return "";
  const std::vector<const TextField*> params = ParamBlocks(layer, norm);
  std::string lines;
  for (size_t i = kStatistics; i < params.size(); ++i) {
    lines += "  " + TextOf(text, *params[i]) + "\n";
    edits->Remove(*params[i]);
  }
  return lines;
}

void BatchNormPlan::SplitText(const Change& change, const std::string& text, const TextField& norm,
                              TextEdits* edits) const {
  for (const TextField* param : FieldsNamed(norm.fields, "batch_norm_param")) {
    for (const char* name : {"scale_bias", "scale_filler", "bias_filler"}) {
      for (const TextField* old : FieldsNamed(param->fields, name)) edits->Remove(*old);
    }
  }
  const std::string top = QuotedName(change.top);
  std::string layer = "\nlayer {\n  name: " + QuotedName(change.scale_name) +
                      "\n  type: \"Scale\"\n  bottom: " + top + "\n  top: " + top + "\n" +
                      SplitParams(change, text, norm, edits);
  for (const TextField& field : norm.fields) {
    if (field.name != "include" && field.name != "exclude") continue;
    layer += "  " + TextOf(text, field) + "\n";
  }
  edits->Insert(norm.end, layer + "  scale_param { bias_term: " + ValueText(true) + " }\n}");
}

void BatchNormPlan::EditWeights(std::vector<ModelLayer>* layers) const {
  for (const Change& change : changes_) {
    ModelLayer* norm = Find(layers, change.name);
    if (!norm || norm->blobs.empty()) continue;
    ModelLayer* scale = Find(layers, change.scale_name);
    const bool has_scale = scale && !scale->blobs.empty();
    const bool is_whole = norm->blobs.size() == 5;
    Require(!is_whole || !has_scale, "the weights of layer '", change.name,
            "' have a scale and a bias, and so have those of layer '", change.scale_name, "'");
    if (form_ == BatchNormForm::BVLC && !is_whole) continue;

    const StoredLayer stored_norm = Stored(*norm);
    const StoredLayer stored_scale = has_scale ? Stored(*scale) : StoredLayer();
    const BatchNormBlobs blobs = StoredBatchNorm(stored_norm, has_scale ? &stored_scale : nullptr);
    if (form_ == BatchNormForm::NVCAFFE) {
      norm->blobs = ModelBlobs(ToNvcaffeBatchNorm(blobs), change.name);
      norm->rest = SetScaleBias(norm->rest, true);
      if (net_.layer(change.layer).top(0) != change.top) {
        norm->rest = Drop(norm->rest, {LayerParameter::kTopFieldNumber}) +
                     EncodedString(LayerParameter::kTopFieldNumber, change.top);
      }
      if (scale) layers->erase(layers->begin() + (scale - layers->data()));
      continue;
    }
    norm->blobs =
        ModelBlobs(std::vector<std::vector<float>>{blobs.mean, blobs.variance, {1.f}}, change.name);
    norm->rest = SetScaleBias(norm->rest, false);
    std::vector<std::vector<float>> affine = {blobs.scale};
    const bool no_bias =
        std::all_of(blobs.bias.begin(), blobs.bias.end(), [](float value) { return value == 0; });
    Require(change.has_bias || no_bias, "the weights of layer '", change.name,
            "' have a bias, which layer '", change.scale_name, "' of the prototxt has not",
            Error::Remedy{"give it scale_param { bias_term: true }"});
    if (change.has_bias) affine.push_back(blobs.bias);
    if (!scale) {
      ModelLayer added;
      added.name = change.scale_name;
      added.type = "Scale";
      LayerParameter param;
      param.set_name(change.scale_name);
      param.set_type("Scale");
      param.add_bottom(change.top);
      param.add_top(change.top);
      param.mutable_scale_param()->set_bias_term(true);
      added.rest = param.SerializeAsString();
      scale = &*layers->insert(layers->begin() + (norm - layers->data()) + 1, added);
    }
    scale->blobs = ModelBlobs(affine, change.scale_name);
  }
}

}  // namespace caffe
