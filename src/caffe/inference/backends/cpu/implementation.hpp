#ifndef CAFFE_INFERENCE_BACKENDS_CPU_IMPLEMENTATION_HPP_
#define CAFFE_INFERENCE_BACKENDS_CPU_IMPLEMENTATION_HPP_

#include <memory>
#include <string>
#include <vector>

#include "step.hpp"

namespace caffe {
namespace inference {
namespace cpu {

/// How a value lies in memory. INT8 stands for 8-bit integers, signed or not as the value's range
/// has it.
struct Format {
  ElementType type = ElementType::FLOAT;
  bool blocked = false;
  bool operator==(const Format& other) const {
    return type == other.type && blocked == other.blocked;
  }
  bool operator!=(const Format& other) const { return !(*this == other); }
  bool operator<(const Format& other) const {
    return type != other.type ? type < other.type : blocked < other.blocked;
  }
};

/// "FLOAT", "FLOAT16 blocked", ...
std::string ToString(const Format& format);

/// Channels in a block, on the instruction set in use: 8 or 16.
int ChannelBlock();

/// How a value can become 8-bit integers; scale 0: it cannot.
struct Range {
  float scale = 0;
  bool is_unsigned = false;
  bool known() const { return scale > 0; }
};

/// What a lowering knows of a graph beside the graph.
struct Context {
  const Graph& graph;
  std::vector<Range> ranges;         ///< of each value
  std::vector<bool> dependent;       ///< values whose shapes depend on the data
  std::vector<ElementType> storage;  ///< types that blobs may lie in, FLOAT among them
  bool Stores(ElementType type) const;
};

/// One way of computing a node.
struct Candidate {
  const class Implementation* implementation = nullptr;
  ElementType math = ElementType::FLOAT;
  std::vector<Format> inputs;
  std::vector<Format> operands;  ///< of each step of the epilogue; of those without, any
  std::vector<Format> outputs;
  double microseconds = 0;
};

/// A family of kernels.
class Implementation {
 public:
  virtual ~Implementation() = default;
  virtual const char* name() const = 0;
  /// The ways in which it can compute the node; none where it cannot. The best first.
  virtual std::vector<Candidate> Candidates(const Context& context, const Node& node) const = 0;
  /// The node's parameters as the step reads them. `graph` has the values' types, layouts and
  /// scales.
  virtual std::vector<Constant> Pack(const Graph& graph, const Node& node) const = 0;
  /// For a node with packed parameters, which outlives the step.
  virtual std::unique_ptr<Step> Make(const Graph& graph, const Node& node) const = 0;
};

/// All, the one that runs any layer last.
const std::vector<const Implementation*>& Implementations();
/// By its name. Throws Error for a name that is none.
const Implementation& ImplementationOf(const std::string& name);

// Each alone.
const Implementation& OneDnnConvolution();
const Implementation& WinogradConvolution();
const Implementation& PackedConvolution();
const Implementation& Int8Convolution();
const Implementation& Int8Winograd();
const Implementation& InnerProduct();
const Implementation& Int8InnerProduct();
const Implementation& BlasInnerProduct();
const Implementation& Pooling();
const Implementation& Moving();
const Implementation& Reorder();
const Implementation& AnyLayer();

/// What `value` is as an operand with this shape and nothing known of its place: dense.
Operand Described(const Value& value, const Shape& shape);

}  // namespace cpu
}  // namespace inference
}  // namespace caffe

#endif  // CAFFE_INFERENCE_BACKENDS_CPU_IMPLEMENTATION_HPP_
