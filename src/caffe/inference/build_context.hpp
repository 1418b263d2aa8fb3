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

/// What the passes of a build know besides the graph.
struct BuildContext {
  // What was asked for.
  BuilderConfig config;
  const Target* target = nullptr;  ///< null: nothing is lowered
  std::shared_ptr<const CalibrationTable> table;
  /// The types that layers may compute in by default.
  std::set<ElementType> types;
  /// By layer: exceptions from `types`.
  std::map<std::string, std::set<ElementType>> narrowed;

  // Results of passes for later ones.
  std::vector<Range> ranges;    ///< of each value: how it becomes 8-bit integers
  std::vector<size_t> scratch;  ///< scratch bytes of each node; empty: not known

  /// A build for the configuration's backend. Throws Error for an invalid configuration.
  static BuildContext For(const BuilderConfig& config);

  bool Skips(const std::string& pass) const;
  bool HasIntegersAlone() const;
  QuantizationScheme Scheme() const { return config.quantization.SchemeOrDefault(); }
  /// The types that a node may compute in: those set for the layer, for one merged into it, or in
  /// the prototxt.
  std::set<ElementType> TypesFor(const Node& node) const;
  /// The same once it is known whether the node is integer-only. FLOAT if no other type remains.
  std::set<ElementType> LoweredTypesFor(const Node& node) const;
};

/// The types that BEST chooses from, or the precision's type.
std::set<ElementType> TypesOf(Precision precision, const BuilderConfig& config);

/// Runs the build's passes in their order, up to the one called `last`; null: all. The graph is
/// validated, and shown to the configuration's observer, after each. Throws Error naming the pass,
/// and for unknown names in skip_passes or passes that cannot be skipped.
Graph RunPasses(Graph graph, BuildContext* build, const char* last = nullptr);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BUILD_CONTEXT_HPP_
