#ifndef CAFFE_INFERENCE_BACKENDS_IMPLEMENTATION_HPP_
#define CAFFE_INFERENCE_BACKENDS_IMPLEMENTATION_HPP_

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "caffe/inference/quantize/range.hpp"
#include "step.hpp"

namespace caffe::inference {

/// The type and layout of a value. INT8 stands for 8-bit integers, signed or not depending on the
/// value's range.
struct Format {
  ElementType type = ElementType::FLOAT;
  Layout::Kind layout = Layout::PLAIN;
  bool operator==(const Format& other) const {
    return type == other.type && layout == other.layout;
  }
  bool operator!=(const Format& other) const { return !(*this == other); }
  bool operator<(const Format& other) const {
    return type != other.type ? type < other.type : layout < other.layout;
  }
};

/// "FLOAT", "FLOAT16 blocked", "INT8 channels last", ...
std::string ToString(const Format& format);

struct Candidate;

/// What the lowering knows in addition to the graph.
struct LoweringContext {
  const Graph& graph;
  std::vector<Range> ranges;         ///< of each value
  std::vector<bool> dependent;       ///< values whose shapes depend on the data
  std::vector<ElementType> storage;  ///< types of blobs, FLOAT among them
  bool tensor_float = false;         ///< products of FLOAT may round their factors (TF32)
  /// The types that nodes with weights may compute in; empty: any. Candidates for others may be
  /// left out.
  std::set<ElementType> maths = {};
  /// Receives the reasons why an implementation has no candidate, or lacks some; null: not wanted.
  std::vector<std::string>* reasons = nullptr;

  bool Stores(ElementType type) const;
  bool Wants(ElementType math) const { return maths.empty() || maths.count(math) > 0; }
  /// Notes a reason, a few words that go on with "it": "needs whole blocks of channels".
  void Note(const std::string& reason) const;
  /// The same, and returns no candidates.
  std::vector<Candidate> None(const std::string& reason) const;
  /// Why the node cannot be computed in INT8 from this value; "" if it can.
  std::string WhyNotInt8(int value) const;
};

/// One way of computing a node.
struct Candidate {
  const class Implementation* implementation = nullptr;
  std::string variant;  ///< which of the implementation's ways; "": it has one
  ElementType math = ElementType::FLOAT;
  std::vector<Format> inputs;
  std::vector<Format> operands;  ///< of each step of the epilogue; of those without, any
  std::vector<Format> outputs;
  double microseconds = 0;

  /// What Node::implementation is: "NAME" or "NAME:VARIANT".
  std::string FullName() const;
};

/// True if all values of the node can become 8-bit integers, and blobs may lie in them. Else the
/// reason is noted.
bool HaveRanges(const LoweringContext& context, const Node& node);

/// A candidate with all inputs in `input`, all operands and outputs in `output`.
Candidate Formats(const Implementation& implementation, const Node& node, ElementType math,
                  const Format& input, const Format& output);

/// A family of kernels.
class Implementation {
 public:
  virtual ~Implementation() = default;
  virtual const char* name() const = 0;
  /// True if its candidates have variants.
  virtual bool has_variants() const { return false; }
  /// True if it may compute such a node: with floats, or with integers alone (Node::integers).
  virtual bool Takes(const Node& node) const { return !node.integers; }
  /// True if the 8-bit integers that it reads and writes for the node may have a zero point.
  virtual bool TakesZeroPoints(const Node&) const { return false; }
  /// True if it may compute the node by a library that knows OpenMP's threads only.
  virtual bool NeedsOpenMp(const Graph&, const Node&) const { return false; }
  /// Its candidates for a node that it takes, the best first; if there are none, it says why
  /// (LoweringContext::None).
  virtual std::vector<Candidate> Candidates(const LoweringContext& context,
                                            const Node& node) const = 0;
  /// True if it computes the node, which has no weights, on 8-bit integers, with one rounding more
  /// than the layer: worth it where its output is read in 8 bits anyway.
  virtual bool RoundsInputs(const Graph&, const Node&) const { return false; }
  /// The node's parameters as the step reads them: unchanged by default. `graph` has the values'
  /// types, layouts and scales. Throws Unsupported if the candidate turns out not to be one; any
  /// other Error, here and in steps, ends the build.
  virtual std::vector<Constant> Pack(const Graph& graph, const Node& node) const;
  /// For a node with packed parameters, which outlives the step.
  virtual std::unique_ptr<Step> Make(const Graph& graph, const Node& node) const = 0;
};

/// Packs the node's parameters, those of layers that are joined into it included.
void PackParameters(const Implementation& implementation, const Graph& graph, Node* node);

/// The variant that a node's implementation names; "" if none.
std::string VariantOf(const Node& node);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BACKENDS_IMPLEMENTATION_HPP_
