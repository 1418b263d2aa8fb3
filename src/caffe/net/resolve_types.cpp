#include <algorithm>
#include <map>
#include <string>

#include "caffe/error.hpp"
#include "caffe/operation.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/types.hpp"
#include "caffe/util/insert_splits.hpp"

namespace caffe {
namespace {

/// `also`: what else the message says is valid.
ElementType Storable(Type type, const std::string& where, const char* field,
                     const char* also = "") {
  switch (type) {
    case FLOAT:
      return ElementType::FLOAT;
    case DOUBLE:
      return ElementType::DOUBLE;
    case FLOAT16:
      return ElementType::FLOAT16;
    case BFLOAT16:
      Fail(where, ": ", field,
           " is BFLOAT16, which is a type of math: store FLOAT or FLOAT16, and ",
           "say default_forward_math: BFLOAT16 and default_backward_math: BFLOAT16");
    default:
      Fail(where, ": ", field, " is ", Type_Name(type),
           ", which no layer computes in: valid are FLOAT, FLOAT16 and DOUBLE", also);
  }
}

ElementType Multipliable(Type type, const std::string& where, const char* field) {
  if (type == BFLOAT16) return ElementType::BFLOAT16;
  return Storable(type, where, field, ", and BFLOAT16");
}

/// What the fields of one direction say: storage and math, each possibly unset.
struct Stated {
  bool has_storage = false, has_math = false;
  ElementType storage = ElementType::FLOAT, math = ElementType::FLOAT;

  void SetStorage(ElementType type) {
    has_storage = true;
    storage = type;
  }
  void SetMath(ElementType type) {
    has_math = true;
    math = type;
  }
  /// Own math, else own storage, else the defaults' in the same order, else the net's type.
  ElementType MathOr(const Stated& defaults, ElementType net_type) const {
    if (has_math) return math;
    if (has_storage) return storage;
    if (defaults.has_math) return defaults.math;
    return defaults.has_storage ? defaults.storage : net_type;
  }
  ElementType StorageOr(ElementType otherwise) const { return has_storage ? storage : otherwise; }
};

struct Directions {
  Stated forward, backward;
};

Directions StatedBy(const LayerParameter& layer) {
  const std::string where = Join("layer '", layer.name(), "' (", layer.type(), ")");
  Directions stated;
  if (layer.has_forward_type()) {
    stated.forward.SetStorage(Storable(layer.forward_type(), where, "forward_type"));
  }
  if (layer.has_forward_math()) {
    stated.forward.SetMath(Multipliable(layer.forward_math(), where, "forward_math"));
  }
  if (layer.has_backward_type()) {
    stated.backward.SetStorage(Storable(layer.backward_type(), where, "backward_type"));
  }
  if (layer.has_backward_math()) {
    stated.backward.SetMath(Multipliable(layer.backward_math(), where, "backward_math"));
  }
  return stated;
}

Directions DefaultsOf(const NetParameter& net) {
  const std::string where = Join("net '", net.name(), "'");
  Directions stated;
  if (net.has_default_forward_type()) {
    stated.forward.SetStorage(Storable(net.default_forward_type(), where, "default_forward_type"));
  }
  if (net.has_default_forward_math()) {
    stated.forward.SetMath(Multipliable(net.default_forward_math(), where, "default_forward_math"));
  }
  if (net.has_default_backward_type()) {
    stated.backward.SetStorage(
        Storable(net.default_backward_type(), where, "default_backward_type"));
  }
  if (net.has_default_backward_math()) {
    stated.backward.SetMath(
        Multipliable(net.default_backward_math(), where, "default_backward_math"));
  }
  return stated;
}

bool MakesData(const LayerParameter& layer) {
  const Operation* operation = OperationTable::Find(layer.type());
  return layer.has_transform_param() || (operation && operation->source);
}

bool HasKernels(const LayerParameter& layer) {
  const Operation* operation = OperationTable::Find(layer.type());
  return operation && operation->native;
}

/// True if the layer writes this top in the net's Dtype, whatever the fields say: labels, indices,
/// coordinates, and what layers without kernels for other types make.
bool KeepsNetType(const LayerParameter& layer, int top) {
  const Operation* operation = OperationTable::Find(layer.type());
  return !HasKernels(layer) || operation->source || operation->IsFloatTop(top);
}

/// True if the layer's tops are elements of this bottom, among others, in another order or a part
/// of them: not if it gives a shape or indices.
bool MovesBottom(const LayerParameter& layer, int bottom) {
  const Operation* operation = OperationTable::Find(layer.type());
  return operation && (operation->type_agnostic || layer.type() == "BatchReindex") &&
         !operation->IsShapeBottom(bottom) && !operation->IsFloatBottom(bottom);
}

bool InPlace(const LayerParameter& layer) {
  return layer.bottom_size() > 0 && layer.top_size() > 0 && layer.top(0) == layer.bottom(0);
}

LayerTypes TypesOf(const LayerParameter& layer, const Directions& defaults, ElementType net_type) {
  const Directions own = StatedBy(layer);
  const ElementType default_backward =
      MakesData(layer) ? net_type : defaults.backward.StorageOr(net_type);
  LayerTypes types;
  types.forward_type = own.forward.StorageOr(defaults.forward.StorageOr(net_type));
  types.backward_type = own.backward.StorageOr(default_backward);
  types.forward_math = own.forward.MathOr(defaults.forward, net_type);
  types.backward_math = own.backward.MathOr(defaults.backward, net_type);
  return types;
}

/// The layers that make the blobs seen so far, by blob name.
class Producers {
 public:
  explicit Producers(const NetParameter& net) : net_(net) {}

