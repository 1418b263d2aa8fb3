#include "caffe/inference/engine.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "backends/runner.hpp"
#include "caffe/blob.hpp"
#include "caffe/common.hpp"
#include "caffe/context.hpp"
#include "caffe/core/error_context.hpp"
#include "caffe/error.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/kernels/parallel.hpp"
#include "engine_report.hpp"
#include "graph/constants.hpp"
#include "graph/regions.hpp"
#include "plan_file.hpp"
#include "shape_profiles.hpp"
#include "task_queue.hpp"

namespace caffe::inference {

Engine::Engine(Graph graph, int tuned_threads)
    : Engine(std::vector<Graph>{std::move(graph)}, tuned_threads) {}

Engine::Engine(std::vector<Graph> graphs, int tuned_threads) : tuned_threads_(tuned_threads) {
  kernels::CpuInstructionSet();
  Require(!graphs.empty(), "an engine needs a graph");
  for (Graph& graph : graphs) {
    graph.Validate();
    graphs_.push_back(std::make_shared<const Graph>(std::move(graph)));
    const Graph& added = *graphs_.back();
    const bool fits = graphs_.size() == 1 || (!added.min_inputs.empty() && has_profiles() &&
                                              Names(added, added.inputs) == inputs() &&
                                              Names(added, added.outputs) == outputs());
    Require(fits, "graph '", added.name, "' has other inputs or outputs than the first profile's, ",
            "or no range of shapes");
  }
}

std::shared_ptr<const Engine> Engine::Load(const std::string& file) {
  Plan plan = ReadPlan(file);
  return WithFile(file, [&] {
    return std::make_shared<const Engine>(std::move(plan.graphs), plan.tuned_threads);
  });
}

void Engine::Save(const std::string& file) const {
  Plan plan;
  for (const auto& graph : graphs_) plan.graphs.push_back(*graph);
  plan.tuned_threads = tuned_threads_;
  WritePlan(plan, file);
}

std::vector<std::string> Engine::Names(const Graph& graph, const std::vector<int>& values) {
  std::vector<std::string> names;
  for (const int value : values) names.push_back(graph.values[value].name);
  return names;
}

int Engine::max_batch() const {
  int most = 0;
  for (const auto& graph : graphs_) most = std::max(most, BatchOf(*graph));
  return most;
}

std::vector<ShapeProfile> Engine::profiles() const {
  std::vector<ShapeProfile> profiles;
  for (const auto& graph : graphs_) {
    if (has_profiles()) profiles.push_back(ProfileOf(*graph));
  }
  return profiles;
}

const std::shared_ptr<const Graph>& Engine::graph(int profile) const {
  Require(profile >= 0 && profile < num_graphs(), "engine '", graphs_[0]->name, "' has no profile ",
          profile, ": they are numbered from 0 to ", num_graphs() - 1);
  return graphs_[profile];
}

std::optional<AffineParameters> Engine::OutputAffine(const std::string& output) const {
  const Graph& first = *graph();
  int value = first.FindValue(output);
  Require(value >= 0 && first.IsOutput(value), "engine '", name(), "' has no output '", output,
          "'");
  const std::vector<int> producers = Producers(first);
  // An output is in floats; 8-bit values are converted by a reorder.
  while (producers[value] >= 0 && first.nodes[producers[value]].type() == kReorder) {
    value = first.nodes[producers[value]].inputs[0];
    const ElementType type = first.values[value].type;
    if (type == ElementType::UINT8 || type == ElementType::INT8) return first.values[value].affine;
  }
  return {};
}

std::vector<LayerInfo> Engine::layers(int profile) const { return LayersOf(*graph(profile)); }
size_t Engine::weight_bytes() const {
  std::vector<const Graph*> graphs;
  for (const auto& graph : graphs_) graphs.push_back(graph.get());
  return WeightBytes(graphs);
}
size_t Engine::activation_bytes() const {
  std::call_once(measured_, [this] {
    size_t bytes = 0;
    for (const auto& graph : graphs_) bytes += MakeRunner(graph)->activation_bytes();
    activation_bytes_ = bytes;
  });
  return activation_bytes_;
}
std::string Engine::ToJson() const { return EngineAsJson(*this); }
std::string Engine::LayersToJson(bool details) const { return LayersAsJson(*graph(), details); }

/// Keeps its address when the context is moved: the queue's tasks refer to it.
struct ExecutionContext::State {
  State(std::shared_ptr<const Engine> e, int t)
      : engine(std::move(e)),
        threads(t),
        settings(Context::Current().settings()),
        runners(engine->num_graphs()) {
    Enter(0);
  }

