#ifndef CAFFE_INFERENCE_BUILD_CONTEXT_HPP_
#define CAFFE_INFERENCE_BUILD_CONTEXT_HPP_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backends/target.hpp"
#include "caffe/inference/builder.hpp"

namespace caffe::inference {

/// What the passes of a build know in addition to the graph.
struct BuildContext {
  // What was asked for.
  BuilderConfig config;
  const Target* target = nullptr;  ///< what is lowered for; null: nothing is lowered
  std::shared_ptr<const CalibrationTable> table;
  /// What layers may compute in of which nothing else is said.
  std::set<ElementType> types;
  /// By layer, of those that may have other types.
  std::map<std::string, std::set<ElementType>> narrowed;

  // What passes have found out for those behind them.
  std::vector<Range> ranges;    ///< of each value: how it becomes 8-bit integers
  std::vector<size_t> scratch;  ///< bytes that each node needs for itself; none: not known

  /// A build for the configuration's backend. Throws Error for what cannot be built so.
  static BuildContext For(const BuilderConfig& config);

  bool Skips(const std::string& pass) const;
  bool HasIntegersAlone() const;
  QuantizationScheme Scheme() const { return config.quantization.SchemeOrDefault(); }
  /// What a node may compute in: what was said of the layer, of one that was joined to it, or in
  /// the prototxt.
  std::set<ElementType> TypesFor(const Node& node) const;
  /// The same where it is known whether integers alone compute the node. FLOAT if nothing is left.
  std::set<ElementType> LoweredTypesFor(const Node& node) const;
};

/// What BEST chooses from, or the precision's type.
std::set<ElementType> TypesOf(Precision precision, const BuilderConfig& config);

/// Runs the build's passes in their order, up to the one called `last`; null: all. The graph is
/// validated, and shown to the configuration's observer, after each. Throws Error naming the pass,
/// and for names in skip_passes that are none or of passes that cannot be skipped.
Graph RunPasses(Graph graph, BuildContext* build, const char* last = nullptr);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BUILD_CONTEXT_HPP_
