#ifndef CAFFE_INFERENCE_BACKENDS_CPU_TIMING_HPP_
#define CAFFE_INFERENCE_BACKENDS_CPU_TIMING_HPP_

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "caffe/inference/timing_cache.hpp"
#include "implementation.hpp"

namespace caffe {
namespace inference {
namespace cpu {

/// What candidates take on this machine, with the threads that OpenMP would use now.
class Timing {
 public:
  /// Each candidate is run `iterations` times behind one that does not count; the least time is
  /// taken. 0: nothing is measured, and times follow from the amount of work. `cache`, where the
  /// time stands already or is put, may be null. Candidates with more scratch memory than
  /// `max_workspace` bytes are none (0: any).
  Timing(int iterations, TimingCache* cache, size_t max_workspace)
      : iterations_(iterations), cache_(cache), max_workspace_(max_workspace) {}

  virtual ~Timing() = default;

  /// Microseconds. Nothing where the candidate turns out not to be one.
  virtual std::optional<double> Of(const Context& context, const Node& node,
                                   const Candidate& candidate);
  /// Of changing a value's format.
  double OfReorder(const Context& context, int value, const Format& from, const Format& to);

 private:
  std::optional<double> Measure(const Graph& graph, const Node& node);
  double Guess(const Context& context, const Node& node, const Candidate& candidate) const;

  const int iterations_;
  TimingCache* const cache_;
  const size_t max_workspace_;
  std::map<std::pair<size_t, std::pair<Format, Format>>, double> reorders_;
};

/// Gives a value this format: its type (of 8 bits as `range` says), layout and scale.
void SetFormat(const Format& format, const Range& range, Value* value);

}  // namespace cpu
}  // namespace inference
}  // namespace caffe

#endif  // CAFFE_INFERENCE_BACKENDS_CPU_TIMING_HPP_