  const Graph& graph() const { return *engine->graph(profile); }
  std::vector<Shape> InputShapes() const;
  void Enter(int other);
  void SetInputShapes(int in_profile, const std::vector<Shape>& shapes);
  int ProfileFor(const std::vector<Shape>& shapes) const;
  void Run();
  void RunWatched();
  void Observe(int node) const;
  void ObserveFreeNodes(int node) const;

  const std::shared_ptr<const Engine> engine;
  /// The size of the thread team that the runners' kernels were set up for, and that all runs use.
  const int threads;
  /// The GPU of the thread that made the context, which all profiles use.
  const Context::Settings settings;
  std::vector<std::unique_ptr<Runner>> runners;  // one a profile, from its first use on
  int profile = 0;
  Runner* runner = nullptr;  // the profile's
  bool chooses = true;       // by shapes, among the engine's profiles
  Profiler* profiler = nullptr;
  BlobObserver observer;
  RunTimes* times = nullptr;
  bool transfers = true;
  std::unique_ptr<TaskQueue> queue;  // made by the first Enqueue; ends before the others
};

ExecutionContext::ExecutionContext(std::shared_ptr<const Engine> engine, int threads) {
  Require(engine != nullptr, "an execution context needs an engine");
  Require(threads >= 0, "an execution context takes at least 1 thread, or 0: Caffe's; got ",
          threads);
  const int callers = Caffe::threads();
  if (threads == 0) threads = callers;
  const kernels::TeamSize team(threads);
  WithMemoryErrors([name = engine->name()] { return "engine '" + name + "'"; },
                   [&] { state_ = std::make_unique<State>(std::move(engine), threads); });
}

ExecutionContext::~ExecutionContext() = default;
ExecutionContext::ExecutionContext(ExecutionContext&&) noexcept = default;
ExecutionContext& ExecutionContext::operator=(ExecutionContext&&) noexcept = default;

ExecutionContext::State& ExecutionContext::state() const {
  Require(state_ != nullptr, "this execution context was moved to another one");
  return *state_;
}

const Engine& ExecutionContext::engine() const { return *state().engine; }

std::vector<Shape> ExecutionContext::State::InputShapes() const {
  std::vector<Shape> shapes;
  for (const int input : graph().inputs) shapes.push_back(runner->shape(input));
  return shapes;
}

void ExecutionContext::State::Enter(int other) {
  const std::shared_ptr<const Graph>& graph = engine->graph(other);
  if (!runners[other]) {
    struct Restored {
      const Context::Settings before = Context::Current().settings();
      ~Restored() { Context::Current().Inherit(before); }
    } const restored;
    Context::Current().Inherit(settings);
    runners[other] = MakeRunner(graph);
  }
  profile = other;
  runner = runners[other].get();
}

void ExecutionContext::State::SetInputShapes(int in_profile, const std::vector<Shape>& shapes) {
  Context::Current();  // sets the number of a thread that has not used Caffe before
  const kernels::TeamSize team(threads);
  const int before = profile;
  Enter(in_profile);
  try {
    runner->SetInputShapes(shapes);
  } catch (...) {
    Enter(before);
    throw;
  }
}

/// The first selectable profile that has them in its range.
int ExecutionContext::State::ProfileFor(const std::vector<Shape>& shapes) const {
  if (!engine->has_profiles()) return 0;
  std::string ranges;
  for (int i = 0; i < engine->num_graphs(); ++i) {
    if (!chooses && i != profile) continue;
    if (IsInRange(*engine->graph(i), shapes)) return i;
    ranges += Join(ranges.empty() ? "" : "; ", "profile ", i, ": ", RangeAsText(*engine->graph(i)));
  }
  Fail("engine '", engine->name(), "' is not built for ", ShapesAsText(graph(), shapes),
       ", but for ", ranges);
}

void ExecutionContext::SetProfile(int profile) {
  const Graph& graph = *state().engine->graph(profile);
  state().SetInputShapes(profile, inference::InputShapes(graph, BatchOf(graph)));
  state().chooses = false;
}

int ExecutionContext::profile() const { return state().profile; }

void ExecutionContext::SetBatch(int batch) {
  const Graph& graph = state().graph();
  const int most = state().engine->max_batch();
  Require(batch == most || (batch > 0 && batch < most), "batch ", batch, ": engine '", graph.name,
          "' is built for 1 to ", most);
  std::vector<Shape> shapes = state().InputShapes();
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Shape& built = graph.values[graph.inputs[i]].shape;
    if (!shapes[i].empty() && !built.empty() && built[0] == BatchOf(graph)) shapes[i][0] = batch;
  }
  state().SetInputShapes(state().ProfileFor(shapes), shapes);
}

