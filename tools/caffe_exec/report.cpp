#include "report.hpp"

#include <omp.h>

#include <ctime>
#include <functional>
#include <iomanip>
#include <iostream>

#include "../common/engine_building.hpp"
#include "caffe/device.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/util/string_stream.hpp"
#include "caffe/util/system/processor_name.hpp"
#include "caffe/util/text/listed.hpp"
#include "caffe/util/text/shape_text.hpp"
#include "caffe/util/text/text_table.hpp"
#include "caffe/version.hpp"
#include "shapes.hpp"

namespace caffe::exec {
namespace {

std::string Enabled(bool on) { return on ? "Enabled" : "Disabled"; }

std::string PrecisionsText(const Flags& flags) {
  std::string text = "FP32";
  const std::pair<const char*, const char*> types[] = {
      {"fp16", "+FP16"}, {"bf16", "+BF16"}, {"int8", "+INT8"}};
  for (const auto& [flag, name] : types) {
    if (flags.IsOn(flag) || flags.IsOn("best")) text += name;
  }
  return text;
}

std::string CalibrationText(const Flags& flags) {
  if (!flags.IsOn("int8") && !flags.IsOn("best")) return "";
  return flags.IsGiven("calib") ? flags.Text("calib") : "noise";
}

bool HasShapes(const Flags& flags) {
  return flags.IsGiven("shapes") || flags.IsGiven("minShapes") || flags.IsGiven("optShapes") ||
         flags.IsGiven("maxShapes");
}

void PrintModelAndBuildOptions(const Flags& flags) {
  Say("=== Model Options ===");
  Say(Join("Format: ", flags.IsGiven("loadEngine") ? "*" : "Caffe"));
  Say("Model: " + flags.Text("model"));
  Say("Prototxt: " + flags.Text("deploy"));
  Say("Output: " + Listed(flags.List("output")));
  Say("=== Build Options ===");
  const std::string batch = flags.IsGiven("batch") ? flags.Text("batch") : "1";
  Say("Max batch: " + (HasShapes(flags)            ? "explicit batch"
                       : flags.IsGiven("maxBatch") ? flags.Text("maxBatch")
                                                   : batch));
  Say("Memory Pools: workspace: " + (flags.IsGiven("memPoolSize") ? flags.Text("memPoolSize")
                                     : flags.IsGiven("workspace") ? flags.Text("workspace") + " MiB"
                                                                  : "default"));
  Say("avgTiming: " + flags.Text("avgTiming"));
  Say("Precision: " + PrecisionsText(flags));
  Say("LayerPrecisions: " + flags.Text("layerPrecisions"));
  Say("Calibration: " + CalibrationText(flags));
  Say("Save engine: " + flags.Text("saveEngine"));
  Say("Load engine: " + flags.Text("loadEngine"));
  Say("Profiling verbosity: " + flags.Text("profilingVerbosity"));
  Say("timingCacheFile: " + flags.Text("timingCacheFile"));
  for (const char* name : {"minShapes", "optShapes", "maxShapes"}) {
    if (flags.IsGiven(name)) Say(Join("Input build shapes (", name, "): ", flags.Text(name)));
  }
}

void PrintInferenceOptions(const Flags& flags) {
  Say("=== Inference Options ===");
  Say("Batch: " + (HasShapes(flags)         ? "Explicit"
                   : flags.IsGiven("batch") ? flags.Text("batch")
                                            : "default"));
  if (flags.IsGiven("shapes")) Say("Input inference shapes: " + flags.Text("shapes"));
  Say("Iterations: " + flags.Text("iterations"));
  Say(Join("Duration: ", flags.Text("duration"), "s (+ ", flags.Text("warmUp"), "ms warm up)"));
  Say(Join("Sleep time: ", flags.Text("sleepTime"), "ms"));
  Say(Join("Idle time: ", flags.Text("idleTime"), "ms"));
  Say("Inference Streams: " + flags.Text(flags.IsGiven("streams") ? "streams" : "infStreams"));
  Say("Data transfers: " + Enabled(!flags.IsOn("noDataTransfers")));
  Say("Multithreading: " + Enabled(flags.IsOn("threads")));
  Say("Separate profiling: " + Enabled(flags.IsOn("separateProfileRun")));
  Say("Time Deserialize: " + Enabled(flags.IsOn("timeDeserialize")));
  Say("Skip inference: " + Enabled(flags.IsOn("skipInference") || flags.IsOn("buildOnly")));
  Say("Inputs:");
  for (const std::string& text : flags.All("loadInputs")) {
    for (const auto& [name, file] : NamesAndValues("loadInputs", text)) Say(name + "<-" + file);
  }
}

void PrintReportingOptions(const Flags& flags) {
  Say("=== Reporting Options ===");
  Say("Verbose: " + Enabled(flags.IsOn("verbose")));
  Say(Join("Averages: ", flags.Text("avgRuns"), " inferences"));
  Say("Percentiles: " + flags.Text("percentile"));
  Say("Dump output: " + Enabled(flags.IsOn("dumpOutput")));
  Say("Profile: " + Enabled(flags.IsOn("dumpProfile") || flags.IsOn("dumpLayerTime")));
  Say("Export timing to JSON file: " + flags.Text("exportTimes"));
  Say("Export output to JSON file: " + flags.Text("exportOutput"));
  Say("Export profile to JSON file: " + flags.Text("exportProfile"));
  Say("");
}

/// Lengths of the parts of runs, by what they are called.
using Span = std::function<double(const inference::RunTrace&)>;

double Latency(const inference::RunTrace& run) { return run.end - run.begin; }
double Enqueue(const inference::RunTrace& run) { return run.enqueued - run.inputs; }
double ToDevice(const inference::RunTrace& run) { return run.inputs - run.begin; }
double Compute(const inference::RunTrace& run) { return run.computed - run.inputs; }
double ToHost(const inference::RunTrace& run) { return run.end - run.computed; }

inference::Latencies Lengths(const std::vector<inference::RunTrace>& runs, const Span& span) {
  inference::Latencies lengths;
  for (const inference::RunTrace& run : runs) lengths.Add(span(run));
  return lengths;
}

std::vector<double> Percentiles(const Flags& flags) {
  std::vector<double> percentiles;
  for (const std::string& part : flags.List("percentile")) percentiles.push_back(std::stod(part));
  return percentiles;
}

std::string Figures(const inference::Latencies& times, const std::vector<double>& percentiles) {
  std::string text = Join("min = ", times.Min(), " ms, max = ", times.Max(),
                          " ms, mean = ", times.Mean(), " ms, median = ", times.Median(), " ms");
  for (const double p : percentiles) {
    text += Join(", percentile(", p, "%) = ", times.Percentile(p), " ms");
  }
  return text;
}

void PrintTrace(const std::vector<inference::RunTrace>& runs, size_t together) {
  Say("=== Trace details ===");
  Say(Join("Trace averages of ", together, " runs:"));
  for (size_t first = 0; first + together <= runs.size(); first += together) {
    const auto mean = [&](const Span& span) {
      return Lengths({runs.begin() + first, runs.begin() + first + together}, span).Mean();
    };
    Say(Join("Average on ", together, " runs - GPU latency: ", mean(Compute),
             " ms - Host latency: ", mean(Latency), " ms (enqueue ", mean(Enqueue), " ms)"));
  }
  Say("");
}

constexpr char kExplanations[] = R"(
=== Explanations of the performance metrics ===
Total Host Walltime: from when the first run after the warm-up is asked for until the last one ends.
GPU Compute Time: what computing takes for a run.
Total GPU Compute Time: the sum of it over all runs.
Throughput: what is run, divided by Total Host Walltime.
Enqueue Time: what the host takes to give the GPU the work of a run.
H2D Latency: what copying the inputs of a run to the GPU takes.
D2H Latency: what copying its outputs to the host takes.
Latency: H2D Latency, GPU Compute Time and D2H Latency together.)";

std::string Number(double value, int digits) { return Formatted("%.*f", digits, value); }

}  // namespace

