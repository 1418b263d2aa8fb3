#include "building.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>

#include "../common/candidates_text.hpp"
#include "../common/engine_building.hpp"
#include "caffe/caffe.hpp"
#include "caffe/core/error_context.hpp"
#include "caffe/core/layer_plugin.hpp"
#include "caffe/inference/quantize/activation_statistics.hpp"
#include "caffe/net/net_comparison.hpp"
#include "caffe/util/string_stream.hpp"
#include "caffe/util/text/edit_distance.hpp"
#include "caffe/util/text/listed.hpp"
#include "report.hpp"
#include "shapes.hpp"

namespace caffe::exec {
namespace {

using inference::Precision;

double MiBOf(const std::string& size) {
  char* end = nullptr;
  const double amount = std::strtod(size.c_str(), &end);
  const std::map<std::string, double> units = {{"", 1},           {"B", 1.0 / (1 << 20)},
                                               {"K", 1.0 / 1024}, {"KiB", 1.0 / 1024},
                                               {"M", 1},          {"MiB", 1},
                                               {"G", 1024},       {"GiB", 1024}};
  const auto unit = units.find(end);
  Require(end != size.c_str() && unit != units.end(), Error::Field{"--memPoolSize"}, ": '", size,
          "' is not a size in MiB");
  return amount * unit->second;
}

/// From --workspace or --memPoolSize=workspace:SIZE.
size_t WorkspaceBytes(const Flags& flags) {
  size_t bytes = BytesOfMegabytes("--workspace", flags.Number("workspace", 0));
  for (const std::string& text : flags.All("memPoolSize")) {
    for (const auto& [pool, size] : NamesAndValues("memPoolSize", text)) {
      const double megabytes = MiBOf(size);
      if (pool == "workspace") {
        bytes = BytesOfMegabytes("--memPoolSize", megabytes);
        continue;
      }
      const std::vector<std::string> others = {"dlaSRAM", "dlaLocalDRAM", "dlaGlobalDRAM",
                                               "tacticSharedMem"};
      Require(std::find(others.begin(), others.end(), pool) != others.end(),
              Error::Field{"--memPoolSize"}, ": '", pool, "' is not one of workspace, ",
              Listed(others));
      Say('W', Join("ignored: --memPoolSize=", pool, ":", size,
                    " (the pool that there is here is workspace)"));
    }
  }
  return bytes;
}

/// The net without what no wanted output depends on, which is marked as the net's outputs.
inference::NetworkDefinition TheNet(const Flags& flags, const NetParameter& param,
                                    const std::vector<std::string>& weights) {
  inference::Graph graph = inference::NetworkDefinition::FromCaffe(param, weights).graph();
  const std::vector<std::string> wanted = flags.List("output");
  if (!wanted.empty()) graph.outputs.clear();
  std::vector<std::string> names;
  for (const inference::Value& value : graph.values) names.push_back(value.name);
  for (const std::string& name : wanted) {
    const int value = graph.FindValue(name);
    Require(value >= 0, Error::Field{"--output"}, ": the net has no blob '", name, "'",
            DidYouMean(name, names));
    if (!graph.IsOutput(value)) graph.outputs.push_back(value);
  }
  return inference::NetworkDefinition(std::move(graph));
}

/// Ranges of noise: enough to see how fast INT8 is.
class NoiseCalibrator : public MinMaxCalibrator {
 public:
  int64_t GetBatch(Net<float>* net) override {
    if (done_) return 0;
    done_ = true;
    FillInputs(1, net);
    return 1;
  }