int ExecutionContext::batch() const {
  const Graph& graph = state().graph();
  if (graph.inputs.empty() || state().runner->shape(graph.inputs[0]).empty()) return 0;
  return state().runner->shape(graph.inputs[0])[0];
}

int ExecutionContext::threads() const { return state().threads; }

namespace {

/// The value among `values` of this name.
int Named(const Graph& graph, const std::vector<int>& values, const char* kind,
          const std::string& name) {
  std::string names;
  for (const int value : values) {
    if (graph.values[value].name == name) return value;
    names += (names.empty() ? "'" : ", '") + graph.values[value].name + "'";
  }
  Fail("engine '", graph.name, "' has no ", kind, " '", name, "'; it has ",
       names.empty() ? "none" : names);
}

}  // namespace

void ExecutionContext::SetInputShape(const std::string& name, const Shape& shape) {
  SetInputShapes({{name, shape}});
}

void ExecutionContext::SetInputShapes(const std::map<std::string, Shape>& shapes) {
  const Graph& graph = state().graph();
  std::vector<Shape> all = state().InputShapes();
  for (const auto& [name, shape] : shapes) {
    for (const int extent : shape) {
      Require(extent > 0, "input '", name, "': shape ", ShapeString(shape),
              " has an extent that is not positive");
    }
    const bool is_only = name.empty() && graph.inputs.size() == 1;
    const int value = is_only ? graph.inputs[0] : Named(graph, graph.inputs, "input", name);
    const auto place = std::find(graph.inputs.begin(), graph.inputs.end(), value);
    all[place - graph.inputs.begin()] = shape;
  }
  state().SetInputShapes(state().ProfileFor(all), all);
}

float* ExecutionContext::Input(const std::string& name) {
  const Graph& graph = state().graph();
  return state().runner->data(Named(graph, graph.inputs, "input", name));
}

const Shape& ExecutionContext::InputShape(const std::string& name) const {
  const Graph& graph = state().graph();
  return state().runner->shape(Named(graph, graph.inputs, "input", name));
}

void ExecutionContext::SetProfiler(Profiler* profiler) { state().profiler = profiler; }
void ExecutionContext::SetObserver(BlobObserver observer) {
  state().observer = std::move(observer);
}

void ExecutionContext::SetRunTimes(RunTimes* times, bool transfers) {
  state().times = times;
  state().transfers = transfers;
}

namespace {

void ScaleChannels(const std::vector<float>& scales, const Shape& shape,
                   std::vector<float>* values) {
  const size_t channels = scales.size(), plane = CountOf({shape.begin() + 2, shape.end()});
  for (size_t i = 0; i < values->size(); ++i) (*values)[i] *= scales[i / plane % channels];
}

}  // namespace