void Say(char severity, const std::string& text) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::cout << std::put_time(&local, "[%m/%d/%Y-%H:%M:%S] [") << severity << "] " << text << '\n';
}

void SayLines(char severity, const std::string& text) {
  StringReader lines(text);
  for (std::string line; std::getline(lines, line);) Say(severity, line);
}

void PrintOptions(const Flags& flags) {
  PrintModelAndBuildOptions(flags);
  Say("=== System Options ===");
  Say("Device: " + (flags.IsGiven("device") ? flags.Text("device") : "CPU"));
  Say("DLACore:");
  std::vector<std::string> plugins;
  for (const char* name : {"plugins", "staticPlugins", "dynamicPlugins"}) {
    for (const std::string& file : flags.All(name)) plugins.push_back(file);
  }
  Say("Plugins: " + Listed(plugins));
  PrintInferenceOptions(flags);
  PrintReportingOptions(flags);
}

void PrintDevice(bool gpu) {
  Say("=== Device Information ===");
  if (gpu) {
    Say("Selected Device: " + Device::Get().name());
    SayLines('I', Device::Get().Description());
  } else {
    Say("Selected Device: " + ProcessorName());
    Say(Join("Instruction set: ", kernels::Name(kernels::CpuInstructionSet())));
    Say(Join("Threads: ", omp_get_max_threads()));
  }
  Say(Join("Cortado version: ", Version()));
  Say("");
}

