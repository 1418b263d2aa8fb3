#ifndef CAFFE_INFERENCE_LATENCY_HPP_
#define CAFFE_INFERENCE_LATENCY_HPP_

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "caffe/inference/engine.hpp"

namespace caffe::inference {

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
  /// The mean of the two middle ones if their number is even.
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
  double seconds = 0;     ///< at least; infinity: until `stop`
  double warm_up_ms = 0;  ///< runs before the clock starts, one at least
  double idle_ms = 0;     ///< the pause of a stream between two runs
  int streams = 1;        ///< contexts that run at the same time
  bool threads = false;   ///< each stream has its own thread; else one thread serves all
  int threads_each = 0;   ///< threads of each run; 0: Caffe::threads()
  bool profile = false;   ///< time layers as well
  bool transfers = true;  ///< false: on a GPU, timed runs copy neither inputs nor outputs
  /// Once it is true no further runs begin, except for the first of each stream; may be null.
  const std::atomic<bool>* stop = nullptr;
};

/// Timestamps of one run, in order, in milliseconds since the first run was asked for. See
/// RunTimes.
struct RunTrace {
  int stream = 0;
  double asked = 0;  ///< when it was asked for
  double begin = 0, inputs = 0, enqueued = 0, computed = 0, end = 0;
};

struct LoadResult {
  Latencies latency;             ///< of each run, from when it was asked for
  std::vector<RunTrace> traces;  ///< of each run, in the order in which they were asked for
  double seconds = 0;            ///< from the first run to the end of the last one
  LayerTimes layers;             ///< of the first stream, where LoadOptions::profile
  /// And ProductsByLayer for a run of it.
  std::map<std::string, double> products;
  int batch = 0;
  int warm_up_runs = 0;        ///< before the clock started, of all streams
  double warm_up_seconds = 0;  ///< their duration
  int profile = 0;             ///< the one that was run
  /// Items.
  double PerSecond() const { return latency.count() * batch / seconds; }
  /// A list with an object for each trace. Times in milliseconds: startEnqMs, endEnqMs (giving
  /// the GPU its work; empty on the CPU), startH2dMs, endH2dMs (inputs), startComputeMs,
  /// endComputeMs, startD2hMs, endD2hMs (outputs), their lengths h2dMs, computeMs and d2hMs,
  /// latencyMs, which is the three together, and endToEndMs, which is from when the run was asked
  /// for. In and Out in place of H2d and D2h are there too.
  std::string TracesToJson() const;
};

/// Runs an engine on noise. Throws Error for options that are out of range.
LoadResult MeasureLoad(const std::shared_ptr<const Engine>& engine, const LoadOptions& options);
/// Runs contexts of one engine, one for each stream, in the shapes and on the inputs that they
/// have; `batch` and `streams` of the options do not count. Afterwards they have the outputs of
/// their last run (without LoadOptions::transfers those of the first). Throws Error for options
/// that are out of range.
LoadResult MeasureLoad(std::vector<ExecutionContext>* contexts, const LoadOptions& options);

/// Writes numbers from 0 to 1 to the inputs, the same ones for the same seed; to those that layers
/// read as indices, indices that these layers have. Inputs whose values the engine stores
/// (ImagePreprocessing::constants) get these.
void FillWithNoise(unsigned seed, ExecutionContext* context);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_LATENCY_HPP_
