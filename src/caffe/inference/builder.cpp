#include "caffe/inference/builder.hpp"

#include <algorithm>
#include <cmath>

#include "backends/operand_places.hpp"
#include "backends/runner.hpp"
#include "build_context.hpp"
#include "caffe/common.hpp"
#include "caffe/core/error_context.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/passes/passes.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/util/text/listed.hpp"
#include "lowered_build.hpp"
#include "shape_profiles.hpp"

namespace caffe::inference {
namespace {

/// The net with the largest shapes that will be run, where there are no profiles.
Graph Shaped(Graph graph, const BuilderConfig& config) {
  Require(config.max_batch >= 0, "max_batch must not be negative, got ", config.max_batch);
  std::vector<Shape> shapes = InputShapes(graph, BatchOf(graph));
  if (config.max_batch > 0) {
    Require(BatchOf(graph) > 0, "max_batch: graph '", graph.name, "' has no input with a batch");
    shapes = InputShapes(graph, config.max_batch);
  }
  for (const auto& [name, shape] : config.max_input_shapes) {
    const int input = InputNamed(graph, name, "max_input_shapes");
    Require(config.max_batch == 0 || shape.empty() || shape[0] == config.max_batch,
            "max_input_shapes: a batch of ", shape.empty() ? 0 : shape[0], " where max_batch is ",
            config.max_batch, Error::Remedy{"leave one of them out"});
    shapes[input] = shape;
  }
  if (shapes == InputShapes(graph, BatchOf(graph))) return graph;
  return WithInputShapes(std::move(graph), shapes);
}

/// The only input without given values that can take images.
std::string ImageInputOf(const Graph& graph, const ImagePreprocessing& preprocessing) {
  std::string found;
  for (const int input : graph.inputs) {
    const Value& value = graph.values[input];
    if (value.shape.size() != 4 || preprocessing.constants.count(value.name) > 0) continue;
    Require(found.empty(), "preprocessing: images can go to inputs '", found, "' and '", value.name,
            "'", Error::Remedy{"name one of them"});
    found = value.name;
  }
  Require(!found.empty(), "preprocessing: net '", graph.name,
          "' has no input that takes images (N, C, H, W)");
  return found;
}

/// The default preprocessing of a net that normalizes its input.
ImagePreprocessing PreprocessingOf(const NetworkDefinition::Normalization& normalization,
                                   const Shape& input) {
  ImagePreprocessing preprocessing;
  preprocessing.input = normalization.input;
  preprocessing.mean = normalization.mean;
  preprocessing.scale = normalization.scale;
  preprocessing.engine_normalizes = true;
  if (preprocessing.HasMeanImage(input[1])) {
    preprocessing.resize_height = input[2];
    preprocessing.resize_width = input[3];
  }
  return preprocessing;
}

/// Adds the preprocessing and labels of the configuration or the definition to the graph.
void TakePreprocessing(const NetworkDefinition& net, const BuilderConfig& config, Graph* graph) {
  graph->class_names = config.class_names;
  const auto normalized = [&](const std::string& input) {
    return std::find_if(net.normalizations().begin(), net.normalizations().end(),
                        [&](const auto& normalization) { return normalization.input == input; });
  };
  ImagePreprocessing preprocessing;
  if (config.preprocessing) {
    preprocessing = *config.preprocessing;
    if (preprocessing.input.empty()) preprocessing.input = ImageInputOf(*graph, preprocessing);
    const bool normalizes = normalized(preprocessing.input) != net.normalizations().end();
    Require(preprocessing.engine_normalizes == normalizes,
            "preprocessing: mean and scale of input '", preprocessing.input,
            normalizes ? "' are" : "' are not",
            " part of the net (NormalizeInput), and engine_normalizes says otherwise");
  } else {
    if (net.normalizations().empty()) return;
    const NetworkDefinition::Normalization& first = net.normalizations()[0];
    const Shape& shape = graph->values[graph->FindValue(first.input)].shape;
    if (shape.size() != 4) return;
    preprocessing = PreprocessingOf(first, shape);
  }
  graph->preprocessing = std::make_shared<const ImagePreprocessing>(std::move(preprocessing));
  graph->preprocessing->Validate(*graph);
}

/// The net as each profile has it, or as it is without profiles.
std::vector<Graph> ShapedForProfiles(const Graph& graph, const BuilderConfig& config) {
  if (config.profiles.empty()) return {Shaped(graph, config)};
  Require(config.max_batch == 0 && config.max_input_shapes.empty(),
          "profiles say the largest shapes",
          Error::Remedy{"leave max_batch and max_input_shapes out"});
  std::vector<Graph> graphs;
  for (size_t i = 0; i < config.profiles.size(); ++i) {
    try {
      graphs.push_back(WithProfile(graph, config.profiles[i]));
    } catch (Error& error) {
      error.AddContext(Join("profile ", i));
      throw;
    }
  }
  return graphs;
}

/// The range of an input's values, from that of the normalized ones.
BlobCalibration Denormalized(const BlobCalibration& normalized,
                             const NetworkDefinition::Normalization& normalization) {
  const bool is_seen = normalized.minimum != 0 || normalized.maximum != 0;
  const double most = is_seen ? normalized.maximum : normalized.threshold;
  const double least = is_seen ? normalized.minimum : normalized.is_unsigned ? 0 : -most;
  const double ends[] = {least / normalization.scale, most / normalization.scale};
  const std::vector<float> mean =
      normalization.mean.empty() ? std::vector<float>{0} : normalization.mean;
  const auto [least_mean, largest_mean] = std::minmax_element(mean.begin(), mean.end());
  BlobCalibration raw;
  raw.minimum = std::min(ends[0], ends[1]) + *least_mean;
  raw.maximum = std::max(ends[0], ends[1]) + *largest_mean;
  raw.threshold = std::max(std::fabs(raw.minimum), std::fabs(raw.maximum));
  raw.is_unsigned = raw.minimum >= -1e-6 * raw.threshold;  // but for rounding
  raw.method = "normalization";
  return raw;
}

/// Adapts a table of the net with normalized inputs to the net that normalizes them.
void TakeNormalizations(const NetworkDefinition& net, CalibrationTable* table) {
  for (const NetworkDefinition::Normalization& normalization : net.normalizations()) {
    const BlobCalibration* found = table->Find(normalization.input);
    if (!found || table->Find(normalization.normalized)) continue;
    const BlobCalibration normalized = *found;
    table->Set(normalization.normalized, normalized);
    table->Set(normalization.input, Denormalized(normalized, normalization));
  }
}

/// Thresholds of the table, of the calibrator where no table is given, and on top of them the
/// ranges that the definition states; null without any.
std::shared_ptr<const CalibrationTable> CalibrationFor(const NetworkDefinition& net,
                                                       const BuilderConfig& config) {
  auto table = std::make_shared<CalibrationTable>();
  if (config.calibration) {
    *table = *config.calibration;
    TakeNormalizations(net, table.get());
  } else if (config.calibrator) {
    Net<float> run(ToNetParameter(net.graph()));
    *table = Calibrate(&run, config.calibrator.get(), config.calibration_options);
  }
  std::vector<std::string> calibrated;
  for (const std::string& blob : table->blobs()) {
    if (net.graph().FindValue(blob) >= 0 && !net.ranges().Find(blob)) calibrated.push_back(blob);
  }
  if (config.quantization.training && !calibrated.empty() && config.remark) {
    config.remark(
        Join("the net was trained for integers: of the calibration only what training has ",
             "not seen is taken, the range of ", ListedQuoted(calibrated, 3)));
  }
  for (const std::string& blob : net.ranges().blobs()) {
    const BlobCalibration& range = net.ranges().At(blob);
    if (config.quantization.ignore_training && range.method == kTrainedMethod) continue;
    table->Set(blob, range);
  }
  return table->blobs().empty() ? nullptr : table;
}

/// True if 8-bit integers may be chosen for some layer.
bool MayTakeIntegers(const BuilderConfig& config) {
  const auto is = [](Precision precision) { return precision == Precision::INT8; };
  return is(config.precision) ||
         (config.precision == Precision::BEST &&
          std::any_of(config.allowed.begin(), config.allowed.end(), is)) ||
         std::any_of(config.layer_precisions.begin(), config.layer_precisions.end(),
                     [&](const auto& layer) { return is(layer.second); });
}

void Remark(const BuilderConfig& config, const std::string& line) {
  if (config.remark) return config.remark(line);
  LOG(WARNING) << line;
}

size_t MemoryOf(const Engine& engine) { return engine.weight_bytes() + engine.activation_bytes(); }

/// The most bytes of scratch memory that a layer of the engine needs.
size_t LargestScratch(const Engine& engine, const BuilderConfig& config) {
  if (config.backend == Backend::REFERENCE) return 0;
  const Target& target = *BuildContext::For(config).target;
  size_t largest = 0;
  for (int i = 0; i < engine.num_graphs(); ++i) {
    for (const size_t bytes : ScratchBytes(*engine.graph(i), target)) {
      largest = std::max(largest, bytes);
    }
  }
  return largest;
}

void CheckMemory(const Engine& engine, size_t most) {
  Require(MemoryOf(engine) <= most, "max_memory: the engine needs ", engine.weight_bytes(),
          " bytes of weights and ", engine.activation_bytes(), " of activations, and may take ",
          most, Error::Remedy{"build it for a smaller batch or in fewer bits"});
}

std::shared_ptr<const Engine> BuildGraph(const Graph& graph, const BuilderConfig& config) {
  if (config.backend != Backend::REFERENCE) return BuildLowered(graph, config);
  return std::make_shared<const Engine>(Optimize(graph, config.skip_passes, config.pass_observer));
}

/// Checks that both ends of a range can be run.
void TryRange(const std::shared_ptr<const Graph>& graph) {
  if (graph->min_inputs.empty()) return;
  const std::unique_ptr<Runner> runner = MakeRunner(graph);
  runner->SetInputShapes(graph->min_inputs);
  runner->SetInputShapes(graph->opt_inputs);
}

/// Throws Error for numbers that the net was not trained for.
void CheckTraining(const NetworkDefinition& net, const BuilderConfig& config) {
  const std::optional<TrainedNumbers>& training = config.quantization.training;
  if (!training || !MayTakeIntegers(config)) return;
  const QuantizationScheme scheme = config.quantization.SchemeOrDefault();
  Require(scheme == training->scheme, "net '", net.name(), "' was trained for -quantization ",
          Name(training->scheme), ", not for ", Name(scheme),
          Error::Remedy{
              "leave -quantization out, or train it for that (quantized_training { scheme })"});
  const bool eight = training->weight_bits == 8 && training->activation_bits == 8;
  const bool integers = config.precision == Precision::INT8 &&
                        config.quantization.ArithmeticOrDefault() != Arithmetic::FLOAT;
  Require(eight || integers, "net '", net.name(), "' was trained for weights of ",
          training->weight_bits, " bits and blobs of ", training->activation_bits,
          ", which engines of integers alone have",
          Error::Remedy{"give -precision int8, and no other -arithmetic"});
}

/// Throws Error where weights have no range that could be reduced.
void CheckReducedRange(const NetworkDefinition& net, const BuilderConfig& config) {
  if (!config.quantization.reduce_range) return;
  const Error::Field field{"-reduce_range"};
  Require(MayTakeIntegers(config), field, " is for int8, not for -precision ",
          Name(config.precision));
  Require(config.backend == Backend::CPU, field, " is for the CPU: GPUs gain nothing by it");
  Require(!config.quantization.training, field, ": net '", net.name(),
          "' was trained for integers, which it would change");
  Require(config.quantization.SchemeOrDefault() != QuantizationScheme::PAPER, field,
          " is for -quantization symmetric and affine: of paper, weights have a zero point");
  if (!kernels::HasSaturatingByteProducts() && config.remark) {
    config.remark(
        "-reduce_range makes nothing faster on this processor: it is for AVX2 and AVX-512 without "
        "VNNI");
  }
}

void ReduceRanges(const BuilderConfig& config, Graph* graph) {
  for (Node& node : graph->nodes) node.reduce_range = config.quantization.reduce_range;
}

/// Adds the precisions and ranges of the definition.
BuilderConfig Completed(const NetworkDefinition& net, BuilderConfig config) {
  if (config.backend == Backend::REFERENCE) return config;
  config.layer_precisions.insert(net.layer_precisions().begin(), net.layer_precisions().end());
  const Quantization& quantization = net.quantization();
  const bool scheme_given = config.quantization.scheme.has_value();
  const bool rounding_given = config.quantization.rounding.has_value();
  const Arithmetic given = config.quantization.arithmetic.value_or(Arithmetic::FLOAT);
  Require(given == Arithmetic::FLOAT || config.precision == Precision::INT8,
          Error::Field{"-arithmetic"}, " ", Name(given), " is for -precision int8, not ",
          Name(config.precision));
  config.quantization.training =
      config.quantization.ignore_training ? std::optional<TrainedNumbers>() : quantization.training;
  if (!config.quantization.scheme) config.quantization.scheme = quantization.scheme;
  if (!config.quantization.arithmetic) config.quantization.arithmetic = quantization.arithmetic;
  if (!config.quantization.rounding) config.quantization.rounding = quantization.rounding;
  const bool alone = config.quantization.ArithmeticOrDefault() != Arithmetic::FLOAT;
  Require(!rounding_given || alone, Error::Field{"-rounding"}, " is for -arithmetic integer");
  Require(!scheme_given || MayTakeIntegers(config), Error::Field{"-quantization"},
          " is for int8, not for -precision ", Name(config.precision));
  CheckTraining(net, config);
  CheckReducedRange(net, config);
  if (alone && config.precision != Precision::INT8 && MayTakeIntegers(config) && config.remark) {
    config.remark(Join("the net asks for -arithmetic ", Name(*config.quantization.arithmetic),
                       ", which is for -precision int8: with ", Name(config.precision),
                       " sums of integers are rescaled by floats"));
  }
  if (MayTakeIntegers(config)) config.calibration = CalibrationFor(net, config);
  return config;
}

/// The engine of all profiles, each of which can be run.
std::shared_ptr<const Engine> BuildGraphs(const std::vector<Graph>& graphs,
                                          const BuilderConfig& config) {
  std::shared_ptr<const Engine> engine = BuildGraph(graphs[0], config);
  if (graphs.size() > 1) {
    std::vector<Graph> built = {*engine->graph()};
    for (size_t i = 1; i < graphs.size(); ++i) {
      built.push_back(*BuildGraph(graphs[i], config)->graph());
    }
    ShareConstants(&built);
    engine = std::make_shared<const Engine>(std::move(built), engine->tuned_threads());
  }
  // Memory is computed for as many threads as contexts will have.
  const kernels::TeamSize team(config.threads > 0 ? config.threads : Caffe::threads());
  for (int i = 0; i < engine->num_graphs(); ++i) TryRange(engine->graph(i));
  return engine;
}

/// The fastest one may need more memory than max_memory, where one whose layers have less scratch
/// memory, and by that other implementations, does not.
std::shared_ptr<const Engine> BuildWithinMemory(const std::vector<Graph>& graphs,
                                                BuilderConfig config) {
  constexpr size_t kNoScratch = 1;  // 0: any
  constexpr size_t kLittle = 4096;  // is not halved any further
  std::shared_ptr<const Engine> engine = BuildGraphs(graphs, config);
  const size_t most = config.max_memory;
  if (most == 0) return engine;
  const kernels::TeamSize team(config.threads > 0 ? config.threads : Caffe::threads());
  for (size_t scratch = LargestScratch(*engine, config);
       MemoryOf(*engine) > most && scratch > kNoScratch;
       scratch = std::min(config.max_workspace, LargestScratch(*engine, config))) {
    const size_t needed = MemoryOf(*engine);
    const size_t fitting = scratch - std::min(scratch, needed - most);
    config.max_workspace = std::min(fitting, scratch / 2);
    if (config.max_workspace < kLittle) config.max_workspace = kNoScratch;
    Remark(config, Join("max_memory: an engine needs ", needed, " bytes, and may take ", most,
                        ": it is built again with at most ", config.max_workspace,
                        " bytes of scratch memory for a layer"));
    engine = BuildGraphs(graphs, config);
  }
  CheckMemory(*engine, most);
  return engine;
}

std::shared_ptr<const Engine> BuildEngine(const NetworkDefinition& net, BuilderConfig config) {
  Require(config.threads >= 0, "threads must not be negative, got ", config.threads);
  std::vector<Graph> graphs = ShapedForProfiles(net.graph(), config);
  for (Graph& graph : graphs) TakePreprocessing(net, config, &graph);
  config = Completed(net, std::move(config));
  for (Graph& graph : graphs) ReduceRanges(config, &graph);
  return BuildWithinMemory(graphs, config);
}

}  // namespace

std::shared_ptr<const Engine> Builder::Build(const NetworkDefinition& net) const {
  return WithMemoryErrors([&] { return "engine '" + net.name() + "'"; },
                          [&] { return BuildEngine(net, config_); });
}

Graph QuantizedGraph(const NetworkDefinition& net, const BuilderConfig& config) {
  Graph graph = ShapedForProfiles(net.graph(), config)[0];
  const BuilderConfig completed = Completed(net, config);
  ReduceRanges(completed, &graph);
  return QuantizedGraph(graph, completed);
}

}  // namespace caffe::inference
