#include "precisions.hpp"

#include <algorithm>
#include <set>

#include "backends/cpu/cpu_runner.hpp"
#include "backends/cpu/cpu_target.hpp"
#include "backends/cuda/cuda_engine.hpp"
#include "backends/lowering.hpp"
#include "backends/split_epilogues.hpp"
#include "caffe/common.hpp"
#include "caffe/context.hpp"
#include "caffe/error.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/util/edit_distance.hpp"
#include "passes/graph_editing.hpp"
#include "passes/memory_plan.hpp"
#include "quantize/equalization.hpp"
#include "quantize/fused_sums.hpp"
#include "quantize/integers.hpp"
#include "quantize/value_ranges.hpp"

namespace caffe {
namespace inference {
namespace {

using Types = std::set<ElementType>;

/// The layers that a node was made of.
std::vector<std::string> LayersOf(const Node& node) {
  std::vector<std::string> names = {node.name()};
  names.insert(names.end(), node.siblings.begin(), node.siblings.end());
  for (const Epilogue& step : node.epilogue) names.push_back(step.layer.name());
  return names;
}

void CheckLayerNames(const Graph& graph, const BuilderConfig& config) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) names.push_back(node.name());
  for (const auto& layer : config.layer_precisions) {
    Require(std::find(names.begin(), names.end(), layer.first) != names.end(),
            "layer_precisions: the net has no layer '", layer.first, "'",
            DidYouMean(layer.first, names));
  }
}

/// What nobody has said anything else about.
Types TypesOf(Precision precision, const BuilderConfig& config) {
  if (precision != Precision::BEST) return {StorageOf(precision)};
  Types types;
  for (const Precision allowed : config.allowed) types.insert(StorageOf(allowed));
  types.insert(ElementType::FLOAT);
  return types;
}

const Target& TargetOf(const BuilderConfig& config) {
  return config.backend == Backend::CUDA ? cuda::CudaTarget() : cpu::CpuTarget();
}

/// Builds engines that differ in the types of their layers only.
class LoweredBuild {
 public:
  LoweredBuild(const Graph& graph, const BuilderConfig& config)
      : graph_(graph),
        config_(config),
        target_(TargetOf(config)),
        threads_(config.threads > 0 ? config.threads : Caffe::threads()),
        types_(TypesOf(config.precision, config)) {
    CheckLayerNames(graph, config);
    if (!config_.timing_cache) config_.timing_cache = std::make_shared<TimingCache>();
    const auto wants = [](const auto& layer) { return layer.second == Precision::INT8; };
    const bool demanded =
        config.precision == Precision::INT8 ||
        std::any_of(config.layer_precisions.begin(), config.layer_precisions.end(), wants);
    table_ = config.calibration;
    Require(table_ || !demanded,
            "int8 needs calibration: give a calibration table or a calibrator");
    if (!table_) types_.erase(ElementType::INT8);
    CheckQuantization();
  }

  /// The graph in integers, before kernels are chosen.
  Graph Quantized() const {
    Require(table_ != nullptr, "int8 needs calibration: give a calibration table or a calibrator");
    Require(HasIntegersAlone(),
            "the graph is in integers with -arithmetic integer or integer_only");
    std::vector<std::string> skipped = SkippedPasses();
    for (const Pass& pass : Passes()) {
      if (pass.places) skipped.push_back(pass.name);
    }
    return InIntegers(Optimize(graph_, skipped, config_.pass_observer), {});
  }

  /// `narrowed`: the types of layers that may have other ones than the configuration says.
  std::shared_ptr<const Engine> Build(const std::map<std::string, Types>& narrowed = {}) const {
    Context::Current();  // sets the number of a thread that has not used Caffe before
    // What judges engines (accuracy_loss) has a team of the caller's size again.
    const kernels::TeamSize team(threads_);
    const auto lower = [&](Graph graph) { return Lowered(std::move(graph), narrowed); };
    const bool is_timed = config_.timing_iterations > 0 && config_.backend == Backend::CPU;
    return std::make_shared<const Engine>(
        WithScratch(Optimize(graph_, SkippedPasses(), config_.pass_observer, lower)),
        is_timed ? threads_ : 0);
  }

  /// The fastest engine that accuracy_loss accepts.
  std::shared_ptr<const Engine> BuildBest() {
    std::shared_ptr<const Engine> engine = Build();
    if (!config_.accuracy_loss || Accepts(engine)) return engine;
    config_.pass_observer = nullptr;
    std::map<std::string, Types> widened;
    for (const Types& narrow :
         {Types{ElementType::INT8}, Types{ElementType::FLOAT16, ElementType::BFLOAT16}}) {
      engine = Widen(narrow, engine, &widened);
      if (Accepts(engine)) return engine;
    }
    return engine;
  }

