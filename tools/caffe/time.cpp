#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../common/engine_building.hpp"
#include "caffe/caffe.hpp"
#include "caffe/core/error_context.hpp"
#include "caffe/inference/evaluation/latency.hpp"
#include "caffe/inference/evaluation/layer_rates.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/kernels/processor_peaks.hpp"
#include "caffe/util/text/text_table.hpp"
#include "commands.hpp"
#include "engine_flags.hpp"
#include "net_flags.hpp"

CAFFE_FLAG(string, phase, "", "TRAIN|TEST", "the phase that a net runs in (default TRAIN)");
CAFFE_FLAG(bool, forward_only, false, "", "leave out the backward pass of a net");
CAFFE_FLAG(int32, batch, 0, "N",
           "items a run of a plan (default: the largest batch that it is built for)");
CAFFE_FLAG(string, shape, "", "NAME=NxCxHxW,...",
           "shapes of a plan's inputs, instead of -batch (default: the largest of its first "
           "profile); the name of the only input may be left out");

namespace caffe {
namespace {

Phase PhaseOr(Phase otherwise) {
  if (FLAGS_phase.empty()) return otherwise;
  Phase phase;
  Require(Phase_Parse(FLAGS_phase, &phase), Error::Field{"-phase"}, " ", FLAGS_phase,
          ": valid are TRAIN and TEST");
  return phase;
}

// Milliseconds per layer, added up over the iterations.
struct LayerTimes {
  std::vector<double> forward, backward;
  double forward_total = 0, backward_total = 0;
};

void RunOnce(Net<float>* net, LayerTimes* times) {
  const auto& layers = net->layers();
  Timer timer;
  Timer pass;
  pass.Start();
  for (size_t i = 0; i < layers.size(); ++i) {
    timer.Start();
    WithLayer(layers[i]->layer_param(),
              [&] { layers[i]->Forward(net->bottom_vecs()[i], net->top_vecs()[i]); });
    times->forward[i] += timer.MicroSeconds() / 1000.0;
  }
  times->forward_total += pass.MicroSeconds() / 1000.0;
  if (FLAGS_forward_only) return;
  pass.Start();
  for (int i = static_cast<int>(layers.size()) - 1; i >= 0; --i) {
    timer.Start();
    WithLayer(layers[i]->layer_param(), [&] {
      layers[i]->Backward(net->top_vecs()[i], net->bottom_need_backward()[i],
                          net->bottom_vecs()[i]);
    });
    times->backward[i] += timer.MicroSeconds() / 1000.0;
  }
  times->backward_total += pass.MicroSeconds() / 1000.0;
}

void PrintTimes(const Net<float>& net, const LayerTimes& times, double total) {
  const double n = FLAGS_iterations;
  PROGRAM_LOG() << "Average time per layer: ";
  for (size_t i = 0; i < net.layers().size(); ++i) {
    const std::string& name = net.layers()[i]->layer_param().name();
    PROGRAM_LOG() << std::setfill(' ') << std::setw(10) << name
                  << "\tforward: " << times.forward[i] / n << " ms.";
    if (FLAGS_forward_only) continue;
    PROGRAM_LOG() << std::setfill(' ') << std::setw(10) << name
                  << "\tbackward: " << times.backward[i] / n << " ms.";
  }
  PROGRAM_LOG() << "Average Forward pass: " << times.forward_total / n << " ms.";
  if (!FLAGS_forward_only) {
    PROGRAM_LOG() << "Average Backward pass: " << times.backward_total / n << " ms.";
    PROGRAM_LOG() << "Average Forward-Backward: " << total / n << " ms.";
  }
  PROGRAM_LOG() << "Total Time: " << total << " ms.";
}

LayerTimes NoTimes(const Net<float>& net) {
  LayerTimes times;
  times.forward.resize(net.layers().size());
  times.backward.resize(net.layers().size());
  return times;
}

/// Passes before the clock starts: memory is allocated at the first use, and where a whole pass
/// joins layers, each one computes by itself then. A net in the TEST phase may lack what backward
/// passes need: then says so, and only forward passes are timed.
void WarmUp(Net<float>* net) {
  PROGRAM_LOG() << "Performing Forward";
  float initial_loss = 0;
  net->Forward(&initial_loss);
  PROGRAM_LOG() << "Initial loss: " << initial_loss;
  LayerTimes first = NoTimes(*net);
  try {
    if (!FLAGS_forward_only) {
      PROGRAM_LOG() << "Performing Backward";
      net->Backward();
    }
    RunOnce(net, &first);
  } catch (const Error& error) {
    if (FLAGS_forward_only || net->phase() != TEST) throw;
    PROGRAM_LOG() << "Only forward passes are timed: " << error.what();
    FLAGS_forward_only = true;
  }
}

std::string Milliseconds(double value) { return ThreeDigits(value) + " ms"; }

std::string PeakText(const inference::LayerRate& rate) {
  return rate.share_of_peak > 0 ? PercentText(rate.share_of_peak) : "-";
}

/// Without peaks their column is left out.
void PrintTimes(const inference::Engine& engine, const inference::LoadResult& profiled,
                const std::vector<kernels::ProductPeak>& peaks, std::ostream& out) {
  const std::vector<inference::LayerInfo> layers = engine.layers(profiled.profile);
  const inference::LayerRates rates = inference::RatesOf(profiled, layers, peaks);
  std::map<std::string, inference::LayerInfo> known;
  for (const inference::LayerInfo& layer : layers) known[layer.name] = layer;
  std::vector<std::string> header = {"layer",  "type", "implementation", "precision",
                                     "median", "mean", "share",          "rate"};
  if (!peaks.empty()) header.push_back("of peak");
  TextTable table(header, 4);
  const auto add = [&](std::vector<std::string> row, const inference::LayerRate& rate) {
    row.push_back(inference::RateText(rate.per_second, rate.integers));
    if (!peaks.empty()) row.push_back(PeakText(rate));
    table.Add(std::move(row));
  };
  const double total = profiled.layers.Total();
  double medians = 0, means = 0;
  for (size_t i = 0; i < profiled.layers.layers().size(); ++i) {
    const inference::LayerTimes::Layer& layer = profiled.layers.layers()[i];
    const inference::LayerInfo& info = known[layer.name];
    const double median = layer.times.Median(), mean = layer.times.Mean();
    medians += median;
    means += mean;
    add({layer.name, info.type, info.implementation, info.precision(), TimeText(1000 * median),
         TimeText(1000 * mean), PercentText(total > 0 ? layer.times.Total() / total : 0)},
        rates.layers[i]);
  }
  add({"total", "", "", "", TimeText(1000 * medians), TimeText(1000 * means),
       PercentText(total > 0 ? 1 : 0)},
      rates.total);
  table.Print(out);
}

/// Of the threads that a run has; none where a GPU computes or -peaks=false says so.
std::vector<kernels::ProductPeak> PeaksOfRun(bool on_cpu, const inference::ThreadSplit& split) {
  if (!on_cpu || !FLAGS_peaks) return {};
  const kernels::TeamSize team(split.threads);
  return kernels::MeasureProductPeaks();
}

std::string ThreadSplitText(const inference::ThreadSplit& split) {
  return (split.contexts > 1 ? Join(", ", split.contexts, " at a time with ") : ", ") +
         ThreadsText(split.threads);
}

int TimePlan() {
  const auto engine = inference::Engine::Load(FLAGS_plan);
  inference::LoadOptions options;
  options.batch = FLAGS_batch;
  options.input_shapes = ParseShapes("-shape", FLAGS_shape);
  options.iterations = FLAGS_iterations;
  options.warm_up_ms = 200;
  const bool on_cpu = engine->graph()->target.empty();
  const inference::ThreadSplit split = ThreadsOfHint();
  options.streams = split.contexts;
  options.threads = true;
  options.threads_each = split.threads;
  NoteTunedThreads(*engine, std::cout);
  const inference::LoadResult result = inference::MeasureLoad(engine, options);
  const inference::Latencies& latency = result.latency;
  std::cout << "engine '" << engine->name() << "', ";
  if (!FLAGS_shape.empty()) std::cout << FLAGS_shape << ", ";
  if (engine->profiles().size() > 1) std::cout << "profile " << result.profile << ", ";
  std::cout << "batch " << result.batch << ", " << latency.count() << " runs"
            << (on_cpu ? ThreadSplitText(split) : "") << '\n'
            << "latency:    min " << Milliseconds(latency.Min()) << ", mean "
            << Milliseconds(latency.Mean()) << ", median " << Milliseconds(latency.Median())
            << ", 99% " << Milliseconds(latency.Percentile(99)) << '\n'
            << "throughput: " << ThreeDigits(result.PerSecond()) << " items/s\n\n";
  // Apart, as looking at each layer takes time of its own.
  options.profile = true;
  options.warm_up_ms = 0;
  PrintTimes(*engine, inference::MeasureLoad(engine, options), PeaksOfRun(on_cpu, split),
             std::cout);
  return 0;
}

int Time() {
  if (!FLAGS_plan.empty()) {
    Require(FLAGS_model.empty(), "give -model or -plan to time, not both");
    RequireNoNetFlags();
    Require(!IsGiven("batch") || FLAGS_batch > 0, Error::Field{"-batch"}, " must be positive, got ",
            FLAGS_batch);
    ChooseEngineDevice();
    return TimePlan();
  }
  RequireNoPlanFlags();
  Require(!FLAGS_model.empty(), "time needs a net definition: -model FILE");
  RequireIterations();
  const Phase phase = PhaseOr(TRAIN);
  ChooseDevice();
  const std::unique_ptr<Net<float>> timed = NetWithTypes(phase);
  Net<float>& net = *timed;
  for (const std::string& weights : WeightFiles()) net.CopyTrainedLayersFrom(weights);

  WarmUp(&net);
  LayerTimes times = NoTimes(net);
  LogTypes(net);
  PROGRAM_LOG() << "*** Benchmark begins ***";
  PROGRAM_LOG() << "Testing for " << FLAGS_iterations << " iterations.";
  kernels::FlushDenormals flush_denormals;
  Timer total;
  total.Start();
  for (int i = 0; i < FLAGS_iterations; ++i) {
    Timer iteration;
    iteration.Start();
    RunOnce(&net, &times);
    PROGRAM_LOG() << "Iteration: " << i + 1
                  << (FLAGS_forward_only ? " forward time: " : " forward-backward time: ")
                  << iteration.MilliSeconds() << " ms.";
  }
  PrintTimes(net, times, total.MicroSeconds() / 1000.0);
  if (phase == TEST) {
    net.Forward();  // packs the weights of joined layers
    Timer joined;
    joined.Start();
    for (int i = 0; i < FLAGS_iterations; ++i) net.Forward();
    PROGRAM_LOG() << "Average Forward pass of the whole net, layers joined where they can be: "
                  << joined.MicroSeconds() / 1000.0 / FLAGS_iterations << " ms.";
  }
  PROGRAM_LOG() << "*** Benchmark ends ***";
  return 0;
}

}  // namespace

Command TimeCommand() {
  Command command;
  command.name = "time";
  command.summary = "times a net or a plan, layer by layer";
  command.usage = {"-model FILE [-weights FILE] [-iterations N] [-phase TRAIN|TEST]",
                   "-plan FILE [-batch N | -shape SHAPES] [-iterations N]\n"
                   "                  [-hint latency|throughput]"};
  command.about =
      "A net is timed forward and backward, in the phase TRAIN where nothing else is said, on the\n"
      "data or the inputs that its prototxt has. A plan is run on noise: latency of a run (the\n"
      "smallest, the mean, the median, and what 99 of 100 do not exceed), items a second, and "
      "then\n"
      "the time of each layer, with the rate at which it multiplies by its weights: two "
      "operations\n"
      "for each product of its definition, in the median time. On a processor \"of peak\" is this\n"
      "rate as a share of what the fastest unit for the layer's type does, as caffe device_query\n"
      "measures it: more than all where Winograd's algorithm leaves products out. The line "
      "\"total\"\n"
      "has the share of the time in which all layers would be done at their peaks.\n";
  command.groups = {{"what is timed",
                     "",
                     {"model",
                      "weights",
                      "plan",
                      "batch",
                      "shape",
                      {"iterations", "runs (default 50), of each context"},
                      "hint",
                      "peaks",
                      "phase",
                      "forward_only",
                      "level",
                      "stage"},
                     ""},
                    TypeFlags()};
  command.examples =
      "  caffe time -model deploy.prototxt -phase TEST -iterations 10\n"
      "  caffe time -plan net.plan -batch 1 -iterations 200\n"
      "  caffe time -plan net.plan -shape data=1x3x300x300\n";
  command.is_caffes_own = true;
  command.run = [](const std::vector<std::string>&) { return Time(); };
  return command;
}

}  // namespace caffe
