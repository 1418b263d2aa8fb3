#include <glog/logging.h>

#include <algorithm>
#include <string>
#include <utility>

#include "caffe/error.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "crop_places.hpp"
#include "google/protobuf/descriptor.h"

namespace caffe {

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Reflection;

struct V1TypeName {
  V1LayerParameter_LayerType v1;
  const char* name;
};

constexpr V1TypeName kV1Types[] = {
    {V1LayerParameter::NONE, ""},
    {V1LayerParameter::ABSVAL, "AbsVal"},
    {V1LayerParameter::ACCURACY, "Accuracy"},
    {V1LayerParameter::ARGMAX, "ArgMax"},
    {V1LayerParameter::BNLL, "BNLL"},
    {V1LayerParameter::CONCAT, "Concat"},
    {V1LayerParameter::CONTRASTIVE_LOSS, "ContrastiveLoss"},
    {V1LayerParameter::CONVOLUTION, "Convolution"},
    {V1LayerParameter::CROP, "Crop"},
    {V1LayerParameter::DATA, "Data"},
    {V1LayerParameter::DECONVOLUTION, "Deconvolution"},
    {V1LayerParameter::DROPOUT, "Dropout"},
    {V1LayerParameter::DUMMY_DATA, "DummyData"},
    {V1LayerParameter::EUCLIDEAN_LOSS, "EuclideanLoss"},
    {V1LayerParameter::ELTWISE, "Eltwise"},
    {V1LayerParameter::EXP, "Exp"},
    {V1LayerParameter::FLATTEN, "Flatten"},
    {V1LayerParameter::HDF5_DATA, "HDF5Data"},
    {V1LayerParameter::HDF5_OUTPUT, "HDF5Output"},
    {V1LayerParameter::HINGE_LOSS, "HingeLoss"},
    {V1LayerParameter::IM2COL, "Im2col"},
    {V1LayerParameter::IMAGE_DATA, "ImageData"},
    {V1LayerParameter::IMAGE_SEG_DATA, "ImageSegData"},
    {V1LayerParameter::INFOGAIN_LOSS, "InfogainLoss"},
    {V1LayerParameter::INNER_PRODUCT, "InnerProduct"},
    {V1LayerParameter::INTERP, "Interp"},
    {V1LayerParameter::LRN, "LRN"},
    {V1LayerParameter::MEMORY_DATA, "MemoryData"},
    {V1LayerParameter::MULTINOMIAL_LOGISTIC_LOSS, "MultinomialLogisticLoss"},
    {V1LayerParameter::MVN, "MVN"},
    {V1LayerParameter::POOLING, "Pooling"},
    {V1LayerParameter::POWER, "Power"},
    {V1LayerParameter::RELU, "ReLU"},
    {V1LayerParameter::SEG_ACCURACY, "SegAccuracy"},
    {V1LayerParameter::SIGMOID, "Sigmoid"},
    {V1LayerParameter::SIGMOID_CROSS_ENTROPY_LOSS, "SigmoidCrossEntropyLoss"},
    {V1LayerParameter::SILENCE, "Silence"},
    {V1LayerParameter::SOFTMAX, "Softmax"},
    {V1LayerParameter::SOFTMAX_LOSS, "SoftmaxWithLoss"},
    {V1LayerParameter::SPLIT, "Split"},
    {V1LayerParameter::SLICE, "Slice"},
    {V1LayerParameter::TANH, "TanH"},
    {V1LayerParameter::WINDOW_DATA, "WindowData"},
    {V1LayerParameter::THRESHOLD, "Threshold"},
};

/// The n-th ParamSpec, made if need be.
ParamSpec* Spec(LayerParameter* layer, int n) {
  while (layer->param_size() <= n) layer->add_param();
  return layer->mutable_param(n);
}

/// V1 kept names, sharing and multipliers of parameters in four lists; now there is one message a
/// parameter.
void GatherParamSpecs(const V1LayerParameter& v1, LayerParameter* layer) {
  for (int i = 0; i < v1.param_size(); ++i) Spec(layer, i)->set_name(v1.param(i));
  for (int i = 0; i < v1.blob_share_mode_size(); ++i) {
    Spec(layer, i)->set_share_mode(v1.blob_share_mode(i) == V1LayerParameter::PERMISSIVE
                                       ? ParamSpec::PERMISSIVE
                                       : ParamSpec::STRICT);
  }
  for (int i = 0; i < v1.blobs_lr_size(); ++i) Spec(layer, i)->set_lr_mult(v1.blobs_lr(i));
  for (int i = 0; i < v1.weight_decay_size(); ++i) {
    Spec(layer, i)->set_decay_mult(v1.weight_decay(i));
  }
}

/// Layers' parameter messages have the same names and types in both forms.
void CopyParameterMessages(const V1LayerParameter& v1, LayerParameter* layer) {
  const Reflection* from = v1.GetReflection();
  const Reflection* to = layer->GetReflection();
  for (int i = 0; i < v1.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = v1.GetDescriptor()->field(i);
    if (field->is_repeated() || field->type() != FieldDescriptor::TYPE_MESSAGE) continue;
    const FieldDescriptor* target = layer->GetDescriptor()->FindFieldByName(field->name());
    if (!target || target->message_type() != field->message_type()) continue;
    if (!from->HasField(v1, field)) continue;
    to->MutableMessage(layer, target)->CopyFrom(from->GetMessage(v1, field));
  }
}

/// Moves a data layer's own fields of this kind to the layer's transform_param.
template <typename SourceParameter>
void MoveTransformation(SourceParameter* source, V1LayerParameter* layer) {
  TransformationParameter* transform = layer->mutable_transform_param();
  if (source->has_scale()) transform->set_scale(source->scale());
  if (source->has_mean_file()) transform->set_mean_file(source->mean_file());
  if (source->has_crop_size()) transform->set_crop_size(source->crop_size());
  if (source->has_mirror()) transform->set_mirror(source->mirror());
  source->clear_scale();
  source->clear_mean_file();
  source->clear_crop_size();
  source->clear_mirror();
}

template <typename SourceParameter>
bool HasTransformation(const SourceParameter& source) {
  return source.has_scale() || source.has_mean_file() || source.has_crop_size() ||
         source.has_mirror();
}

bool LayerNeedsDataUpgrade(const V1LayerParameter& layer) {
  switch (layer.type()) {
    case V1LayerParameter::DATA:
      return HasTransformation(layer.data_param());
    case V1LayerParameter::IMAGE_DATA:
      return HasTransformation(layer.image_data_param());
    case V1LayerParameter::WINDOW_DATA:
      return HasTransformation(layer.window_data_param());
    default:
      return false;
  }
}

}  // namespace

