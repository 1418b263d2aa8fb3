#ifndef CAFFE_INFERENCE_GRAPH_HPP_
#define CAFFE_INFERENCE_GRAPH_HPP_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "caffe/element_type.hpp"
#include "caffe/inference/image_preprocessing.hpp"
#include "caffe/multiplier.hpp"
#include "caffe/operation.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/tensor.hpp"

namespace caffe::inference {

/// The product of the extents; 1 for a scalar's empty shape.
size_t CountOf(const Shape& shape);

/// Immutable elements, shared by all copies: trained parameters, folded values.
struct Constant {
  Shape shape;
  ElementType type = ElementType::FLOAT;
  std::shared_ptr<const void> data;  ///< CountOf(shape) elements of `type`

  size_t count() const { return CountOf(shape); }
  /// Throws Error unless `type` is FLOAT.
  const float* floats() const;
  std::vector<float> ToVector() const { return {floats(), floats() + count()}; }

  /// Owns FLOAT elements. Throws Error unless there are as many as `shape` says.
  static Constant Of(const Shape& shape, std::vector<float> values);
};

/// A value without memory of its own, which is part of another one. With equal counts it has that
/// value's elements in another shape; else it is the base's indices [offset, offset + n) of `axis`,
/// where n follows from the counts.
struct View {
  int base = -1;  ///< a value; -1: no view
  int axis = 0;
  int offset = 0;
};

/// What a node computes or the user gives. Each has one producer at most: where Caffe works in
/// place the graph has two values.
struct Value {
  std::string name;  ///< the blob's; unique in the graph
  Shape shape;       ///< axis 0 is the largest batch that will be run, where it is a batch
  ElementType type = ElementType::FLOAT;
  AffineParameters affine;  ///< of INT8 and UINT8
  Layout::Kind layout = Layout::PLAIN;
  /// CHANNELS_BLOCKED: channels in a block. CHANNELS_LAST:
  /// channels are padded to a multiple of it.
  int block = 1;
  /// Factors of channels (axis 1) that turn this value into the net's blob; empty: equal.
  std::vector<float> channel_scales;
  std::shared_ptr<const void> data;  ///< of a constant: CountOf(shape) elements of `type`
  View view;
  int64_t arena_offset = -1;  ///< bytes into the activations' memory; -1: not planned

  bool is_constant() const { return data != nullptr; }
};

/// How a node computes in integer-only arithmetic: its inputs and output 0 are 8-bit integers with
/// their values' scales and zero points; kernels/integer_*.hpp describes its parameters.
struct IntegerArithmetic {
  kernels::Rounding rounding = kernels::Rounding::DOUBLE;
  int32_t least = 0, most = 255;  ///< bounds of output 0's bytes: ReLU, ReLU6 and Clip
  int32_t weight_zero_point = 0;  ///< of layers with weights; not 0: the weights are UINT8
};

/// A step after a node's own computation: `layer` applied to the result so far (its bottom 0) and,
/// if it takes two bottoms, to `operand`. It is an Eltwise or an activation that kernels can
/// compute while they write (kernels::AsPostOp).
struct Epilogue {
  LayerParameter layer;
  std::vector<Constant> parameters;
  int operand = -1;  ///< a value; -1: none
  std::string blob;  ///< the former name of the step's bottom 0; not kept in plans
  /// How kernels store that bottom, which is not a value of the graph: of steps with weights.
  ElementType type = ElementType::FLOAT;
  AffineParameters affine = {};  ///< of INT8 and UINT8
  /// How the step computes, if it has weights, as a Node's.
  std::optional<IntegerArithmetic> integers = {};
};

/// One operation: a layer's type and parameters on values.
struct Node {
  LayerParameter layer;  ///< name, type, parameters; no bottoms, tops and blobs
  std::vector<int> inputs, outputs;
  std::vector<Constant> parameters;
  std::vector<Epilogue> epilogue;  ///< of output 0, in this order
  /// Names of the layers that were merged into it; empty: it is the layer of its name. Not kept in
  /// plans.
  std::vector<std::string> siblings;
  /// The BatchNorm, Scale, Bias and Power layers folded into its weights. Not kept in plans.
  std::vector<std::string> folded;
  /// Weights that become 8-bit integers have a reduced range (QuantizeWeights). Not kept in plans.
  bool reduce_range = false;
  /// Not set: the node computes in floats, or rescales sums of integers in floats.
  std::optional<IntegerArithmetic> integers;

