#include <climits>
#include <string>

#include "caffe/io/proto_binary.hpp"
#include "caffe/proto/caffe.pb.h"
#include "google/protobuf/unknown_field_set.h"

namespace caffe {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

/// A field that a fork writes under `from` and this schema keeps under `to`.
struct Move {
  int from;
  UnknownField::Type wire;
  int to;
};

constexpr Move kLayerMoves[] = {
    {145, UnknownField::TYPE_VARINT, LayerParameter::kForwardTypeFieldNumber},
    {146, UnknownField::TYPE_VARINT, LayerParameter::kBackwardTypeFieldNumber},
    {147, UnknownField::TYPE_VARINT, LayerParameter::kForwardMathFieldNumber},
    {148, UnknownField::TYPE_VARINT, LayerParameter::kBackwardMathFieldNumber},
    {149, UnknownField::TYPE_LENGTH_DELIMITED, LayerParameter::kEngineFieldNumber},
};
constexpr int kTypeMoves = 4;  // of these, what NVCaffe has to find again in a written file

constexpr Move kRecurrentMove[] = {
    {151, UnknownField::TYPE_LENGTH_DELIMITED, LayerParameter::kRecurrentParamFieldNumber}};

// The first SSD fork's numbers, before 200 to 207.
constexpr Move kFirstNormalizeMove[] = {
    {149, UnknownField::TYPE_LENGTH_DELIMITED, LayerParameter::kNormParamFieldNumber}};
constexpr Move kFirstPriorBoxMove[] = {
    {150, UnknownField::TYPE_LENGTH_DELIMITED, LayerParameter::kPriorBoxParamFieldNumber}};

// waifu2x's crop is where NVCaffe has `debug` and Intel Caffe its engine.
constexpr Move kCropCenterMove[] = {
    {149, UnknownField::TYPE_LENGTH_DELIMITED, LayerParameter::kCropCenterParamFieldNumber}};

constexpr Move kTransformMoves[] = {
    {8, UnknownField::TYPE_LENGTH_DELIMITED, TransformationParameter::kResizeParamFieldNumber},
    {9, UnknownField::TYPE_LENGTH_DELIMITED, TransformationParameter::kNoiseParamFieldNumber},
    {10, UnknownField::TYPE_LENGTH_DELIMITED, TransformationParameter::kEmitConstraintFieldNumber},
    {12, UnknownField::TYPE_VARINT, TransformationParameter::kCropWFieldNumber},
    {13, UnknownField::TYPE_LENGTH_DELIMITED, TransformationParameter::kDistortParamFieldNumber},
    {14, UnknownField::TYPE_LENGTH_DELIMITED, TransformationParameter::kExpandParamFieldNumber},
    {15, UnknownField::TYPE_LENGTH_DELIMITED,
     TransformationParameter::kRandomResizeParamFieldNumber},
    {16, UnknownField::TYPE_LENGTH_DELIMITED,
     TransformationParameter::kRandomAspectRatioParamFieldNumber},
};

bool SetEnum(const FieldDescriptor* field, uint64_t value, Message* message) {
  if (value > INT_MAX) return false;
  const auto* known = field->enum_type()->FindValueByNumber(static_cast<int>(value));
  if (known) message->GetReflection()->SetEnum(message, field, known);
  return known != nullptr;
}

/// Stores an unknown field's value in `field`; false if the value cannot be one of that field's.
bool SetFromUnknown(const UnknownField& unknown, const FieldDescriptor* field, Message* message) {
  const Reflection* reflection = message->GetReflection();
  switch (field->type()) {
    case FieldDescriptor::TYPE_ENUM:
      return SetEnum(field, unknown.varint(), message);
    case FieldDescriptor::TYPE_UINT32:
      reflection->SetUInt32(message, field, static_cast<uint32_t>(unknown.varint()));
      return true;
    case FieldDescriptor::TYPE_STRING:
      reflection->SetString(message, field, std::string(unknown.length_delimited()));
      return true;
    case FieldDescriptor::TYPE_MESSAGE: {
      Message* target = reflection->MutableMessage(message, field);
      const bool good = target->ParsePartialFromString(unknown.length_delimited());
      if (!good) reflection->ClearField(message, field);
      return good;
    }
    default:
      return false;
  }
}

/// Carries out the moves that the message's unknown fields ask for; true if there was one.
template <size_t count>
bool Apply(const Move (&moves)[count], Message* message) {
  const Reflection* reflection = message->GetReflection();
  if (reflection->GetUnknownFields(*message).empty()) return false;
  bool moved_any = false;
  UnknownFieldSet kept;
  UnknownFieldSet unknown;
  reflection->MutableUnknownFields(message)->Swap(&unknown);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const UnknownField& field = unknown.field(i);
    bool moved = false;
    for (const Move& move : moves) {
      if (field.number() != move.from || field.type() != move.wire) continue;
      moved = SetFromUnknown(field, message->GetDescriptor()->FindFieldByNumber(move.to), message);
    }
    if (!moved) kept.AddField(field);
    moved_any |= moved;
  }
  reflection->MutableUnknownFields(message)->Swap(&kept);
  return moved_any;
}

void MoveTransform(TransformationParameter* param) {
  if (!Apply(kTransformMoves, param) || !param->has_img_rand_resize_upper()) return;
  // Number 11 is a varint in both forks; the others have shown whose file this is.
  param->set_crop_h(param->img_rand_resize_upper());
  param->clear_img_rand_resize_upper();
}

void MoveLayer(LayerParameter* layer) {
  if (layer->type() == "Normalize") Apply(kFirstNormalizeMove, layer);
  if (layer->type() == "PriorBox") Apply(kFirstPriorBoxMove, layer);
  if (layer->type() == "CropCenter") Apply(kCropCenterMove, layer);
  Apply(kLayerMoves, layer);
  if (layer->type() != "MnActivation") Apply(kRecurrentMove, layer);
  if (layer->has_transform_param()) MoveTransform(layer->mutable_transform_param());
}

}  // namespace

void MoveForkFieldsAfterRead(NetParameter* net) {
  for (LayerParameter& layer : *net->mutable_layer()) MoveLayer(&layer);
  for (V1LayerParameter& layer : *net->mutable_layers()) {
    if (layer.has_transform_param()) MoveTransform(layer.mutable_transform_param());
  }
}

void MoveForkFieldsBeforeWrite(NetParameter* net) {
  for (LayerParameter& layer : *net->mutable_layer()) {
    const Reflection* reflection = layer.GetReflection();
    for (int i = 0; i < kTypeMoves; ++i) {
      const FieldDescriptor* field = layer.GetDescriptor()->FindFieldByNumber(kLayerMoves[i].to);
      if (!reflection->HasField(layer, field)) continue;
      reflection->MutableUnknownFields(&layer)->AddVarint(
          kLayerMoves[i].from, reflection->GetEnum(layer, field)->number());
      reflection->ClearField(&layer, field);
    }
  }
}

}  // namespace caffe