 private:
  bool HasIntegersAlone() const {
    return config_.precision == Precision::INT8 &&
           config_.quantization.ArithmeticOrDefault() != Arithmetic::FLOAT;
  }

  QuantizationScheme Scheme() const { return config_.quantization.SchemeOrDefault(); }

  void CheckQuantization() const {
    const bool symmetric = Scheme() == QuantizationScheme::SYMMETRIC;
    Require(symmetric || HasIntegersAlone() || config_.backend == Backend::CPU, "-quantization ",
            Name(Scheme()), " -arithmetic ", Name(config_.quantization.ArithmeticOrDefault()),
            " is for the CPU; with -arithmetic integer it is for GPUs, too");
    Require(Scheme() != QuantizationScheme::PAPER || HasIntegersAlone() || !table_,
            "-quantization paper computes with integers alone: give -arithmetic integer");
  }

  bool Skips(const std::string& pass) const {
    const std::vector<std::string>& skipped = config_.skip_passes;
    return std::find(skipped.begin(), skipped.end(), pass) != skipped.end();
  }

  std::vector<std::string> SkippedPasses() const {
    std::vector<std::string> skipped = config_.skip_passes;
    if (HasIntegersAlone()) skipped.push_back(kPassWithoutIntegers);
    return skipped;
  }

  Graph InIntegers(Graph graph, const std::map<std::string, Types>& narrowed) const {
    graph = SplitForIntegers(std::move(graph));
    IntegerOptions options;
    options.refuses = config_.quantization.ArithmeticOrDefault() == Arithmetic::INTEGER_ONLY;
    options.rounding = config_.quantization.RoundingOrDefault();
    options.weights.scheme = Scheme();
    if (const auto& training = config_.quantization.training) {
      options.weights.to_nearest = true;
      options.weights.bits = training->weight_bits;
      options.activation_bits = training->activation_bits;
    }
    options.remark = config_.remark;
    options.means = MeansOf(graph, *table_);
    for (const Node& node : graph.nodes) {
      options.wanted.push_back(TypesFor(node, narrowed).count(ElementType::INT8) > 0);
    }
    return ToIntegers(std::move(graph), *table_, options);
  }

  /// With room in the arena for what the CPU's kernels need beside the blobs: they say it once they
  /// are set up. A runner makes room itself where a plan has none.
  Graph WithScratch(Graph graph) const {
    if (config_.backend == Backend::CUDA || Skips("memory")) return graph;
    std::vector<size_t> scratch;
    try {
      scratch = cpu::CpuRunner(std::make_shared<const Graph>(graph)).ScratchBytes();
    } catch (const Error&) {  // a layer that cannot be made is named when somebody runs the engine
      return graph;
    }
    return PlanMemory(std::move(graph), scratch);
  }

  bool Accepts(const std::shared_ptr<const Engine>& engine) const {
    return config_.accuracy_loss(engine) <= config_.max_accuracy_loss;
  }

  Graph Lowered(Graph graph, const std::map<std::string, Types>& narrowed) const {
    LoweringOptions options;
    if (HasIntegersAlone()) {
      graph = InIntegers(std::move(graph), narrowed);
      if (target_.fuses_integer_sums() && !Skips(kPassWithoutIntegers)) {
        graph = FuseIntegerResiduals(std::move(graph));
      }
      options.ranges = RangesOf(graph);
      for (Value& value : graph.values) {  // formats are chosen below
        if (value.is_constant()) continue;
        value.type = ElementType::FLOAT;
        value.affine = AffineParameters();
      }
    }
    graph = SplitEpilogues(std::move(graph));
    options.progress = config_.progress;
    options.remark = config_.remark;
    options.tensor_float = config_.tensor_float;
    std::vector<bool> integers, rounds;
    for (const Node& node : graph.nodes) {
      options.maths.push_back(LoweredTypes(node, narrowed));
      integers.push_back(options.maths.back().count(ElementType::INT8) > 0);
      rounds.push_back(RoundsInputs(target_, graph, node));
    }
    options.ranges.resize(graph.values.size());
    if (table_ && !HasIntegersAlone()) {
      const QuantizationScheme scheme = Scheme();
      options.ranges = RangesOf(graph, *table_, integers, rounds, target_.takes_unsigned(), scheme);
      if (scheme == QuantizationScheme::SYMMETRIC) {
        graph = EqualizeChannels(std::move(graph), *table_, options.ranges);
      }
      options.means = MeansOf(graph, *table_);
    }
    Timing timing(target_, config_.timing_iterations, config_.timing_cache.get(),
                  config_.max_workspace);
    return Lower(std::move(graph), options, &timing);
  }

