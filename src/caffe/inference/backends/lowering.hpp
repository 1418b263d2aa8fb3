#ifndef CAFFE_INFERENCE_BACKENDS_LOWERING_HPP_
#define CAFFE_INFERENCE_BACKENDS_LOWERING_HPP_

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "caffe/inference/layer_candidates.hpp"
#include "timing.hpp"

namespace caffe::inference {

struct LoweringOptions {
  /// For each node: the types in which a layer with weights may compute. If it has no kernel for
  /// any of them it computes in FLOAT.
  std::vector<std::set<ElementType>> maths;
  std::vector<Range> ranges;  ///< of each value
  /// The means of each value's channels, with which biases are corrected for the rounding of
  /// weights to 8 bits; empty if unknown.
  std::vector<std::vector<float>> means;
  bool tensor_float = false;  ///< products of FLOAT may round their factors (TF32)
  std::function<void(int done, int of, const std::string& layer)> progress;
  std::function<void(const std::string& line)> remark;
  std::function<void(const LayerCandidates& candidates)> on_candidates;
};

/// The time that is compared: formats in which the outputs take `bytes` instead of `float_bytes`
/// may take up to 2% longer, which is within the uncertainty of timing.
double WeightedTime(double microseconds, double bytes, double float_bytes);

/// Chooses for each node of an optimized graph the implementation, and for each value the type and
/// layout, that minimize the total time (WeightedTime) on the timing's target; inserts reorders
/// where a value is read in several formats. Inputs and outputs of the graph stay FLOAT in Caffe's
/// order. For a range of shapes the time is that in the shapes of opt_inputs, and the chosen
/// candidates can compute the smallest and the largest too.
/// How candidates are combined: choose_candidates.hpp.
Graph ChooseImplementations(Graph graph, const LoweringOptions& options, Timing* timing);

/// The graph with the parameters of all nodes as their implementations read them.
Graph PackWeights(Graph graph, const Target& target);

/// One behind the other.
Graph Lower(Graph graph, const LoweringOptions& options, Timing* timing);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BACKENDS_LOWERING_HPP_
