#include "caffe/inference/evaluation/latency.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>

#include "caffe/error.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/net/index_limits.hpp"
#include "caffe/util/system/joined_threads.hpp"
#include "caffe/util/text/json.hpp"

namespace caffe::inference {

void Latencies::Add(const Latencies& others) {
  times_.insert(times_.end(), others.times_.begin(), others.times_.end());
}

std::vector<double> Latencies::Sorted() const {
  Require(!times_.empty(), "nothing was timed");
  std::vector<double> sorted = times_;
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

double Latencies::Total() const { return std::accumulate(times_.begin(), times_.end(), 0.0); }

double Latencies::Mean() const {
  Require(!times_.empty(), "nothing was timed");
  return Total() / times_.size();
}

double Latencies::Median() const {
  const std::vector<double> sorted = Sorted();
  const size_t n = sorted.size();
  return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

double Latencies::Percentile(double percent) const {
  Require(percent >= 0 && percent <= 100, "a percentile lies from 0 to 100, not at ", percent);
  const std::vector<double> sorted = Sorted();
  const double rank = std::ceil(percent / 100 * sorted.size());
  return sorted[std::max<size_t>(1, static_cast<size_t>(rank)) - 1];
}

void LayerTimes::ReportLayerTime(const std::string& layer, double milliseconds) {
  const auto found = index_.emplace(layer, layers_.size());
  if (found.second) layers_.push_back({layer, {}});
  layers_[found.first->second].times.Add(milliseconds);
}

double LayerTimes::Total() const {
  double total = 0;
  for (const Layer& layer : layers_) total += layer.times.Total();
  return total;
}

std::string LayerTimes::ToJson() const {
  json::Struct count;
  json::Set(&count, "count", layers_.empty() ? 0.0 : double(layers_[0].times.count()));
  std::string text = "[\n" + json::Text(count);
  const double total = Total();
  for (const Layer& layer : layers_) {
    json::Struct object;
    json::Set(&object, "name", layer.name);
    json::Set(&object, "timeMs", layer.times.Total());
    json::Set(&object, "averageMs", layer.times.Mean());
    json::Set(&object, "medianMs", layer.times.Median());
    json::Set(&object, "percentage", total > 0 ? 100 * layer.times.Total() / total : 0.0);
    text += ",\n" + json::Text(object);
  }
  return text + "]\n";
}

namespace {

/// IndexLimits of the context's values, in its batch.
std::vector<int> IndexLimitsOf(const Graph& graph, const ExecutionContext& context) {
  std::vector<IndexReader> readers;
  for (const Node& node : graph.nodes) {
    const bool same = node.operation().shares_bottom || node.type() == kReorder;
    readers.push_back({&node.layer, node.inputs, node.outputs, same && node.inputs.size() == 1});
  }
  std::vector<Shape> shapes;
  for (const Value& value : graph.values) shapes.push_back(value.shape);
  // Those shapes are the largest: a smaller batch has fewer items.
  const int batch = context.batch();
  const int most = batch > 0 ? shapes[graph.inputs[0]][0] : 0;
  for (Shape& shape : shapes) {
    if (batch >= most || shape.empty()) continue;
    shape[0] = std::max(1, static_cast<int>(int64_t{shape[0]} * batch / most));
  }
  for (const int input : graph.inputs) {
    shapes[input] = context.InputShape(graph.values[input].name);
  }
  return IndexLimits(readers, shapes);
}

}  // namespace

void FillWithNoise(unsigned seed, ExecutionContext* context) {
  std::minstd_rand generator(seed);
  std::uniform_real_distribution<float> uniform(0, 1);
  const ImagePreprocessing* preprocessing = context->engine().preprocessing();
  const Graph& graph = *context->engine().graph(context->profile());
  const std::vector<int> limits = IndexLimitsOf(graph, *context);
  for (const std::string& name : context->engine().inputs()) {
    float* values = context->Input(name);
    const size_t count = CountOf(context->InputShape(name));
    if (preprocessing && preprocessing->constants.count(name) > 0) {
      const std::vector<float>& given = preprocessing->constants.at(name);
      for (size_t i = 0; i < count; ++i) values[i] = given[i % given.size()];
      continue;
    }
    std::generate_n(values, count, [&] { return uniform(generator); });
    const int limit = limits[graph.FindValue(name)];
    if (limit > 0) MakeIndices(limit, count, values);
  }
}

namespace {

using Clock = std::chrono::steady_clock;

double MillisecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// One context and its runs.
struct StreamState {
  int index = 0;
  ExecutionContext* context = nullptr;
  RunTimes times;  // of its last run
  std::vector<RunTrace> traces;
};

/// True if another round of runs is to begin.
class Loop {
 public:
  Loop(const LoadOptions& options, Clock::time_point begin) : options_(options), begin_(begin) {}
  bool Goes() {
    if (done_ > 0 && options_.stop && *options_.stop) return false;
    const bool goes = done_ < options_.iterations || MillisecondsSince(begin_) < Limit();
    if (goes && done_++ > 0 && options_.idle_ms > 0) {
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(options_.idle_ms));
    }
    return goes;
  }

 private:
  double Limit() const { return options_.seconds * 1000; }

  const LoadOptions& options_;
  const Clock::time_point begin_;
  int64_t done_ = 0;
};

RunTrace TraceOf(const StreamState& stream, Clock::time_point begin, Clock::time_point asked) {
  const auto at = [&](Clock::time_point time) {
    return std::chrono::duration<double, std::milli>(time - begin).count();
  };
  const RunTimes& times = stream.times;
  return {stream.index,       at(asked),          at(times.begin), at(times.inputs),
          at(times.enqueued), at(times.computed), at(times.end)};
}

void RunAlone(const LoadOptions& options, Clock::time_point begin, StreamState* stream) {
  for (Loop loop(options, begin); loop.Goes();) {
    const Clock::time_point asked = Clock::now();
    stream->context->Run();
    stream->traces.push_back(TraceOf(*stream, begin, asked));
  }
}

/// A run that was enqueued on its context's thread; waits for its end, whatever happens.
class Pending {
 public:
  explicit Pending(StreamState* stream)
      : stream_(stream), asked_(Clock::now()), done_(stream->context->Enqueue()) {}
  Pending(Pending&&) = default;
  Pending& operator=(Pending&&) = default;
  ~Pending() {
    if (done_.valid()) done_.wait();
  }
  void Wait(Clock::time_point begin) {
    done_.get();
    stream_->traces.push_back(TraceOf(*stream_, begin, asked_));
  }

 private:
  StreamState* stream_;
  Clock::time_point asked_;
  std::future<void> done_;
};

/// This thread keeps all streams busy: each gets its next run when its last one is done.
void RunByTurns(const LoadOptions& options, Clock::time_point begin,
                std::vector<StreamState>* streams) {
  std::vector<Pending> pending;
  for (Loop loop(options, begin); loop.Goes();) {
    for (size_t i = 0; i < streams->size(); ++i) {
      if (i == pending.size()) {
        pending.emplace_back(&(*streams)[i]);
        continue;
      }
      pending[i].Wait(begin);
      pending[i] = Pending(&(*streams)[i]);
    }
  }
  for (Pending& last : pending) last.Wait(begin);
}

void RunInThreads(const LoadOptions& options, Clock::time_point begin,
                  std::vector<StreamState>* streams) {
  std::vector<std::exception_ptr> errors(streams->size());
  JoinedThreads threads;
  for (size_t i = 0; i < streams->size(); ++i) {
    threads.Start([&, i] {
      try {
        RunAlone(options, begin, &(*streams)[i]);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    });
  }
  threads.Join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

void RequirePossible(const LoadOptions& options) {
  Require(options.iterations > 0, "iterations must be positive, got ", options.iterations);
  Require(options.seconds >= 0, "the duration must not be negative, got ", options.seconds);
  Require(options.warm_up_ms >= 0, "the warm-up must not be negative, got ", options.warm_up_ms);
  Require(options.threads_each >= 0, "the threads of a stream must not be negative, got ",
          options.threads_each);
  Require(options.idle_ms >= 0, "the idle time must not be negative, got ", options.idle_ms);
}

void WarmUp(const LoadOptions& options, std::vector<StreamState>* streams, LoadResult* result) {
  const Clock::time_point begin = Clock::now();
  do {
    for (const StreamState& stream : *streams) stream.context->Run();
    result->warm_up_runs += static_cast<int>(streams->size());
  } while (MillisecondsSince(begin) < options.warm_up_ms);
  result->warm_up_seconds = MillisecondsSince(begin) / 1000;
}

/// While it lives, contexts record timestamps, and the first one its layers' times.
class Watch {
 public:
  Watch(const LoadOptions& options, std::vector<StreamState>* streams, LayerTimes* layers)
      : streams_(*streams) {
    for (StreamState& stream : streams_) {
      stream.context->SetRunTimes(&stream.times, options.transfers);
    }
    if (options.profile) streams_[0].context->SetProfiler(layers);
  }
  ~Watch() {
    for (StreamState& stream : streams_) stream.context->SetRunTimes(nullptr);
    streams_[0].context->SetProfiler(nullptr);
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  std::vector<StreamState>& streams_;
};

}  // namespace

std::string LoadResult::TracesToJson() const {
  std::string text = "[";
  for (const RunTrace& trace : traces) {
    json::Struct object;
    const auto span = [&](const char* name, double begin, double end) {
      json::Set(&object, Join("start", name, "Ms"), begin);
      json::Set(&object, Join("end", name, "Ms"), end);
    };
    span("Enq", trace.inputs, trace.enqueued);
    span("H2d", trace.begin, trace.inputs);
    span("In", trace.begin, trace.inputs);
    span("Compute", trace.inputs, trace.computed);
    span("D2h", trace.computed, trace.end);
    span("Out", trace.computed, trace.end);
    json::Set(&object, "h2dMs", trace.inputs - trace.begin);
    json::Set(&object, "inMs", trace.inputs - trace.begin);
    json::Set(&object, "computeMs", trace.computed - trace.inputs);
    json::Set(&object, "d2hMs", trace.end - trace.computed);
    json::Set(&object, "outMs", trace.end - trace.computed);
    json::Set(&object, "latencyMs", trace.end - trace.begin);
    json::Set(&object, "endToEndMs", trace.end - trace.asked);
    text += (text.size() > 1 ? ",\n" : "\n") + json::Text(object);
  }
  return text + "]\n";
}

namespace {

std::map<std::string, double> ProductsOfRun(const ExecutionContext& context) {
  const Graph& graph = *context.engine().graph(context.profile());
  std::vector<Shape> inputs;
  for (const int input : graph.inputs) {
    inputs.push_back(context.InputShape(graph.values[input].name));
  }
  return ProductsByLayer(graph, ShapesFor(graph, inputs));
}

}  // namespace

LoadResult MeasureLoad(std::vector<ExecutionContext>* contexts, const LoadOptions& options) {
  RequirePossible(options);
  Require(!contexts->empty(), "there is no context to measure");
  LoadResult result;
  result.batch = std::max(1, contexts->front().batch());
  result.profile = contexts->front().profile();
  if (options.profile) result.products = ProductsOfRun(contexts->front());
  std::vector<StreamState> streams(contexts->size());
  for (size_t i = 0; i < streams.size(); ++i) {
    streams[i].index = static_cast<int>(i);
    streams[i].context = &(*contexts)[i];
  }
  WarmUp(options, &streams, &result);
  const Watch watch(options, &streams, &result.layers);
  const Clock::time_point begin = Clock::now();
  if (streams.size() == 1) {
    RunAlone(options, begin, &streams[0]);
  } else if (options.threads) {
    RunInThreads(options, begin, &streams);
  } else {
    RunByTurns(options, begin, &streams);
  }
  result.seconds = MillisecondsSince(begin) / 1000;
  for (const StreamState& stream : streams) {
    result.traces.insert(result.traces.end(), stream.traces.begin(), stream.traces.end());
  }
  std::stable_sort(result.traces.begin(), result.traces.end(),
                   [](const RunTrace& a, const RunTrace& b) { return a.asked < b.asked; });
  for (const RunTrace& trace : result.traces) result.latency.Add(trace.end - trace.asked);
  return result;
}

LoadResult MeasureLoad(const std::shared_ptr<const Engine>& engine, const LoadOptions& options) {
  RequirePossible(options);
  Require(options.streams > 0, "streams must be positive, got ", options.streams);
  Require(options.batch >= 0 && options.batch <= engine->max_batch(), "batch ", options.batch,
          ": engine '", engine->name(), "' is built for 1 to ", engine->max_batch());
  Require(options.batch == 0 || options.input_shapes.empty(),
          "give the batch or the shapes of inputs, which have one, not both");
  std::vector<ExecutionContext> contexts;
  for (int i = 0; i < options.streams; ++i) {
    contexts.emplace_back(engine, options.threads_each);
    if (options.batch > 0) contexts.back().SetBatch(options.batch);
    if (!options.input_shapes.empty()) contexts.back().SetInputShapes(options.input_shapes);
    FillWithNoise(i + 1, &contexts.back());
  }
  return MeasureLoad(&contexts, options);
}

}  // namespace caffe::inference