  /// `moves_kept`: its tops are elements of blobs for which IsKept.
  void Add(int layer, bool moves_kept) {
    const LayerParameter& param = net_.layer(layer);
    for (int i = 0; i < param.top_size(); ++i) {
      newest_[param.top(i)] = {layer, i, moves_kept || KeepsNetType(param, i)};
    }
  }
  /// The maker of the layer's first bottom, -1 if there is none.
  int Of(const LayerParameter& layer) const {
    const auto found = layer.bottom_size() ? newest_.find(layer.bottom(0)) : newest_.end();
    return found == newest_.end() ? -1 : found->second.layer;
  }
  /// True if the blob has the net's Dtype, whatever the fields say.
  bool IsKept(const std::string& blob) const {
    const auto found = newest_.find(blob);
    return found != newest_.end() && found->second.is_kept;
  }
  /// True if InsertSplits made this layer.
  bool MadeSplit(const LayerParameter& layer) const {
    if (layer.type() != "Split" || layer.bottom_size() != 1) return false;
    const auto found = newest_.find(layer.bottom(0));
    return found != newest_.end() &&
           layer.name() == SplitLayerName(net_.layer(found->second.layer).name(), layer.bottom(0),
                                          found->second.top);
  }

 private:
  struct Producer {
    int layer, top;
    bool is_kept;
  };
  const NetParameter& net_;
  std::map<std::string, Producer> newest_;
};

}  // namespace

bool LayerTypes::operator==(const LayerTypes& other) const {
  return forward_type == other.forward_type && backward_type == other.backward_type &&
         forward_math == other.forward_math && backward_math == other.backward_math;
}

LayerTypes LayerTypes::WithoutBFloat16() const {
  LayerTypes types = *this;
  if (forward_math == ElementType::BFLOAT16) types.forward_math = forward_type;
  if (backward_math == ElementType::BFLOAT16) types.backward_math = backward_type;
  return types;
}

LayerTypes OwnTypes(const LayerParameter& layer, ElementType net_type) {
  const Directions own = StatedBy(layer);
  const Stated none;
  LayerTypes types;
  types.forward_type = own.forward.StorageOr(net_type);
  types.backward_type = own.backward.StorageOr(net_type);
  types.forward_math = own.forward.MathOr(none, net_type);
  types.backward_math = own.backward.MathOr(none, net_type);
  return types;
}

std::vector<LayerTypes> ResolveTypes(const NetParameter& net, ElementType net_type) {
  const Directions defaults = DefaultsOf(net);
  const bool simulates_integers =
      std::any_of(net.layer().begin(), net.layer().end(),
                  [](const LayerParameter& layer) { return layer.type() == "FakeQuantization"; });
  std::vector<LayerTypes> all;
  Producers producers(net);
  for (int i = 0; i < net.layer_size(); ++i) {
    const LayerParameter& layer = net.layer(i);
    LayerTypes types = TypesOf(layer, defaults, net_type);
    const int producer = producers.Of(layer);
    if (producer >= 0 && producers.MadeSplit(layer)) {
      types = all[producer];
    } else if (producer >= 0 && InPlace(layer)) {
      if (!layer.has_forward_type()) types.forward_type = all[producer].forward_type;
      if (!layer.has_backward_type()) types.backward_type = all[producer].backward_type;
    }
    if (!HasKernels(layer)) types = LayerTypes::All(net_type);
    bool moves_kept = false;
    for (int bottom = 0; bottom < layer.bottom_size() && !layer.has_forward_type(); ++bottom) {
      if (MovesBottom(layer, bottom) && producers.IsKept(layer.bottom(bottom))) moves_kept = true;
    }
    if (moves_kept) types.forward_type = net_type;
    if (simulates_integers) types = types.WithoutBFloat16();
    all.push_back(types);
    producers.Add(i, moves_kept);
  }
  return all;
}

}  // namespace caffe