  // What the lowering has chosen (backends/); not set before.
  std::string implementation;             ///< NAME or NAME:VARIANT; "": the layer itself
  ElementType math = ElementType::FLOAT;  ///< FLOAT, FLOAT16, BFLOAT16 or INT8
  float microseconds = 0;                 ///< as measured; 0: not measured

  const std::string& name() const { return layer.name(); }
  const std::string& type() const { return layer.type(); }
  /// The type's row in the operation table.
  const Operation& operation() const { return OperationTable::Of(type()); }
  /// The inputs and the epilogue's operands.
  std::vector<int> Reads() const;
};

/// The type of nodes that a backend inserts: the output is the input in another type or layout.
constexpr char kReorder[] = "Reorder";

/// What a net computes in the TEST phase: nodes in the order in which they run, on values, which
/// are referred to by their index. A copy shares the constants.
struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<int> inputs, outputs;  ///< values
  size_t arena_bytes = 0;            ///< memory that the planned values need together
  /// For a range of shapes: the shapes of the inputs, in order, of the smallest run and of the one
  /// that implementations are chosen for; the values have those of the largest. Empty: the values'
  /// shapes are fixed.
  std::vector<Shape> min_inputs, opt_inputs;
  /// The kind of device that it is lowered for: "cuda", or "" for the CPU or before.
  std::string target;
  /// How images become the input; null: not known.
  std::shared_ptr<const ImagePreprocessing> preprocessing;
  std::vector<std::string> class_names;  ///< by label; none: not known

  /// Throws Error, naming node and value, unless names are unique, indices are valid, nodes read
  /// only inputs, constants and earlier outputs, each value has one producer, views lie within
  /// their bases, planned values within the arena, the shapes of a range are in order, and images
  /// can become the input as `preprocessing` says.
  void Validate() const;

  /// The value (node) of this name, -1 if there is none.
  int FindValue(const std::string& value_name) const;
  int FindNode(const std::string& node_name) const;
  bool IsInput(int value) const;
  bool IsOutput(int value) const;
  int AddValue(const std::string& value_name, const Shape& shape);
};

/// Bytes of a value in its type and layout, padding of channels included.
size_t BytesOf(const Value& value);
size_t BytesOf(const Constant& constant);

/// Per value: the node that computes it, -1 for inputs and constants.
std::vector<int> Producers(const Graph& graph);
/// Per value: the nodes that read it, once for each time they do, in order.
std::vector<std::vector<int>> Readers(const Graph& graph);

/// Per value: true if its shape may depend on the data, as the number of detections does, so that
/// memory cannot be planned for it: it is computed by an operation that does not declare its tops'
/// shapes, or from such values.
std::vector<bool> HaveDataDependentShapes(const Graph& graph);

/// The batch: extent 0 of the first input; 0 without inputs. Inputs with the same extent 0 follow
/// when another batch is run.
int BatchOf(const Graph& graph);
/// Shapes of the inputs for another batch.
std::vector<Shape> InputShapes(const Graph& graph, int batch);

/// The shapes of all values for inputs of these shapes, in the order of the graph's. Throws Error,
/// with the layer, where one cannot take them.
std::vector<Shape> ShapesFor(const Graph& graph, const std::vector<Shape>& inputs);

/// The graph for inputs of these shapes, in the order of its inputs: all shapes are inferred again
/// by the layers. Throws Error, with the layer, where one cannot take them. Plans of memory, views
/// and a range are dropped.
Graph WithInputShapes(Graph graph, const std::vector<Shape>& shapes);

/// The graph for another batch: all shapes are inferred again by the layers. Throws Error, with the
/// layer, where one cannot take it. Plans of memory, views and a range are dropped.
Graph WithBatch(Graph graph, int batch);

/// A line for each input, constant, node and output: what a node computes and from what, and the
/// shape, type and place of its outputs.
std::string ToText(const Graph& graph);
/// For Graphviz: nodes as boxes, values as arrows with their shapes.
std::string ToDot(const Graph& graph);

/// Called before the first pass with an empty name, and after each with its name.
using PassObserver = std::function<void(const std::string& pass, const Graph& graph)>;

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_GRAPH_HPP_
