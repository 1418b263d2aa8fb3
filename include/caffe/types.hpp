#ifndef CAFFE_TYPES_HPP_
#define CAFFE_TYPES_HPP_

#include <vector>

#include "caffe/element_type.hpp"

namespace caffe {

class LayerParameter;
class NetParameter;

/// The run-time types of one layer. Storage: what its activations (forward) and their gradients
/// (backward) are kept in. Math: what its matrix products and convolutions multiply in; nothing
/// else looks at the math types. BFLOAT16 is a type of math only.
struct LayerTypes {
  ElementType forward_type = ElementType::FLOAT;
  ElementType backward_type = ElementType::FLOAT;
  ElementType forward_math = ElementType::FLOAT;
  ElementType backward_math = ElementType::FLOAT;

  bool operator==(const LayerTypes& other) const;
  bool operator!=(const LayerTypes& other) const { return !(*this == other); }

  /// The same with math of the storage types in place of BFLOAT16's: for all that is not multiplied
  /// in it.
  LayerTypes WithoutBFloat16() const;

  /// All four the same.
  static LayerTypes All(ElementType type) { return {type, type, type, type}; }
};

/// The types that a layer's own fields state, `net_type` for those that it leaves open; math
/// falls back to the storage type. For a layer made outside a net.
LayerTypes OwnTypes(const LayerParameter& layer, ElementType net_type);

/// The types of every layer of `net`, in the order of `net.layer()`, after splits were inserted.
/// A pure function. `net_type` is the net's own Dtype: what an unset field means.
///
/// Storage: the layer's own field, else the net's default, else net_type. Math: the layer's own
/// field, else its own storage field, else the net's default math, else the net's default
/// storage, else net_type (NVCaffe 0.17's rules). Gradients of data layers are `net_type`. An
/// automatically inserted Split takes its producer's types; an in-place layer takes its producer's
/// storage types unless its own field says otherwise (the net then gives it a blob of its own).
/// A type that the operation has no kernels for (OperationTable) becomes net_type.
///
/// In a net with FakeQuantization layers, which stand for integers of 8 bits and their sums,
/// BFLOAT16 is replaced as WithoutBFloat16 says.
///
/// Throws Error naming the layer for a type that no layer computes in (INT, UINT, BOOL), and for
/// storage in BFLOAT16.
std::vector<LayerTypes> ResolveTypes(const NetParameter& net, ElementType net_type);

}  // namespace caffe

#endif  // CAFFE_TYPES_HPP_
