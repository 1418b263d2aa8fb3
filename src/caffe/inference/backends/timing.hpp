#ifndef CAFFE_INFERENCE_BACKENDS_TIMING_HPP_
#define CAFFE_INFERENCE_BACKENDS_TIMING_HPP_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "caffe/inference/timing_cache.hpp"
#include "target.hpp"

namespace caffe::inference {

/// Times candidates on this machine.
class Timing {
 public:
  /// Each candidate is run `iterations` times after a warm-up; the least time is taken. 0: nothing
  /// is measured, and times are estimated from the amount of work. `cache`, from which times are
  /// read and to which they are added, may be null. Candidates with more scratch memory than
  /// `max_workspace` bytes are rejected (0: any).
  Timing(const Target& target, int iterations, TimingCache* cache, size_t max_workspace)
      : target_(target), iterations_(iterations), cache_(cache), max_workspace_(max_workspace) {}

  virtual ~Timing() = default;

  /// What is timed, and lowered for.
  const Target& target() const { return target_; }
  /// Microseconds. Throws Unsupported if the candidate turns out not to be one, and Error, naming
  /// layer and implementation, if its kernel fails. An Error of the target's any_layer is taken for
  /// a refusal of the numbers that it is timed with: it is not a candidate then.
  virtual double Of(const LoweringContext& context, const Node& node, const Candidate& candidate);
  /// Measures again a candidate that `Of` has just measured, and returns the least time: the
  /// machine may have been slower then. Times from the cache are returned as they are.
  double Again(const LoweringContext& context, const Node& node, const Candidate& candidate);
  /// False: times are estimated.
  bool measures() const { return iterations_ > 0; }
  /// The time of a node of a lowered graph whose weights are not packed yet, for values of these
  /// shapes, measured twice. Throws as `Of` does.
  virtual double OfLowered(const Graph& graph, const std::vector<Shape>& shapes, const Node& node);
  /// The time of changing a value's format.
  double OfReorder(const LoweringContext& context, int value, const Format& from, const Format& to);

 private:
  /// A graph of one node, as a candidate computes it.
  struct IsolatedNode {
    Graph graph;
    Node node;
    std::string key;  ///< in a cache
  };
  /// Throws Unsupported where the candidate wants one value in two formats.
  IsolatedNode Isolated(const LoweringContext& context, const Node& node,
                        const Candidate& candidate) const;
  double Measured(const Candidate& candidate, IsolatedNode* isolated) const;
  /// The same, and the cache notes what turns out to be no candidate.
  double MeasuredOrNoted(const Candidate& candidate, IsolatedNode* isolated) const;
  /// What the cache has, if there is one. Throws Unsupported for what is no candidate.
  std::optional<double> Known(const std::string& key) const;
  double Guess(const LoweringContext& context, const Node& node, const Candidate& candidate) const;
  std::string KeyOf(const Graph& graph, const Node& node) const;

  const Target& target_;
  const int iterations_;
  TimingCache* const cache_;
  const size_t max_workspace_;
  std::set<std::string> measured_;          // keys of what was not in the cache
  std::map<std::string, double> reorders_;  // by their keys
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BACKENDS_TIMING_HPP_
