#include "lowered_build.hpp"

#include <algorithm>
#include <set>

#include "build_context.hpp"
#include "caffe/common.hpp"
#include "caffe/context.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/util/text/edit_distance.hpp"
#include "passes/graph_editing.hpp"

namespace caffe::inference {
namespace {

using Types = std::set<ElementType>;

constexpr char kJoinedLayers[] = "joined_layers";  // the pass
constexpr bool kApart = false;

void CheckLayerNames(const Graph& graph, const BuilderConfig& config) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) names.push_back(node.name());
  for (const auto& layer : config.layer_precisions) {
    Require(std::find(names.begin(), names.end(), layer.first) != names.end(),
            "layer_precisions: the net has no layer '", layer.first, "'",
            DidYouMean(layer.first, names));
  }
}

/// Builds engines that differ in the types of their layers only.
class LoweredBuild {
 public:
  LoweredBuild(const Graph& graph, const BuilderConfig& config)
      : graph_(graph),
        context_(BuildContext::For(config)),
        threads_(config.threads > 0 ? config.threads : Caffe::threads()) {
    CheckLayerNames(graph, config);
  }

  /// The graph in integers, before kernels are chosen.
  Graph Quantized() const {
    Require(context_.table != nullptr, "int8 needs calibration",
            Error::Remedy{"give a calibration table or a calibrator"});
    Require(context_.HasIntegersAlone(),
            "the graph is in integers with -arithmetic integer or integer_only");
    BuildContext build = context_;
    return RunPasses(graph_, &build, "integers");
  }

  /// `narrowed`: types of layers that override the configuration's. `joins`: layers with weights
  /// may become one node, of one type.
  std::shared_ptr<const Engine> Build(const std::map<std::string, Types>& narrowed = {},
                                      bool joins = true) const {
    Context::Current();  // sets the number of a thread that has not used Caffe before
    // accuracy_loss runs with the caller's number of threads again.
    const kernels::TeamSize team(threads_);
    BuildContext build = context_;
    build.narrowed = narrowed;
    if (!joins && !build.Skips(kJoinedLayers)) {
      build.config.skip_passes.push_back(kJoinedLayers);
    }
    const BuilderConfig& config = build.config;
    const bool is_timed = config.timing_iterations > 0 && config.backend == Backend::CPU;
    return std::make_shared<const Engine>(RunPasses(graph_, &build), is_timed ? threads_ : 0);
  }

  /// The fastest engine that accuracy_loss accepts; where it accepts none, that in FP32, with a
  /// remark.
  std::shared_ptr<const Engine> BuildBest() {
    std::shared_ptr<const Engine> engine = Build();
    if (!context_.config.accuracy_loss || Accepts(engine)) return engine;
    context_.config.pass_observer = nullptr;
    context_.config.on_candidates = nullptr;
    std::map<std::string, Types> widened;
    for (const Types& narrow :
         {Types{ElementType::INT8}, Types{ElementType::FLOAT16, ElementType::BFLOAT16}}) {
      engine = Widen(narrow, &widened);
      if (Accepts(engine)) return engine;
    }
    // Layers without weights, too.
    context_.types = {ElementType::FLOAT};
    engine = Build();
    const double loss = context_.config.accuracy_loss(engine);
    if (!(loss <= context_.config.max_accuracy_loss)) RemarkLoss(loss);
    return engine;
  }

 private:
  void RemarkLoss(double loss) const {
    const std::string line = Join(
        "no engine loses as little accuracy as was asked for, ", context_.config.max_accuracy_loss,
        ": in FP32, but for layers with a precision of ", "their own, it is ", loss);
    if (context_.config.remark) return context_.config.remark(line);
    LOG(WARNING) << line;
  }

  bool Accepts(const std::shared_ptr<const Engine>& engine) const {
    return context_.config.accuracy_loss(engine) <= context_.config.max_accuracy_loss;
  }

  struct Layer {
    std::string name;
    double loss_for_time;  // loss of accuracy when it alone is narrow, per microsecond gained
  };

  /// Widens as few layers as necessary, those first that lose most accuracy for the time that they
  /// save.
  std::shared_ptr<const Engine> Widen(const Types& narrow,
                                      std::map<std::string, Types>* widened) const {
    const std::vector<Layer> layers = Sensitivities(narrow, *Build(*widened, kApart));
    const std::map<std::string, Types> before = *widened;
    const auto widen = [&](size_t count) {
      *widened = before;
      for (size_t i = 0; i < count; ++i) {
        Types& types = widened->emplace(layers[i].name, context_.types).first->second;
        for (const ElementType type : narrow) types.erase(type);
      }
    };
    const auto with = [&](size_t count) {
      widen(count);
      return Build(*widened);
    };
    // The smallest accepted number by bisection; `engine` is that of `high`.
    size_t low = 0, high = layers.size();
    std::shared_ptr<const Engine> engine = with(high);
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

  /// All layers with weights. Those that `engine`, in which none are joined, computes in a narrow
  /// type are measured.
  std::vector<Layer> Sensitivities(const Types& narrow, const Engine& engine) const {
    const BuilderConfig& config = context_.config;
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
    for (const LayerInfo& layer : Build(wide, kApart)->layers()) {
      float_times[layer.name] = layer.microseconds;
    }
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Node& node = *nodes[i];
      if (config.progress) {
        config.progress(static_cast<int>(i), static_cast<int>(nodes.size()), node.name());
      }
      std::map<std::string, Types> alone = wide;
      alone[node.name()] = {node.math};
      const double saved = std::max(1e-3, float_times[node.name()] - node.microseconds);
      layers.push_back({node.name(), config.accuracy_loss(Build(alone, kApart)) / saved});
    }
    std::stable_sort(layers.begin(), layers.end(), [](const Layer& a, const Layer& b) {
      return a.loss_for_time > b.loss_for_time;
    });
    return layers;
  }

  const Graph& graph_;
  BuildContext context_;
  const int threads_;
};

}  // namespace

Graph QuantizedGraph(const Graph& graph, const BuilderConfig& config) {
  return LoweredBuild(graph, config).Quantized();
}

std::shared_ptr<const Engine> BuildLowered(const Graph& graph, const BuilderConfig& config) {
  LoweredBuild build(graph, config);
  return config.precision == Precision::BEST ? build.BuildBest() : build.Build();
}

}  // namespace caffe::inference
