#include <map>
#include <optional>

#include "caffe/operation.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/types.hpp"

namespace caffe {
namespace {

ElementType Checked(Type type, const char* field) {
  switch (type) {
    case DOUBLE:
      return ElementType::DOUBLE;
    case FLOAT:
      return ElementType::FLOAT;
    case FLOAT16:
      return ElementType::FLOAT16;
    default:
      Fail(field, " is ", Type_Name(type), ": layers compute in DOUBLE, FLOAT or FLOAT16");
  }
}

using Choice = std::optional<ElementType>;

/// The value of a field of `message`, nothing if it is not set.
#define CAFFE_TYPE_FIELD(message, field) \
  ((message).has_##field() ? Choice(Checked((message).field(), #field)) : Choice())

struct Choices {
  Choice forward_type, backward_type, forward_math, backward_math;
};

Choices OwnChoices(const LayerParameter& layer) {
  return {CAFFE_TYPE_FIELD(layer, forward_type), CAFFE_TYPE_FIELD(layer, backward_type),
          CAFFE_TYPE_FIELD(layer, forward_math), CAFFE_TYPE_FIELD(layer, backward_math)};
}

Choices NetChoices(const NetParameter& net) {
  return {CAFFE_TYPE_FIELD(net, default_forward_type), CAFFE_TYPE_FIELD(net, default_backward_type),
          CAFFE_TYPE_FIELD(net, default_forward_math), CAFFE_TYPE_FIELD(net, default_backward_math)};
}

#undef CAFFE_TYPE_FIELD

/// The first choice that was made, else `otherwise`.
ElementType First(std::initializer_list<Choice> choices, ElementType otherwise) {
  for (const Choice& choice : choices) {
    if (choice) return *choice;
  }
  return otherwise;
}

bool IsInPlace(const LayerParameter& layer) {
  return layer.bottom_size() > 0 && layer.top_size() > 0 && layer.bottom(0) == layer.top(0);
}

LayerTypes Resolve(const LayerParameter& layer, const Choices& net, ElementType net_type,
                   const LayerTypes* producer) {
  const Choices own = OwnChoices(layer);
  const Operation* operation = OperationTable::Find(layer.type());
  const bool makes_data = layer.has_transform_param() || (operation && operation->source);
  LayerTypes types;
  types.forward_math = First(
      {own.forward_math, own.forward_type, net.forward_math, net.forward_type}, net_type);
  types.backward_math = First(
      {own.backward_math, own.backward_type, net.backward_math, net.backward_type}, net_type);
  if (producer && layer.type() == "Split" && !own.forward_math) {
    types.forward_math = producer->forward_math;
    types.backward_math = producer->backward_math;
  }
  const bool follows = producer && (layer.type() == "Split" || IsInPlace(layer));
  types.forward_type = First({own.forward_type, follows ? Choice(producer->forward_type)
                                                        : net.forward_type}, net_type);
  const Choice inherited = follows ? Choice(producer->backward_type)
                                   : makes_data ? Choice(net_type) : net.backward_type;
  types.backward_type = First({own.backward_type, inherited}, net_type);
  if (!operation || !operation->native) {
    types.forward_type = types.backward_type = net_type;
  }
  return types;
}

}  // namespace

bool LayerTypes::operator==(const LayerTypes& other) const {
  return forward_type == other.forward_type && backward_type == other.backward_type &&
         forward_math == other.forward_math && backward_math == other.backward_math;
}

LayerTypes OwnTypes(const LayerParameter& layer, ElementType net_type) {
  const Choices own = OwnChoices(layer);
  LayerTypes types;
  types.forward_type = First({own.forward_type}, net_type);
  types.backward_type = First({own.backward_type}, net_type);
  types.forward_math = First({own.forward_math, own.forward_type}, net_type);
  types.backward_math = First({own.backward_math, own.backward_type}, net_type);
  return types;
}

std::vector<LayerTypes> ResolveTypes(const NetParameter& net, ElementType net_type) {
  const Choices defaults = NetChoices(net);
  std::vector<LayerTypes> types;
  std::map<std::string, size_t> producers;  // blob name -> the layer that made it last
  for (const LayerParameter& layer : net.layer()) {
    const auto producer = layer.bottom_size() > 0 ? producers.find(layer.bottom(0)) : producers.end();
    // A copy: `types` grows.
    std::optional<LayerTypes> producer_types;
    if (producer != producers.end()) producer_types = types[producer->second];
    try {
      types.push_back(Resolve(layer, defaults, net_type, producer_types ? &*producer_types : nullptr));
    } catch (Error& error) {
      error.AddContext(Join("layer '", layer.name(), "' (", layer.type(), ")"));
      throw;
    }
    for (const std::string& top : layer.top()) producers[top] = types.size() - 1;
  }
  return types;
}

}  // namespace caffe
