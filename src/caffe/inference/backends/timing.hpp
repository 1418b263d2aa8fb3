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

/// What candidates take on this machine.
class Timing {
 public:
  /// Each candidate is run `iterations` times behind one that does not count; the least time is
  /// taken. 0: nothing is measured, and times follow from the amount of work. `cache`, where the
  /// time stands already or is put, may be null. Candidates with more scratch memory than
  /// `max_workspace` bytes are none (0: any).
  Timing(const Target& target, int iterations, TimingCache* cache, size_t max_workspace)
      : target_(target), iterations_(iterations), cache_(cache), max_workspace_(max_workspace) {}

  virtual ~Timing() = default;

  /// What is timed, and lowered for.
  const Target& target() const { return target_; }
  /// Microseconds. Throws Unsupported where the candidate turns out not to be one, and Error,
  /// naming layer and implementation, where its kernel fails. What the target's any_layer refuses
  /// is the numbers that it is timed with: it is no candidate then.
  virtual double Of(const LoweringContext& context, const Node& node, const Candidate& candidate);
  /// The least of the candidate's time and of what it takes now, if `Of` has just measured it
  /// (times out of the cache stand): the machine may have been slower then than for others.
  double Again(const LoweringContext& context, const Node& node, const Candidate& candidate);
  /// Of changing a value's format.
  double OfReorder(const LoweringContext& context, int value, const Format& from, const Format& to);

 private:
  /// A node as a candidate computes it, with its values and no others.
  struct Alone {
    Graph graph;
    Node node;
    std::string key;  ///< in a cache
  };
  /// Throws Unsupported where the candidate wants one value in two formats.
  Alone AloneOf(const LoweringContext& context, const Node& node, const Candidate& candidate) const;
  double Measured(const Candidate& candidate, Alone* alone) const;
  double Guess(const LoweringContext& context, const Node& node, const Candidate& candidate) const;
  std::string KeyOf(const Graph& graph, const Node& node) const;

  const Target& target_;
  const int iterations_;
  TimingCache* const cache_;
  const size_t max_workspace_;
  std::set<std::string> measured_;  // keys of what was not in the cache
  std::map<std::pair<size_t, std::pair<Format, Format>>, double> reorders_;
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_BACKENDS_TIMING_HPP_
