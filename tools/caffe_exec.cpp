// The program `caffe_exec`: builds an engine from a net, times it and says how fast it is, with the
// flags and the summary of TensorRT's trtexec, so that scripts that call it for Caffe nets move
// over.
#include <gflags/gflags.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "caffe/caffe.hpp"
#include "caffe/gpu_fallback.hpp"
#include "caffe/inference/latency.hpp"
#include "caffe/io/atomic_file.hpp"
#include "caffe/util/edit_distance.hpp"
#include "caffe/util/net_comparison.hpp"
#include "common/command_line.hpp"
#include "common/engine_building.hpp"

DEFINE_string(deploy, "", "The net definition (prototxt).");
DEFINE_string(model, "", "Trained weights (.caffemodel); random ones when empty.");
DEFINE_string(output, "", "Names of outputs, separated by ','; may be given several times.");
DEFINE_bool(fp16, false, "Allow fp16 beside fp32.");
DEFINE_bool(int8, false, "Allow int8 beside fp32.");
DEFINE_bool(best, false, "Allow every precision.");
DEFINE_string(calib, "", "A calibration cache or table for int8.");
DEFINE_string(saveEngine, "", "The plan to write.");
DEFINE_string(loadEngine, "", "A plan to run instead of building one.");
DEFINE_int32(batch, 0, "Items a run (default 1; of a plan its largest batch).");
DEFINE_double(workspace, 0, "MiB of scratch memory that a layer may take; 0: any.");
DEFINE_string(memPoolSize, "", "The same as workspace:MiB.");
DEFINE_int32(iterations, 10, "Run at least this often.");
DEFINE_int32(avgRuns, 10, "Report means of this many runs one after another.");
DEFINE_double(warmUp, 200, "Milliseconds of running before the clock starts.");
DEFINE_double(duration, 3, "Seconds to run at least.");
DEFINE_string(percentile, "99", "Report these percentages, separated by ','.");
DEFINE_int32(device, -1, "The GPU to build for and run on (default: the CPU).");
DEFINE_int32(streams, 1, "How many contexts run side by side.");
DEFINE_bool(threads, false, "Drive each stream by a thread of its own.");
DEFINE_bool(dumpProfile, false, "Print the time of each layer.");
DEFINE_string(exportProfile, "", "Write the time of each layer to this file, as JSON.");
DEFINE_string(layerPrecisions, "", "Precisions of layers: conv1:fp32,*:fp16.");
DEFINE_string(timingCacheFile, "", "A file of measured times, read and written.");

namespace {

using caffe::Join;
using caffe::Require;
using std::string;
using std::vector;
namespace inference = caffe::inference;

const char kUsage[] =
    R"(caffe_exec: builds an engine from a net, or loads one, and times it on noise.

usage: caffe_exec --deploy=FILE [--model=FILE] [flags]
       caffe_exec --loadEngine=FILE [flags]

Flags and summary are those of TensorRT's trtexec. -x VALUE, -x=VALUE, --x VALUE and --x=VALUE are
the same.

model:
  --deploy=FILE           the net definition (prototxt)
  --model=FILE            trained weights (.caffemodel); without, the prototxt's fillers
  --output=NAME[,NAME]    outputs to keep; may be given several times (default: the net's)

build:
  --fp16, --int8, --best  allow these precisions beside fp32, all of them with --best: each layer
                          gets what is fastest on this machine
  --calib=FILE            for int8: a TensorRT calibration cache, a table of caffe calibrate, or an
                          ncnn table. Without it ranges are those of noise: the engine's speed is as
                          it will be, its results are worthless
  --layerPrecisions=NAME:TYPE[,NAME:TYPE]
                          precisions of layers, fp32, fp16, bf16 or int8; later ones override
                          earlier ones, * stands for all layers that are not named
  --workspace=MiB, --memPoolSize=workspace:MiB   scratch memory that a layer may take (default: any)
  --timingCacheFile=FILE  measured times, read and written: rebuilds are fast and choose the same
  --saveEngine=FILE       write the engine as a plan
  --loadEngine=FILE       run this plan instead of building one
  --device=N              build for this GPU, or run a plan of it (default: the CPU; a plan of a
                          GPU runs on the first one)
  --gpu_fallback          build for the CPU where --device is given and no GPU can be used
  --ignore_unknown_fields  warn of fields that the net should not have, and leave them out

inference:
  --batch=N               items a run (default 1; of a plan its largest batch)
  --iterations=N          run at least N times (default 10)
  --warmUp=N              run for N milliseconds before the clock starts (default 200)
  --duration=N            run for at least N seconds (default 3)
  --streams=N             N contexts on one engine run side by side (default 1)
  --threads               a thread for each stream gives it work; else one thread does for all

report:
  --avgRuns=N             means of N runs one after another (default 10)
  --percentile=P[,P]      the time that P percent of the runs do not exceed (default 99)
  --dumpProfile           the time of each layer
  --exportProfile=FILE    the same as JSON

Throughput counts items, N for each run of a batch of N, a second.

example:
  caffe_exec --deploy=deploy.prototxt --model=net.caffemodel --output=prob --batch=8 --int8 \
    --calib=net.cache --saveEngine=net.plan
  caffe_exec --loadEngine=net.plan --streams=2 --threads --dumpProfile
)";

/// A line of the report, with the time of day and its severity as scripts expect it.
void Say(char severity, const string& text) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::cout << std::put_time(&local, "[%m/%d/%Y-%H:%M:%S] [") << severity << "] " << text << '\n';
}
void Say(const string& text) { Say('I', text); }

