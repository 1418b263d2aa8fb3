// The program `caffe_exec`: builds an engine from a net, times it and says how fast it is, with the
// flags and the report of TensorRT's trtexec, so that scripts that call it for Caffe nets move
// over.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../common/command_line.hpp"
#include "../common/engine_building.hpp"
#include "../common/files.hpp"
#include "../common/threads_flag.hpp"
#include "building.hpp"
#include "caffe/caffe.hpp"
#include "caffe/gpu_fallback.hpp"
#include "caffe/inference/engine_batches.hpp"
#include "caffe/inference/evaluation/latency.hpp"
#include "caffe/io/proto_text.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/text/printable.hpp"
#include "caffe/util/text/shape_text.hpp"
#include "caffe/util/text/text_table.hpp"
#include "caffe/version.hpp"
#include "flags.hpp"
#include "report.hpp"
#include "shapes.hpp"
#include "tensors.hpp"

namespace caffe::exec {
namespace {

using EnginePointer = std::shared_ptr<const inference::Engine>;

std::atomic<bool> g_stop{false};

/// For --duration=-1: Ctrl-C ends the runs, not the program.
void StopOnSignals() {
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { g_stop = true; });
}

/// The files that a flag names, alone or as NAME:FILE.
std::vector<NamedFile> FilesOf(const Flags& flags, const std::string& name) {
  const std::string flag = "--" + name;
  if (name == "model") return NamedFiles(flag, flags.List(name));
  if (name != "loadInputs" && name != "saveDebugTensors") return {{flag, flags.Text(name)}};
  std::vector<NamedFile> files;
  for (const std::string& text : flags.All(name)) {
    for (const auto& pair : NamesAndValues(name, text)) files.push_back({flag, pair.second});
  }
  return files;
}

std::vector<NamedFile> FilesOf(const Flags& flags, const std::vector<const char*>& names) {
  std::vector<NamedFile> all;
  for (const char* name : names) {
    for (NamedFile& file : FilesOf(flags, std::string(name))) all.push_back(std::move(file));
  }
  return all;
}

/// Errors and warnings that the command line alone gives rise to.
void CheckEffects(const Flags& flags) {
  for (const Flag& flag : flags.With(Effect::REFUSED)) Fail("--", flag.name, ": ", flag.text);
  for (const Flag& flag : flags.With(Effect::IGNORED)) {
    Say('W', Join("ignored: --", flag.name, " (", flag.text, ")"));
  }
  Require(flags.IsGiven("deploy") != flags.IsGiven("loadEngine"),
          "give a net, --deploy=FILE, or a plan, --loadEngine=FILE; --help shows how");
  flags.Int("avgRuns", 1);
  for (const std::string& part : flags.List("percentile")) {
    char* end = nullptr;
    const double value = std::strtod(part.c_str(), &end);
    Require(*end == '\0' && value >= 0 && value <= 100, Error::Field{"--percentile"}, ": '", part,
            "' does not lie from 0 to 100");
  }
  const std::vector<NamedFile> written =
      FilesOf(flags, {"saveEngine", "exportTimes", "exportOutput", "exportProfile",
                      "exportLayerInfo", "saveDebugTensors"});
  std::vector<NamedFile> kept = written;
  kept.push_back({"--timingCacheFile", flags.Text("timingCacheFile")});
  RequireOtherFiles(kept, FilesOf(flags, {"deploy", "model", "loadEngine", "calib", "loadInputs"}));
  for (const NamedFile& file : written) RequireWritable(file.file);
}

/// layer_names_only, detailed or none.
std::string ProfilingVerbosity(const Flags& flags) {
  const char* name = flags.IsGiven("nvtxMode") ? "nvtxMode" : "profilingVerbosity";
  const std::string mode =
      flags.OneOf(name, {"layer_names_only", "detailed", "none", "default", "verbose"});
  if (mode == "default") return "layer_names_only";
  return mode == "verbose" ? "detailed" : mode;
}

/// Makes --device the calling thread's GPU; false for the CPU.
bool TakeDevice(const Flags& flags) {
  if (flags.IsGiven("gpu_fallback")) set_gpu_fallback(flags.IsOn("gpu_fallback"));
  if (!flags.IsGiven("device")) return false;
  const int device = flags.Int("device", -1);
  if (device < 0 || !RequireGpu(Join("--device ", device))) return false;
  Caffe::SetDevice(device);
  return true;
}

/// For --timeDeserialize.
void TimeLoading(const std::string& plan) {
  constexpr int kTimes = 10;
  inference::Latencies times;
  for (int i = 0; i < kTimes; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    inference::Engine::Load(plan);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    times.Add(took.count());
  }
  Say(Join("Total deserialization time = ", times.Total(), " milliseconds in ", kTimes,
           " iterations, average time = ", times.Mean(), ", first time = ", times.times()[0],
           ", last time = ", times.times().back()));
}

EnginePointer GetEngine(const Flags& flags, bool gpu) {
  EnginePointer engine;
  if (flags.IsGiven("deploy")) {
    engine = BuildEngine(flags, gpu);
  } else {
    const auto begin = std::chrono::steady_clock::now();
    engine = inference::Engine::Load(flags.Text("loadEngine"));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    Say(Join("Engine loaded in ", took.count(), " sec."));
  }
  if (flags.IsGiven("saveEngine")) {
    engine->Save(flags.Text("saveEngine"));
    Say("Engine written to " + flags.Text("saveEngine"));
  }
  return engine;
}

void DescribeEngine(const Flags& flags, const inference::Engine& engine) {
  const std::string verbosity = ProfilingVerbosity(flags);
  const bool details = verbosity == "detailed";
  if (flags.IsOn("verbose")) {
    Say('V', Join("Engine '", engine.name(), "': largest batch ", engine.max_batch(), ", ",
                  BytesText(engine.weight_bytes()), " of weights, ",
                  BytesText(engine.activation_bytes()), " of activations"));
    for (const inference::LayerInfo& layer : engine.layers()) {
      Say('V', Join(layer.name, " (", layer.type, "): ", layer.implementation, ", ",
                    Name(layer.type_of_math), ", ", TimeText(layer.microseconds)));
    }
  }
  const bool wants = flags.IsOn("dumpLayerInfo") || flags.IsGiven("exportLayerInfo");
  if (wants && verbosity == "none") {
    Say('W', "--profilingVerbosity=none: there is nothing to say of the layers");
  } else {
    if (flags.IsOn("dumpLayerInfo")) PrintLayers(engine, details);
    if (flags.IsGiven("exportLayerInfo")) {
      WriteText(engine.LayersToJson(details), flags.Text("exportLayerInfo"));
    }
  }
  if (flags.IsOn("dumpOptimizationProfile")) {
    PrintProfiles(engine);
  }
}

inference::LoadOptions Options(const Flags& flags) {
  inference::LoadOptions options;
  options.iterations = flags.Int("iterations", 1);
  options.seconds = flags.Number("duration", -1);
  if (options.seconds < 0) {
    options.seconds = std::numeric_limits<double>::infinity();
    options.stop = &g_stop;
    StopOnSignals();
  }
  options.warm_up_ms = flags.Number("warmUp", 0);
  options.idle_ms = flags.Number("idleTime", 0);
  options.threads = flags.IsOn("threads");
  options.transfers = !flags.IsOn("noDataTransfers") || flags.IsOn("includeDataTransfers");
  return options;
}

/// A context for each stream, in the shapes and with the inputs that the command line says.
std::vector<inference::ExecutionContext> Contexts(const Flags& flags, const ShapeFlags& shapes,
                                                  const EnginePointer& engine) {
  const int streams =
      flags.Int(flags.IsGiven("streams") ? "streams" : "infStreams", 1, kMaxThreads);
  const bool of_plan = flags.IsGiven("loadEngine") && flags.IsGiven("useProfile");
  const int profile = flags.Int("useProfile", 0), profiles = engine->num_graphs();
  Require(!of_plan || profile < profiles, "--useProfile=", profile, ": the plan has ", profiles,
          profiles == 1 ? " profile" : " profiles", ", numbered from 0");
  std::vector<inference::ExecutionContext> contexts;
  for (int i = 0; i < streams; ++i) {
    contexts.emplace_back(engine);
    if (of_plan) contexts.back().SetProfile(profile);
    // What was built for a larger batch runs one item where nothing is said, a plan its largest.
    if (!shapes.is_explicit() && shapes.batch() == 0 && flags.IsGiven("deploy") &&
        engine->max_batch() > 0) {
      contexts.back().SetBatch(1);
    }
    shapes.SetOn(&contexts.back());
    WriteInputs(flags, i + 1, &contexts.back());
  }
  return contexts;
}

void SayBindings(const Flags& flags, const inference::ExecutionContext& context) {
  if (!flags.IsGiven("loadInputs")) Say("Using random values for input data");
  const inference::Engine& engine = context.engine();
  for (const std::string& name : engine.inputs()) {
    Say(Join("Input binding for ", name, " with dimensions ", ShapeText(context.InputShape(name)),
             " is created."));
  }
  for (const std::string& name : engine.outputs()) {
    Say(Join("Output binding for ", name, " with dimensions ", ShapeText(context.OutputShape(name)),
             " is created."));
  }
}

void ShowResults(const Flags& flags, const inference::LoadOptions& options,
                 inference::ExecutionContext* context) {
  const bool raw = flags.IsOn("dumpRawBindingsToFile"), exported = flags.IsGiven("exportOutput"),
             dumped = flags.IsOn("dumpOutput");
  if (!options.transfers && (raw || exported || dumped)) context->Run();
  if (dumped) PrintOutputs(context);
  if (raw) WriteBindings(context);
  if (exported) WriteText(inference::OutputsToJson(context), flags.Text("exportOutput"));
  if (flags.IsGiven("saveDebugTensors")) WriteBlobs(flags, context);
}

void Infer(const Flags& flags, const EnginePointer& engine) {
  const bool gpu = !engine->graph()->target.empty();
  const ShapeFlags shapes(flags, engine->inputs());
  inference::LoadOptions options = Options(flags);
  std::vector<inference::ExecutionContext> contexts = Contexts(flags, shapes, engine);
  SayBindings(flags, contexts[0]);
  Say("Starting inference");
  std::cout << std::flush;
  std::this_thread::sleep_for(
      std::chrono::duration<double, std::milli>(flags.Number("sleepTime", 0)));

  const bool dumps = flags.IsOn("dumpProfile") || flags.IsOn("dumpLayerTime");
  const bool profiles = dumps || flags.IsGiven("exportProfile");
  const bool separate = profiles && flags.IsOn("separateProfileRun");
  options.profile = profiles && !separate;
  inference::LoadResult result = inference::MeasureLoad(&contexts, options);
  PrintPerformance(flags, result, shapes.is_explicit() ? 1 : result.batch, gpu);
  if (separate) {
    options.profile = true;
    options.warm_up_ms = 0;
    result.layers = inference::MeasureLoad(&contexts, options).layers;
  }
  if (dumps) PrintProfile(result.layers);
  ShowResults(flags, options, &contexts[0]);
  if (flags.IsGiven("exportTimes")) WriteText(result.TracesToJson(), flags.Text("exportTimes"));
  if (flags.IsGiven("exportProfile")) {
    WriteText(result.layers.ToJson(), flags.Text("exportProfile"));
  }
}

/// Builds or loads, runs, reports.
void Exec(const Flags& flags) {
  PrintOptions(flags);
  CheckEffects(flags);
  set_ignore_unknown_fields(flags.IsOn("ignore_unknown_fields"));
  ApplyLimits("--limits", flags.Text("limits"));
  if (flags.IsGiven("cpuThreads")) Caffe::set_threads(flags.Int("cpuThreads", 1, kMaxThreads));
  LoadPlugins(flags);
  const bool gpu = TakeDevice(flags);
  const EnginePointer engine = GetEngine(flags, gpu);
  const bool on_gpu = !engine->graph()->target.empty();
  PrintDevice(on_gpu);
  for (const Flag& flag : flags.With(Effect::GPU)) {
    if (!on_gpu) Say('W', Join("ignored: --", flag.name, " (the CPU computes)"));
  }
  if (flags.IsOn("getPlanVersionOnly")) {
    Say(Join("Plan was created with Cortado version: ", Version()));
    return;
  }
  DescribeEngine(flags, *engine);
  if (flags.IsOn("timeDeserialize")) {
    const std::string plan = flags.Text(flags.IsGiven("loadEngine") ? "loadEngine" : "saveEngine");
    Require(!plan.empty(), Error::Field{"--timeDeserialize"},
            Error::Remedy{"give --loadEngine=FILE or --saveEngine=FILE"});
    TimeLoading(plan);
    return;
  }
  if (flags.IsOn("skipInference") || flags.IsOn("buildOnly")) {
    Say("Skipped inference phase since --skipInference is added.");
    return;
  }
  Infer(flags, engine);
}

/// Between the lines that scripts look for.
int Report(const std::string& line, const std::vector<std::string>& arguments) {
  std::cout << "&&&& RUNNING caffe_exec #" << line << '\n';
  try {
    const Flags flags(arguments);
    // The net's log is a matter of --verbose, unless the environment says what is logged.
    if (!flags.IsOn("verbose") && std::getenv("GLOG_minloglevel") == nullptr) {
      FLAGS_minloglevel = google::WARNING;
    }
    Exec(flags);
  } catch (const std::exception& error) {
    SayLines('E', Printable(error.what()));
    std::cout << "&&&& FAILED caffe_exec #" << line << std::endl;
    throw;
  }
  std::cout << "&&&& PASSED caffe_exec #" << line << '\n';
  return 0;
}

}  // namespace
}  // namespace caffe::exec

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments == std::vector<std::string>{"--help=markdown"}) {
    std::cout << caffe::exec::MarkdownTable();
    return 0;
  }
  std::string line = std::string(" ") + argv[0];
  for (const std::string& argument : arguments) line += " " + argument;
  // What RunTool itself answers; all others are flags of trtexec, which are read between the lines
  // that frame the report.
  std::vector<char*> own = {argv[0]};
  std::copy_if(argv + 1, argv + argc, std::back_inserter(own), [](const std::string& argument) {
    static const std::vector<std::string> kOwn = {"--help", "-help",     "-h",
                                                  "--man",  "--version", "-version"};
    return std::find(kOwn.begin(), kOwn.end(), argument) != kOwn.end();
  });
  return caffe::RunTool(static_cast<int>(own.size()), own.data(), caffe::exec::Usage(),
                        [&](int, char**) { return caffe::exec::Report(line, arguments); });
}
