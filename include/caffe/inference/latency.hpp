#ifndef CAFFE_INFERENCE_LATENCY_HPP_
#define CAFFE_INFERENCE_LATENCY_HPP_

#include <map>
#include <string>
#include <vector>

#include "caffe/inference/engine.hpp"

namespace caffe {
namespace inference {

/// Times in milliseconds. All but Add throw Error if there are none.
class Latencies {
 public:
  void Add(double milliseconds) { times_.push_back(milliseconds); }
  void Add(const Latencies& others);

  size_t count() const { return times_.size(); }
  const std::vector<double>& times() const { return times_; }  ///< in the order of Add
  double Total() const;
  double Min() const { return Percentile(0); }
  double Max() const { return Percentile(100); }
  double Mean() const;
  /// The mean of the two in the middle where their number is even.
  double Median() const;
  /// The smallest time that `percent` (0 to 100) of them do not exceed. Throws Error for another
  /// percentage.
  double Percentile(double percent) const;

 private:
  std::vector<double> Sorted() const;

  std::vector<double> times_;
};

/// Times of each layer of an engine, over several runs.
class LayerTimes : public Profiler {
 public:
  struct Layer {
    std::string name;
    Latencies times;
  };

  void ReportLayerTime(const std::string& layer, double milliseconds) override;
  /// In the order in which they ran first.
  const std::vector<Layer>& layers() const { return layers_; }
  double Total() const;
  /// A list: {"count": runs}, then for each layer name, timeMs, averageMs, medianMs and percentage.
  std::string ToJson() const;

 private:
  std::vector<Layer> layers_;
  std::map<std::string, size_t> index_;
};

/// How an engine is loaded with work to be timed.
struct LoadOptions {
  int batch = 0;  ///< items a run; 0: the largest
  /// Shapes of inputs, by name, instead of the largest and of `batch`.
  std::map<std::string, Shape> input_shapes;
  int iterations = 1;     ///< of each stream, at least
  double seconds = 0;     ///< at least
  double warm_up_ms = 0;  ///< runs before the clock starts, one at least
  int streams = 1;        ///< contexts that run side by side
  bool threads = false;   ///< a thread for each stream gives it work; else one thread does for all
  bool profile = false;   ///< time layers as well
};

struct LoadResult {
  Latencies latency;   ///< of each run, from when it was asked for
  double seconds = 0;  ///< from the first run to the end of the last one
  LayerTimes layers;   ///< of the first stream, where LoadOptions::profile
  int batch = 0;
  int profile = 0;  ///< the one that was run
  /// Items.
  double PerSecond() const { return latency.count() * batch / seconds; }
};

/// Runs an engine on noise. Throws Error for options that are out of range.
LoadResult MeasureLoad(const std::shared_ptr<const Engine>& engine, const LoadOptions& options);

/// Writes numbers from 0 to 1 to all inputs, the same ones for the same seed.
void FillWithNoise(unsigned seed, ExecutionContext* context);

}  // namespace inference
}  // namespace caffe

#endif  // CAFFE_INFERENCE_LATENCY_HPP_
