#include "caffe/inference/latency.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>
#include <thread>

#include "../../util/json.hpp"
#include "caffe/error.hpp"

namespace caffe {
namespace inference {

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

void FillWithNoise(unsigned seed, ExecutionContext* context) {
  std::minstd_rand generator(seed);
  std::uniform_real_distribution<float> uniform(0, 1);
  for (const std::string& name : context->engine().inputs()) {
    float* values = context->Input(name);
    std::generate_n(values, CountOf(context->InputShape(name)), [&] { return uniform(generator); });
  }
}

namespace {

using Clock = std::chrono::steady_clock;

double MillisecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// One context and its runs.
struct Stream {
  explicit Stream(ExecutionContext c) : context(std::move(c)) {}
  ExecutionContext context;
  Latencies latency;
};

/// Runs until there are enough runs and enough time is over.
class Loop {
 public:
  Loop(const LoadOptions& options, Clock::time_point begin) : options_(options), begin_(begin) {}
  bool Goes() { return done_++ < options_.iterations || MillisecondsSince(begin_) < Limit(); }

 private:
  double Limit() const { return options_.seconds * 1000; }

  const LoadOptions& options_;
  const Clock::time_point begin_;
  int done_ = 0;
};

void RunAlone(const LoadOptions& options, Clock::time_point begin, Stream* stream) {
  for (Loop loop(options, begin); loop.Goes();) {
    const Clock::time_point start = Clock::now();
    stream->context.Run();
    stream->latency.Add(MillisecondsSince(start));
  }
}

/// A run that was enqueued; its context's thread says when it has ended.
class Pending {
 public:
  explicit Pending(Stream* stream) : stream_(stream), start_(Clock::now()) {
    auto done = std::make_shared<std::promise<double>>();
    took_ = done->get_future();
    stream->context.Enqueue([done, start = start_](std::exception_ptr error) {
      if (error) {
        done->set_exception(error);
      } else {
        done->set_value(MillisecondsSince(start));
      }
    });
  }
  void Wait() { stream_->latency.Add(took_.get()); }

 private:
  Stream* stream_;
  Clock::time_point start_;
  std::future<double> took_;
};

/// This thread keeps all streams busy: each gets its next run when its last one has ended.
void RunByTurns(const LoadOptions& options, Clock::time_point begin, std::vector<Stream>* streams) {
  std::vector<Pending> pending;
  for (Loop loop(options, begin); loop.Goes();) {
    for (size_t i = 0; i < streams->size(); ++i) {
      if (i == pending.size()) {
        pending.emplace_back(&(*streams)[i]);
        continue;
      }
      pending[i].Wait();
      pending[i] = Pending(&(*streams)[i]);
    }
  }
  for (Pending& last : pending) last.Wait();
}

void RunInThreads(const LoadOptions& options, Clock::time_point begin,
                  std::vector<Stream>* streams) {
  std::vector<std::exception_ptr> errors(streams->size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < streams->size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        RunAlone(options, begin, &(*streams)[i]);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

void RequirePossible(const Engine& engine, const LoadOptions& options) {
  Require(options.iterations > 0, "iterations must be positive, got ", options.iterations);
  Require(options.streams > 0, "streams must be positive, got ", options.streams);
  Require(options.seconds >= 0, "the duration must not be negative, got ", options.seconds);
  Require(options.warm_up_ms >= 0, "the warm-up must not be negative, got ", options.warm_up_ms);
  Require(options.batch >= 0 && options.batch <= engine.max_batch(), "batch ", options.batch,
          ": engine '", engine.name(), "' is built for 1 to ", engine.max_batch());
  Require(options.batch == 0 || options.input_shapes.empty(),
          "give the batch or the shapes of inputs, which have one, not both");
}

}  // namespace

LoadResult MeasureLoad(const std::shared_ptr<const Engine>& engine, const LoadOptions& options) {
  RequirePossible(*engine, options);
  LoadResult result;
  result.batch = 1;
  std::vector<Stream> streams;
  for (int i = 0; i < options.streams; ++i) {
    streams.emplace_back(ExecutionContext(engine));
    ExecutionContext& context = streams.back().context;
    if (options.batch > 0) context.SetBatch(options.batch);
    if (!options.input_shapes.empty()) context.SetInputShapes(options.input_shapes);
    if (context.batch() > 0) result.batch = context.batch();
    result.profile = context.profile();
    FillWithNoise(i + 1, &context);
    context.Run();
  }
  const Clock::time_point warm_up = Clock::now();
  while (MillisecondsSince(warm_up) < options.warm_up_ms) {
    for (Stream& stream : streams) stream.context.Run();
  }
  if (options.profile) streams[0].context.SetProfiler(&result.layers);
  const Clock::time_point begin = Clock::now();
  if (streams.size() == 1) {
    RunAlone(options, begin, &streams[0]);
  } else if (options.threads) {
    RunInThreads(options, begin, &streams);
  } else {
    RunByTurns(options, begin, &streams);
  }
  result.seconds = MillisecondsSince(begin) / 1000;
  for (const Stream& stream : streams) result.latency.Add(stream.latency);
  return result;
}

}  // namespace inference
}  // namespace caffe