const char* UpgradeV1LayerType(const V1LayerParameter_LayerType type) {
  const V1TypeName* found =
      std::find_if(std::begin(kV1Types), std::end(kV1Types),
                   [type](const V1TypeName& entry) { return entry.v1 == type; });
  Require(found != std::end(kV1Types),
          "Unknown V1LayerParameter layer type: ", static_cast<int>(type));
  return found->name;
}

bool NetNeedsDataUpgrade(const NetParameter& net_param) {
  return std::any_of(net_param.layers().begin(), net_param.layers().end(), LayerNeedsDataUpgrade);
}

void UpgradeNetDataTransformation(NetParameter* net_param) {
  for (V1LayerParameter& layer : *net_param->mutable_layers()) {
    if (!LayerNeedsDataUpgrade(layer)) continue;
    if (layer.type() == V1LayerParameter::DATA) {
      MoveTransformation(layer.mutable_data_param(), &layer);
    } else if (layer.type() == V1LayerParameter::IMAGE_DATA) {
      MoveTransformation(layer.mutable_image_data_param(), &layer);
    } else {
      MoveTransformation(layer.mutable_window_data_param(), &layer);
    }
  }
}

bool NetNeedsV1ToV2Upgrade(const NetParameter& net_param) { return net_param.layers_size() > 0; }

bool UpgradeV1LayerParameter(const V1LayerParameter& v1, LayerParameter* layer) {
  layer->Clear();
  *layer->mutable_bottom() = v1.bottom();
  *layer->mutable_top() = v1.top();
  if (v1.has_name()) layer->set_name(v1.name());
  *layer->mutable_include() = v1.include();
  *layer->mutable_exclude() = v1.exclude();
  if (v1.has_type()) layer->set_type(UpgradeV1LayerType(v1.type()));
  *layer->mutable_blobs() = v1.blobs();
  *layer->mutable_loss_weight() = v1.loss_weight();
  GatherParamSpecs(v1, layer);
  CopyParameterMessages(v1, layer);
  if (!v1.has_layer()) return true;
  LOG(ERROR) << "Input NetParameter has V0 layer -- ignoring.";
  return false;
}

bool UpgradeV1Net(const NetParameter& v1_net_param, NetParameter* net_param) {
  NetParameter upgraded(v1_net_param);
  bool complete = true;
  if (upgraded.layer_size() > 0) {
    LOG(ERROR) << "Input NetParameter to be upgraded already specifies 'layer' fields; these will "
                  "be ignored for the upgrade.";
    complete = false;
  }
  upgraded.clear_layer();
  for (const V1LayerParameter& layer : upgraded.layers()) {
    if (UpgradeV1LayerParameter(layer, upgraded.add_layer())) continue;
    LOG(ERROR) << "Upgrade of input layer " << upgraded.layer_size() - 1 << " failed.";
    complete = false;
  }
  for (int i = 0; i < upgraded.layers_size(); ++i) {
    // A crop_param of its own says where.
    const bool is_crop = upgraded.layers(i).type() == V1LayerParameter::CROP;
    if (!is_crop || upgraded.layer(i).has_crop_param()) continue;
    try {
      AlignCrop(&upgraded, i);
    } catch (const Error& error) {
      LOG(WARNING) << error.what() << ". It cuts at offset 0 now";
    }
  }
  upgraded.clear_layers();
  *net_param = std::move(upgraded);
  return complete;
}

}  // namespace caffe