  /// Of a node of a graph that is being lowered.
  Types LoweredTypes(const Node& node, const std::map<std::string, Types>& narrowed) const {
    if (node.integers) return {ElementType::INT8};
    Types types = TypesFor(node, narrowed);
    if (HasIntegersAlone()) types.erase(ElementType::INT8);  // what integers cannot hold
    return types.empty() ? Types{ElementType::FLOAT} : types;
  }

  /// What was said of the layer, of one that was joined to it, or in the prototxt.
  Types TypesFor(const Node& node, const std::map<std::string, Types>& narrowed) const {
    for (const std::string& layer : LayersOf(node)) {
      const auto said = config_.layer_precisions.find(layer);
      if (said != config_.layer_precisions.end()) return TypesOf(said->second, config_);
    }
    const auto known = narrowed.find(node.name());
    if (known != narrowed.end()) return known->second;
    if (node.layer.has_forward_type()) {
      return {node.layer.forward_type() == FLOAT16 ? ElementType::FLOAT16 : ElementType::FLOAT};
    }
    return types_;
  }

  struct Layer {
    std::string name;
    double loss_for_time;  // of accuracy, when it alone is narrow, for a microsecond gained
  };

  /// Takes `narrow` types from as few layers as necessary, those first that lose most accuracy for
  /// the time that they save.
  std::shared_ptr<const Engine> Widen(const Types& narrow, std::shared_ptr<const Engine> engine,
                                      std::map<std::string, Types>* widened) const {
    const std::vector<Layer> layers = Sensitivities(narrow, *engine);
    const std::map<std::string, Types> before = *widened;
    const auto widen = [&](size_t count) {
      *widened = before;
      for (size_t i = 0; i < count; ++i) {
        Types& types = widened->emplace(layers[i].name, types_).first->second;
        for (const ElementType type : narrow) types.erase(type);
      }
    };
    const auto with = [&](size_t count) {
      widen(count);
      return Build(*widened);
    };
    // The least number that is accepted, as far as more is better; `engine` has `high`.
    size_t low = 0, high = layers.size();
    engine = with(high);
    if (!Accepts(engine)) return engine;
    while (low + 1 < high) {
      const size_t middle = (low + high) / 2;
      const auto tried = with(middle);
      if (Accepts(tried)) {
        high = middle;
        engine = tried;
      } else {
        low = middle;
      }
    }
    widen(high);
    return engine;
  }

  /// All layers with weights. Those that `engine` computes in a narrow type are measured.
  std::vector<Layer> Sensitivities(const Types& narrow, const Engine& engine) const {
    std::map<std::string, Types> wide;
    std::vector<const Node*> nodes;
    std::vector<Layer> layers;
    for (const Node& node : engine.graph()->nodes) {
      if (!MultipliesWeights(node)) continue;
      wide[node.name()] = {ElementType::FLOAT};
      if (narrow.count(node.math)) {
        nodes.push_back(&node);
      } else {
        layers.push_back({node.name(), 0});
      }
    }
    std::map<std::string, double> float_times;
    for (const LayerInfo& layer : Build(wide)->layers()) {
      float_times[layer.name] = layer.microseconds;
    }
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Node& node = *nodes[i];
      if (config_.progress) {
        config_.progress(static_cast<int>(i), static_cast<int>(nodes.size()), node.name());
      }
      std::map<std::string, Types> alone = wide;
      alone[node.name()] = {node.math};
      const double saved = std::max(1e-3, float_times[node.name()] - node.microseconds);
      layers.push_back({node.name(), config_.accuracy_loss(Build(alone)) / saved});
    }
    std::stable_sort(layers.begin(), layers.end(), [](const Layer& a, const Layer& b) {
      return a.loss_for_time > b.loss_for_time;
    });
    return layers;
  }

  const Graph& graph_;
  BuilderConfig config_;
  const Target& target_;
  const int threads_;
  Types types_;
  std::shared_ptr<const CalibrationTable> table_;
};

}  // namespace

Graph QuantizedGraph(const Graph& graph, const BuilderConfig& config) {
  return LoweredBuild(graph, config).Quantized();
}

std::shared_ptr<const Engine> BuildLowered(const Graph& graph, const BuilderConfig& config) {
  LoweredBuild build(graph, config);
  return config.precision == Precision::BEST ? build.BuildBest() : build.Build();
}

}  // namespace inference
}  // namespace caffe