 private:
  bool done_ = false;
};

std::shared_ptr<const CalibrationTable> TableOfNoise(Net<float>* net) {
  NoiseCalibrator calibrator;
  CalibrationOptions options;
  options.minimum_images = 1;
  // Blobs of a random net may well be zero or constant: these stay float.
  calibrator.GetBatch(net);
  ActivationStatistics statistics(net);
  statistics.Forward();
  for (const BlobStatistics& blob : statistics.blobs()) {
    const Histogram& histogram = blob.histogram;
    if (histogram.nonzeros() == 0 || histogram.IsConstant()) options.leave_out.insert(blob.blob);
  }
  NoiseCalibrator again;
  return std::make_shared<const CalibrationTable>(Calibrate(net, &again, options));
}

/// What --fp16, --bf16, --int8, --best, --strictTypes and --stronglyTyped come to.
void SetPrecision(const Flags& flags, inference::BuilderConfig* config) {
  config->allowed = {Precision::FP32};
  if (flags.IsOn("stronglyTyped")) return;
  const auto allow = [&](const char* flag, Precision precision) {
    if (flags.IsOn(flag) || flags.IsOn("best")) config->allowed.push_back(precision);
  };
  allow("bf16", Precision::BF16);
  allow("fp16", Precision::FP16);
  allow("int8", Precision::INT8);
  if (config->allowed.size() > 1) {
    config->precision = flags.IsOn("strictTypes") ? config->allowed.back() : Precision::BEST;
  }
}

std::map<std::string, Precision> LayerPrecisions(const Flags& flags,
                                                 const inference::Graph& graph) {
  std::map<std::string, Precision> precisions;
  for (const std::string& part : flags.List("layerPrecisions")) {
    const size_t colon = part.rfind(':');
    Require(colon != std::string::npos && colon > 0, Error::Field{"--layerPrecisions"}, ": '", part,
            "' is not NAME:TYPE");
    const Precision precision = inference::ParsePrecision(part.substr(colon + 1));
    const std::string name = part.substr(0, colon);
    if (name == "*") {
      for (const inference::Node& node : graph.nodes) precisions.emplace(node.name(), precision);
    } else {
      precisions[name] = precision;
    }
  }
  const std::string constraints = flags.OneOf("precisionConstraints", {"none", "prefer", "obey"});
  if (constraints == "none" && !precisions.empty()) {
    Say('W', "--layerPrecisions does not hold with --precisionConstraints=none");
    precisions.clear();
  }
  return precisions;
}

/// Throws Error, listing them, for layers that are not computed in the type that they shall have.
void RequireObeyed(const inference::Engine& engine,
                   const std::map<std::string, Precision>& precisions) {
  const inference::Graph& graph = *engine.graph();
  std::string disobeyed;
  for (const inference::LayerInfo& layer : engine.layers()) {
    std::vector<std::string> names = {layer.name};
    for (const std::string& joined : graph.nodes[graph.FindNode(layer.name)].siblings) {
      names.push_back(joined);
    }
    for (const std::string& name : names) {
      const auto wanted = precisions.find(name);
      if (wanted == precisions.end() || wanted->second == Precision::BEST) continue;
      if (layer.type_of_math == inference::StorageOf(wanted->second)) continue;
      disobeyed += Join(disobeyed.empty() ? "" : ", ", name, " (", layer.type, ") is not ",
                        Name(wanted->second), " but ", Name(layer.type_of_math));
    }
  }
  Require(disobeyed.empty(), "--precisionConstraints=obey: ", disobeyed,
          "; leave them out of --layerPrecisions, or give --precisionConstraints=prefer");
}

int TimingIterations(const Flags& flags) {
  const int level = flags.IsOn("heuristic") && !flags.IsGiven("builderOptimizationLevel")
                        ? 2
                        : flags.Int("builderOptimizationLevel", 0);
  Require(level <= 5, Error::Field{"--builderOptimizationLevel"}, " must be 0 to 5, got ", level);
  const int often = std::max(flags.Int("minTiming", 1), flags.Int("avgTiming", 1));
  const int iterations[] = {0, 1, 1, often, 2 * often, 4 * often};
  return iterations[level];
}

/// "" if times are not kept.
std::string TimingCacheFile(const Flags& flags) {
  const bool given = flags.IsGiven("timingCacheMode");
  const std::string mode =
      given ? flags.OneOf("timingCacheMode", {"global", "local", "disable"}) : "global";
  if (flags.IsOn("noBuilderCache") || mode != "global") return "";
  return flags.Text("timingCacheFile");
}

void SetShapes(const Flags& flags, const inference::Graph& graph,
               inference::BuilderConfig* config) {
  std::vector<std::string> inputs;
  for (const int input : graph.inputs) inputs.push_back(graph.values[input].name);
  const ShapeFlags shapes(flags, inputs);
  config->profiles = shapes.Profiles();
  if (!config->profiles.empty()) return;
  config->max_input_shapes = shapes.largest();
  config->max_batch = shapes.MaxBatch();
}

}  // namespace

void LoadPlugins(const Flags& flags) {
  for (const char* name : {"plugins", "staticPlugins", "dynamicPlugins"}) {
    for (const std::string& file : flags.All(name)) {
      Say("Loading " + file);
      WithContext([&] { return Join("--", name); }, [&] { LoadLayerPlugin(file); });
    }
  }
}

std::shared_ptr<const inference::Engine> BuildEngine(const Flags& flags, bool gpu) {
  NetParameter param;
  ReadNetParamsFromTextFileOrDie(flags.Text("deploy"), &param);
  param.mutable_state()->set_phase(TEST);
  const std::vector<std::string> weights = flags.List("model");
  const inference::NetworkDefinition net = TheNet(flags, param, weights);
  inference::BuilderConfig config;
  SetShapes(flags, net.graph(), &config);
  config.max_workspace = WorkspaceBytes(flags);
  config.timing_iterations = TimingIterations(flags);
  if (gpu) config.backend = inference::Backend::CUDA;
  config.tensor_float = gpu && !flags.IsOn("noTF32");
  SetPrecision(flags, &config);
  const std::map<std::string, Precision> precisions = LayerPrecisions(flags, net.graph());
  config.layer_precisions = precisions;
  const auto is_int8 = [](const auto& layer) { return layer.second == Precision::INT8; };
  const bool int8 = config.allowed.back() == Precision::INT8 ||
                    std::any_of(precisions.begin(), precisions.end(), is_int8);
  Require(!flags.IsGiven("calib") || int8, Error::Field{"--calib"}, " is for --int8 or --best");
  StringWriter notes;
  if (int8) {
    const auto in_float = FloatNet(param, weights);
    if (!flags.IsGiven("calib")) {
      Say('W', "no --calib: int8's ranges are those of noise, results are worthless");
      config.calibration = TableOfNoise(in_float.get());
    } else {
      config.calibration = ReadTable(flags.Text("calib"), *in_float, param, notes);
    }
  }
  if (flags.IsOn("verbose")) {
    config.pass_observer = [](const std::string& pass, const inference::Graph& graph) {
      Say('V', Join(pass.empty() ? "parsed" : "pass " + pass, ": ", graph.nodes.size(), " layers"));
    };
    config.on_candidates = [](const inference::LayerCandidates& candidates) {
      StringWriter text;
      PrintCandidates(candidates, text);
      SayLines('V', text.str());
    };
  }
  const CachedBuilder builder(TimingCacheFile(flags), &notes);
  const auto begin = std::chrono::steady_clock::now();
  auto engine = builder.Build(net, config);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  SayLines('W', notes.str());
  if (flags.Text("precisionConstraints") == "obey") RequireObeyed(*engine, precisions);
  Say(Join("Engine built in ", took.count(), " sec."));
  return engine;
}

}  // namespace caffe::exec
