#include "caffe/inference/engine.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "backends/runner.hpp"
#include "caffe/blob.hpp"
#include "caffe/common.hpp"
#include "caffe/context.hpp"
#include "caffe/error.hpp"
#include "caffe/kernels/parallel.hpp"
#include "engine_report.hpp"
#include "graph/regions.hpp"
#include "plan_file.hpp"
#include "task_queue.hpp"

namespace caffe {
namespace inference {

Engine::Engine(Graph graph, int tuned_threads)
    : graph_(std::make_shared<const Graph>(std::move(graph))), tuned_threads_(tuned_threads) {
  graph_->Validate();
}

std::shared_ptr<const Engine> Engine::Load(const std::string& file) {
  Plan plan = ReadPlan(file);
  return std::make_shared<const Engine>(std::move(plan.graph), plan.tuned_threads);
}

void Engine::Save(const std::string& file) const { WritePlan({*graph_, tuned_threads_}, file); }

std::vector<std::string> Engine::Names(const std::vector<int>& values) const {
  std::vector<std::string> names;
  for (const int value : values) names.push_back(graph_->values[value].name);
  return names;
}

std::vector<LayerInfo> Engine::layers() const { return LayersOf(*graph_); }
size_t Engine::weight_bytes() const { return WeightBytes(*graph_); }
size_t Engine::activation_bytes() const {
  std::call_once(measured_, [this] { activation_bytes_ = MakeRunner(graph_)->activation_bytes(); });
  return activation_bytes_;
}
std::string Engine::ToJson() const { return EngineAsJson(*this); }

/// Stays where it is when the context is moved: the queue's tasks know it.
struct ExecutionContext::State {
  State(std::shared_ptr<const Engine> e, int t)
      : engine(std::move(e)), threads(t), runner(MakeRunner(engine->graph())) {}

  const Graph& graph() const { return *engine->graph(); }
  std::vector<Shape> InputShapes() const;
  void SetInputShapes(const std::vector<Shape>& shapes);
  void Run();
  void Observe(int node) const;
  void ObserveFreeNodes(int node) const;

  const std::shared_ptr<const Engine> engine;
  /// Of the team that the runner's kernels were set up for, and all its runs have.
  const int threads;
  const std::unique_ptr<Runner> runner;
  Profiler* profiler = nullptr;
  BlobObserver observer;
  std::unique_ptr<TaskQueue> queue;  // made by the first Enqueue; ends before the others
};

ExecutionContext::ExecutionContext(std::shared_ptr<const Engine> engine, int threads) {
  Require(engine != nullptr, "an execution context needs an engine");
  Require(threads >= 0, "an execution context takes at least 1 thread, or 0: Caffe's; got ",
          threads);
  const int callers = Caffe::threads();
  if (threads == 0) threads = callers;
  const kernels::TeamSize team(threads);
  state_ = std::make_unique<State>(std::move(engine), threads);
}

ExecutionContext::~ExecutionContext() = default;
ExecutionContext::ExecutionContext(ExecutionContext&&) noexcept = default;
ExecutionContext& ExecutionContext::operator=(ExecutionContext&&) noexcept = default;

const Engine& ExecutionContext::engine() const { return *state_->engine; }

std::vector<Shape> ExecutionContext::State::InputShapes() const {
  std::vector<Shape> shapes;
  for (const int input : graph().inputs) shapes.push_back(runner->shape(input));
  return shapes;
}

void ExecutionContext::State::SetInputShapes(const std::vector<Shape>& shapes) {
  Context::Current();  // sets the number of a thread that has not used Caffe before
  const kernels::TeamSize team(threads);
  runner->SetInputShapes(shapes);
}

void ExecutionContext::SetBatch(int batch) {
  const Graph& graph = state_->graph();
  const int most = BatchOf(graph);
  Require(batch == most || (batch > 0 && batch < most), "batch ", batch, ": engine '", graph.name,
          "' is built for 1 to ", most);
  std::vector<Shape> shapes = state_->InputShapes();
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Shape& built = graph.values[graph.inputs[i]].shape;
    if (!shapes[i].empty() && !built.empty() && built[0] == most) shapes[i][0] = batch;
  }
  state_->SetInputShapes(shapes);
}

int ExecutionContext::batch() const {
  const Graph& graph = state_->graph();
  if (graph.inputs.empty() || state_->runner->shape(graph.inputs[0]).empty()) return 0;
  return state_->runner->shape(graph.inputs[0])[0];
}

int ExecutionContext::threads() const { return state_->threads; }

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
  const Graph& graph = state_->graph();
  std::vector<Shape> all = state_->InputShapes();
  for (const auto& [name, shape] : shapes) {
    for (const int extent : shape) {
      Require(extent > 0, "input '", name, "': shape ", ShapeString(shape),
              " has an extent that is not positive");
    }
    const int value = Named(graph, graph.inputs, "input", name);
    const auto place = std::find(graph.inputs.begin(), graph.inputs.end(), value);
    all[place - graph.inputs.begin()] = shape;
  }
  state_->SetInputShapes(all);
}

float* ExecutionContext::Input(const std::string& name) {
  const Graph& graph = state_->graph();
  return state_->runner->data(Named(graph, graph.inputs, "input", name));
}

const Shape& ExecutionContext::InputShape(const std::string& name) const {
  const Graph& graph = state_->graph();
  return state_->runner->shape(Named(graph, graph.inputs, "input", name));
}

void ExecutionContext::SetProfiler(Profiler* profiler) { state_->profiler = profiler; }
void ExecutionContext::SetObserver(BlobObserver observer) {
  state_->observer = std::move(observer);
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

/// The nodes from this one on that the runner has nothing to do for: what they make is there when
/// what is before them has run.
void ExecutionContext::State::ObserveFreeNodes(int node) const {
  const int nodes = static_cast<int>(graph().nodes.size());
  for (; node < nodes && IsFree(graph(), graph().nodes[node]); ++node) Observe(node);
}

void ExecutionContext::State::Run() {
  Context::Current();
  const kernels::TeamSize team(threads);
  if (!profiler && !observer) return runner->Run(nullptr);
  if (observer) ObserveFreeNodes(0);
  runner->Run([this](int node, double milliseconds) {
    if (profiler) profiler->ReportLayerTime(graph().nodes[node].name(), milliseconds);
    if (!observer) return;
    Observe(node);
    ObserveFreeNodes(node + 1);
  });
}

void ExecutionContext::Run() { state_->Run(); }

void ExecutionContext::Enqueue(std::function<void(std::exception_ptr)> done) {
  Require(done != nullptr, "Enqueue: there is no function to call when the run is done");
  if (!state_->queue) state_->queue = std::make_unique<TaskQueue>();
  state_->queue->Add([state = state_.get(), done = std::move(done)] {
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
  const Graph& graph = state_->graph();
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
  state_->runner->Start(stream, inputs, outputs);
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
  const Graph& graph = state_->graph();
  return state_->runner->data(Named(graph, graph.outputs, "output", name));
}

const Shape& ExecutionContext::OutputShape(const std::string& name) const {
  const Graph& graph = state_->graph();
  return state_->runner->shape(Named(graph, graph.outputs, "output", name));
}

}  // namespace inference
}  // namespace caffe