vector<string> SplitAtCommas(const string& text) {
  vector<string> parts;
  std::istringstream stream(text);
  for (string part; std::getline(stream, part, ',');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

vector<double> Percentiles() {
  vector<double> percentiles;
  for (const string& part : SplitAtCommas(FLAGS_percentile)) {
    char* end = nullptr;
    const double value = std::strtod(part.c_str(), &end);
    Require(*end == '\0' && value >= 0 && value <= 100, "--percentile: '", part,
            "' does not lie from 0 to 100");
    percentiles.push_back(value);
  }
  Require(!percentiles.empty(), "--percentile: no percentages given");
  return percentiles;
}

/// From --workspace or --memPoolSize=workspace:MiB, which may end with B, K, M, G or with MiB.
size_t WorkspaceBytes() {
  size_t bytes = caffe::BytesOfMegabytes("--workspace", FLAGS_workspace);
  for (const string& pool : SplitAtCommas(FLAGS_memPoolSize)) {
    const size_t colon = pool.find(':');
    Require(pool.substr(0, colon) == "workspace" && colon != string::npos, "--memPoolSize: '", pool,
            "': the pool that there is on a CPU is workspace:MiB");
    const string size = pool.substr(colon + 1);
    char* end = nullptr;
    const double amount = std::strtod(size.c_str(), &end);
    const string unit = end;
    const std::map<string, double> units = {{"", 1},           {"B", 1.0 / (1 << 20)},
                                            {"K", 1.0 / 1024}, {"KiB", 1.0 / 1024},
                                            {"M", 1},          {"MiB", 1},
                                            {"G", 1024},       {"GiB", 1024}};
    Require(end != size.c_str() && units.count(unit) > 0, "--memPoolSize: '", size,
            "' is no size in MiB");
    bytes = caffe::BytesOfMegabytes("--memPoolSize", amount * units.at(unit));
  }
  return bytes;
}

/// The net without what no wanted output depends on, which is marked as the net's outputs.
inference::NetworkDefinition TheNet(const caffe::NetParameter& param,
                                    const vector<string>& weights) {
  inference::Graph graph = inference::NetworkDefinition::FromCaffe(param, weights).graph();
  const vector<string> wanted = SplitAtCommas(FLAGS_output);
  if (!wanted.empty()) graph.outputs.clear();
  vector<string> names;
  for (const inference::Value& value : graph.values) names.push_back(value.name);
  for (const string& name : wanted) {
    const int value = graph.FindValue(name);
    Require(value >= 0, "--output: the net has no blob '", name, "'",
            caffe::DidYouMean(name, names));
    if (!graph.IsOutput(value)) graph.outputs.push_back(value);
  }
  return inference::NetworkDefinition(std::move(graph));
}

/// Ranges of noise: enough to see how fast INT8 is.
class NoiseCalibrator : public caffe::MinMaxCalibrator {
 public:
  int64_t GetBatch(caffe::Net<float>* net) override {
    if (done_) return 0;
    done_ = true;
    caffe::FillInputs(1, net);
    return 1;
  }

 private:
  bool done_ = false;
};

std::shared_ptr<const caffe::CalibrationTable> TableOfNoise(caffe::Net<float>* net) {
  NoiseCalibrator calibrator;
  caffe::CalibrationOptions options;
  options.minimum_images = 1;
  // Blobs of a random net may well be zero or constant: these stay float.
  calibrator.GetBatch(net);
  caffe::ActivationStatistics statistics(net);
  statistics.Forward();
  for (const caffe::BlobStatistics& blob : statistics.blobs()) {
    const caffe::Histogram& histogram = blob.histogram;
    if (histogram.nonzeros() == 0 || histogram.IsConstant()) options.leave_out.insert(blob.blob);
  }
  NoiseCalibrator again;
  return std::make_shared<const caffe::CalibrationTable>(caffe::Calibrate(net, &again, options));
}

void SetLayerPrecisions(const inference::NetworkDefinition& net, inference::BuilderConfig* config) {
  for (const string& part : SplitAtCommas(FLAGS_layerPrecisions)) {
    const size_t colon = part.rfind(':');
    Require(colon != string::npos && colon > 0, "--layerPrecisions: '", part, "' is not NAME:TYPE");
    const inference::Precision precision = inference::ParsePrecision(part.substr(colon + 1));
    const string name = part.substr(0, colon);
    if (name == "*") {
      for (const inference::Node& node : net.graph().nodes) {
        config->layer_precisions.emplace(node.name(), precision);
      }
    } else {
      config->layer_precisions[name] = precision;
    }
  }
}

std::shared_ptr<const inference::Engine> BuildEngine() {
  caffe::NetParameter param;
  caffe::ReadNetParamsFromTextFileOrDie(FLAGS_deploy, &param);
  param.mutable_state()->set_phase(caffe::TEST);
  const vector<string> weights = SplitAtCommas(FLAGS_model);
  const inference::NetworkDefinition net = TheNet(param, weights);
  inference::BuilderConfig config;
  config.max_batch = FLAGS_batch > 0 ? FLAGS_batch : 1;
  config.max_workspace = WorkspaceBytes();
  if (FLAGS_device >= 0) config.backend = inference::Backend::CUDA;
  config.allowed = {inference::Precision::FP32};
  if (FLAGS_fp16 || FLAGS_best) config.allowed.push_back(inference::Precision::FP16);
  if (FLAGS_best) config.allowed.push_back(inference::Precision::BF16);
  if (FLAGS_int8 || FLAGS_best) config.allowed.push_back(inference::Precision::INT8);
  const bool narrow = config.allowed.size() > 1;
  config.precision = narrow ? inference::Precision::BEST : inference::Precision::FP32;
  SetLayerPrecisions(net, &config);
  bool int8 = FLAGS_int8 || FLAGS_best;
  for (const auto& layer : config.layer_precisions) {
    int8 |= layer.second == inference::Precision::INT8;
  }
  Require(FLAGS_calib.empty() || int8, "--calib is for --int8 or --best");
  std::ostringstream notes;
  if (int8) {
    const auto in_float = caffe::FloatNet(param, weights);
    if (FLAGS_calib.empty()) {
      Say('W', "no --calib: int8's ranges are those of noise, results are worthless");
      config.calibration = TableOfNoise(in_float.get());
    } else {
      config.calibration = caffe::ReadTable(FLAGS_calib, *in_float, param, notes);
    }
  }
  const caffe::CachedBuilder builder(FLAGS_timingCacheFile, &notes);
  const auto begin = std::chrono::steady_clock::now();
  auto engine = builder.Build(net, config);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::istringstream lines(notes.str());
  for (string line; std::getline(lines, line);) Say('W', line);
  Say(Join("Engine built in ", took.count(), " sec."));
  return engine;
}

string Figures(const inference::Latencies& times, const vector<double>& percentiles) {
  string text = Join("min = ", times.Min(), " ms, max = ", times.Max(),
                     " ms, mean = ", times.Mean(), " ms, median = ", times.Median(), " ms");
  for (const double p : percentiles) {
    text += Join(", percentile(", p, "%) = ", times.Percentile(p), " ms");
  }
  return text;
}

void PrintTrace(const inference::Latencies& times) {
  Say("=== Trace details ===");
  Say(Join("Trace averages of ", FLAGS_avgRuns, " runs:"));
  const vector<double>& all = times.times();
  for (size_t first = 0; first + FLAGS_avgRuns <= all.size(); first += FLAGS_avgRuns) {
    inference::Latencies some;
    for (int i = 0; i < FLAGS_avgRuns; ++i) some.Add(all[first + i]);
    Say(Join("Average on ", FLAGS_avgRuns, " runs - Host latency: ", some.Mean(), " ms"));
  }
  Say("");
}

void PrintProfile(const inference::LayerTimes& profile) {
  const size_t runs = profile.layers().empty() ? 0 : profile.layers()[0].times.count();
  Say(Join("=== Profile (", runs, " iterations ) ==="));
  const auto number = [](double value, int digits) {
    std::ostringstream text;
    text << std::fixed << std::setprecision(digits) << value;
    return text.str();
  };
  const double total = profile.Total();
  double averages = 0, medians = 0;
  vector<vector<string>> rows;
  for (const auto& layer : profile.layers()) {
    const inference::Latencies& times = layer.times;
    averages += times.Mean();
    medians += times.Median();
    rows.push_back({number(times.Total(), 2), number(times.Mean(), 4), number(times.Median(), 4),
                    number(total > 0 ? 100 * times.Total() / total : 0, 1), layer.name});
  }
  rows.push_back(
      {number(total, 2), number(averages, 4), number(medians, 4), number(100, 1), "Total"});
  const vector<string> header = {"Time(ms)", "Avg.(ms)", "Median(ms)", "Time(%)", "Layer"};
  rows.insert(rows.begin(), header);
  for (const vector<string>& row : rows) {
    std::ostringstream line;
    for (size_t i = 0; i + 1 < row.size(); ++i) line << std::setw(i == 0 ? 11 : 13) << row[i];
    Say(line.str() + "   " + row.back());
  }
  Say("");
}

/// Builds or loads, runs, reports.
int Exec() {
  Require(FLAGS_deploy.empty() != FLAGS_loadEngine.empty(),
          "give a net, --deploy=FILE, or a plan, --loadEngine=FILE; --help shows how");
  Require(FLAGS_avgRuns > 0, "--avgRuns must be positive, got ", FLAGS_avgRuns);
  Require(FLAGS_batch >= 0, "--batch must be positive, got ", FLAGS_batch);
  caffe::ApplySharedFlags();
  if (FLAGS_device >= 0) {
    if (caffe::RequireGpu(Join("--device ", FLAGS_device))) {
      caffe::Caffe::SetDevice(FLAGS_device);
    } else {
      FLAGS_device = -1;
    }
  }
  const vector<double> percentiles = Percentiles();
  for (const string& file : {FLAGS_saveEngine, FLAGS_exportProfile}) {
    if (!file.empty()) caffe::AtomicFile probe(file);
  }
  inference::LoadOptions options;
  options.batch = FLAGS_batch;
  options.iterations = FLAGS_iterations;
  options.seconds = FLAGS_duration;
  options.warm_up_ms = FLAGS_warmUp;
  options.streams = FLAGS_streams;
  options.threads = FLAGS_threads;
  options.profile = FLAGS_dumpProfile || !FLAGS_exportProfile.empty();

  const auto engine =
      FLAGS_loadEngine.empty() ? BuildEngine() : inference::Engine::Load(FLAGS_loadEngine);
  if (!FLAGS_saveEngine.empty()) {
    engine->Save(FLAGS_saveEngine);
    Say(Join("Engine written to ", FLAGS_saveEngine));
  }
  Say("Starting inference");
  const inference::LoadResult result = inference::MeasureLoad(engine, options);
  PrintTrace(result.latency);
  Say("=== Performance summary ===");
  Say(Join("Throughput: ", result.PerSecond(), " qps"));
  Say("Latency: " + Figures(result.latency, percentiles));
  Say(Join("Total Host Walltime: ", result.seconds, " s"));
  Say("");
  if (FLAGS_dumpProfile) PrintProfile(result.layers);
  if (!FLAGS_exportProfile.empty()) {
    const string json = result.layers.ToJson();
    caffe::AtomicFile out(FLAGS_exportProfile);
    out.Write(json.data(), json.size());
    out.Commit();
  }
  return 0;
}

/// One --output for all that are given.
vector<string> WithJoinedOutputs(int argc, char** argv) {
  vector<string> arguments;
  size_t output = 0;
  for (int i = 0; i < argc; ++i) {
    string argument = argv[i];
    const bool two = argument == "--output" || argument == "-output";
    if (two && i + 1 < argc) argument = Join("--output=", argv[++i]);
    const size_t equals = argument.find('=');
    const string flag = argument.substr(0, equals);
    if (equals == string::npos || (flag != "--output" && flag != "-output")) {
      arguments.push_back(argument);
    } else if (output == 0) {
      output = arguments.size();
      arguments.push_back(argument);
    } else {
      arguments[output] += "," + argument.substr(equals + 1);
    }
  }
  return arguments;
}

}  // namespace

int main(int argc, char** argv) {
  vector<string> arguments = WithJoinedOutputs(argc, argv);
  vector<char*> pointers;
  for (string& argument : arguments) pointers.push_back(&argument[0]);
  string line;
  for (const string& argument : arguments) line += " " + argument;
  return caffe::RunTool(static_cast<int>(pointers.size()), pointers.data(), kUsage,
                        [&](int left, char** rest) {
                          Require(left == 1, "'", left > 1 ? rest[1] : "",
                                  "' is not expected: all is said by flags; --help shows them");
                          std::cout << "&&&& RUNNING caffe_exec #" << line << '\n';
                          const int status = Exec();
                          std::cout << "&&&& PASSED caffe_exec #" << line << '\n';
                          return status;
                        });
}