void ExecutionContext::State::Observe(int node) const {
  for (const int output : graph().nodes[node].outputs) {
    const Value& value = graph().values[output];
    const Shape& shape = runner->shape(output);
    std::vector<float> floats = runner->Floats(output);
    if (!value.channel_scales.empty()) ScaleChannels(value.channel_scales, shape, &floats);
    observer(value.name, shape, floats.data());
  }
}

/// The nodes from this one on that are no-ops: their outputs are ready when the nodes before them
/// have run.
void ExecutionContext::State::ObserveFreeNodes(int node) const {
  const int nodes = static_cast<int>(graph().nodes.size());
  for (; node < nodes && IsFree(graph(), graph().nodes[node]); ++node) Observe(node);
}

void ExecutionContext::State::Run() {
  Context::Current();
  const kernels::TeamSize team(threads);
  const bool watched = profiler || observer;
  if (!times) return watched ? RunWatched() : runner->Run(nullptr);
  if (!watched) {
    *times = runner->TimedRun(transfers);
    return;
  }
  const RunTimes::Time begin = std::chrono::steady_clock::now();
  RunWatched();
  const RunTimes::Time end = std::chrono::steady_clock::now();
  *times = {begin, begin, begin, end, end};
}

void ExecutionContext::State::RunWatched() {
  if (observer) ObserveFreeNodes(0);
  runner->Run([this](int node, double milliseconds) {
    if (profiler) profiler->ReportLayerTime(graph().nodes[node].name(), milliseconds);
    if (!observer) return;
    Observe(node);
    ObserveFreeNodes(node + 1);
  });
}

void ExecutionContext::Run() { state().Run(); }

void ExecutionContext::Enqueue(std::function<void(std::exception_ptr)> done) {
  Require(done != nullptr, "Enqueue: there is no function to call when the run is done");
  State& own = state();
  if (!own.queue) own.queue = std::make_unique<TaskQueue>();
  own.queue->Add([state = &own, done = std::move(done)] {
    std::exception_ptr error;
    try {
      state->Run();
    } catch (...) {
      error = std::current_exception();
    }
    done(error);
  });
}

void ExecutionContext::Enqueue(Stream& stream, const std::map<std::string, void*>& places) {
  const Graph& graph = state().graph();
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  const auto place = [&](int value, const char* kind) {
    const std::string& name = graph.values[value].name;
    const auto found = places.find(name);
    Require(found != places.end() && found->second, "Enqueue: ", kind, " '", name, "' of engine '",
            graph.name, "' has no place");
    Require(reinterpret_cast<uintptr_t>(found->second) % 16 == 0, "Enqueue: the place of ", kind,
            " '", name, "' is no multiple of 16");
    return found->second;
  };
  for (const int input : graph.inputs) inputs.push_back(place(input, "input"));
  for (const int output : graph.outputs) outputs.push_back(place(output, "output"));
  for (const auto& [name, memory] : places) {
    const int value = graph.FindValue(name);
    Require(value >= 0 && (graph.IsInput(value) || graph.IsOutput(value)), "Enqueue: engine '",
            graph.name, "' has no input or output '", name, "'");
  }
  state().runner->Start(stream, inputs, outputs);
}

std::future<void> ExecutionContext::Enqueue() {
  const auto promise = std::make_shared<std::promise<void>>();
  Enqueue([promise](std::exception_ptr error) {
    if (error) {
      promise->set_exception(error);
    } else {
      promise->set_value();
    }
  });
  return promise->get_future();
}

const float* ExecutionContext::Output(const std::string& name) {
  const Graph& graph = state().graph();
  return state().runner->data(Named(graph, graph.outputs, "output", name));
}

const Shape& ExecutionContext::OutputShape(const std::string& name) const {
  const Graph& graph = state().graph();
  return state().runner->shape(Named(graph, graph.outputs, "output", name));
}

}  // namespace caffe::inference