void PrintPerformance(const Flags& flags, const inference::LoadResult& result, int items,
                      bool gpu) {
  const std::vector<double> percentiles = Percentiles(flags);
  const auto say = [&](const char* what, const Span& span) {
    Say(Join(what, ": ", Figures(Lengths(result.traces, span), percentiles)));
  };
  Say(Join("Warmup completed ", result.warm_up_runs * items, " queries over ",
           1000 * result.warm_up_seconds, " ms"));
  Say(Join("Timing trace has ", result.traces.size() * items, " queries over ", result.seconds,
           " s"));
  Say("");
  PrintTrace(result.traces, flags.Int("avgRuns", 1));
  Say("=== Performance summary ===");
  Say(Join("Throughput: ", result.traces.size() * items / result.seconds, " qps"));
  say("Latency", Latency);
  say("Enqueue Time", Enqueue);
  say("H2D Latency", ToDevice);
  say("GPU Compute Time", Compute);
  say("D2H Latency", ToHost);
  Say(Join("Total Host Walltime: ", result.seconds, " s"));
  Say(Join("Total GPU Compute Time: ", Lengths(result.traces, Compute).Total() / 1000, " s"));
  if (!gpu) {
    Say("The CPU computes: GPU stands for it above, and it enqueues and copies nothing.");
  }
  if (flags.IsOn("verbose")) {
    SayLines('V', kExplanations);
  } else {
    Say("Explanations of the performance metrics are printed in the verbose logs.");
  }
  Say("");
}

void PrintProfile(const inference::LayerTimes& profile) {
  const size_t runs = profile.layers().empty() ? 0 : profile.layers()[0].times.count();
  Say(Join("=== Profile (", runs, " iterations ) ==="));
  const double total = profile.Total();
  double averages = 0, medians = 0;
  std::vector<std::vector<std::string>> rows = {
      {"Time(ms)", "Avg.(ms)", "Median(ms)", "Time(%)", "Layer"}};
  for (const auto& layer : profile.layers()) {
    const inference::Latencies& times = layer.times;
    averages += times.Mean();
    medians += times.Median();
    rows.push_back({Number(times.Total(), 2), Number(times.Mean(), 4), Number(times.Median(), 4),
                    Number(total > 0 ? 100 * times.Total() / total : 0, 1), layer.name});
  }
  rows.push_back(
      {Number(total, 2), Number(averages, 4), Number(medians, 4), Number(100, 1), "Total"});
  for (const std::vector<std::string>& row : rows) {
    StringWriter line;
    for (size_t i = 0; i + 1 < row.size(); ++i) line << std::setw(i == 0 ? 11 : 13) << row[i];
    Say(line.str() + "   " + row.back());
  }
  Say("");
}

void PrintProfiles(const inference::Engine& engine) {
  Say("Optimization Profile Information:");
  if (!engine.has_profiles()) {
    for (const int input : engine.graph()->inputs) {
      const inference::Value& value = engine.graph()->values[input];
      Say(Join(value.name, ": up to ", ShapeText(value.shape)));
    }
  }
  const std::vector<inference::ShapeProfile> profiles = engine.profiles();
  for (size_t i = 0; i < profiles.size(); ++i) {
    for (const auto& [name, min] : profiles[i].min) {
      Say(Join("profile ", i, ", ", name, ": min ", ShapeText(min), ", opt ",
               ShapeText(profiles[i].opt.at(name)), ", max ", ShapeText(profiles[i].max.at(name))));
    }
  }
}

void PrintLayers(const inference::Engine& engine, bool details) {
  Say("Layer Information:");
  Say("Layers:");
  for (const inference::LayerInfo& layer : engine.layers()) {
    if (!details) {
      Say(layer.name);
      continue;
    }
    Say(Join("Name: ", layer.name, ", LayerType: ", layer.type,
             ", Precision: ", Name(layer.type_of_math), ", TacticName: ", layer.implementation,
             ", Outputs: [", ShapesText(layer.tops), "], FusedLayers: [", Listed(layer.also),
             "], Weights: ", BytesText(layer.weight_bytes),
             ", Time: ", TimeText(layer.microseconds)));
  }
  Say("Bindings:");
  for (const auto& names : {engine.inputs(), engine.outputs()}) {
    for (const std::string& name : names) Say(name);
  }
  Say("");
}

}  // namespace caffe::exec
