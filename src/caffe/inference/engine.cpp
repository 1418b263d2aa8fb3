#include "caffe/inference/engine.hpp"

#include "backends/reference/reference_runner.hpp"
#include "caffe/error.hpp"
#include "plan_file.hpp"

namespace caffe {
namespace inference {

Engine::Engine(Graph graph) : graph_(std::make_shared<const Graph>(std::move(graph))) {
  graph_->Validate();
}

std::shared_ptr<const Engine> Engine::Load(const std::string& file) {
  return std::make_shared<const Engine>(ReadPlan(file));
}

void Engine::Save(const std::string& file) const { WritePlan(*graph_, file); }

std::vector<std::string> Engine::Names(const std::vector<int>& values) const {
  std::vector<std::string> names;
  for (const int value : values) names.push_back(graph_->values[value].name);
  return names;
}

ExecutionContext::ExecutionContext(std::shared_ptr<const Engine> engine)
    : engine_(std::move(engine)), runner_(new ReferenceRunner(engine_->graph())) {}

ExecutionContext::~ExecutionContext() = default;
ExecutionContext::ExecutionContext(ExecutionContext&&) noexcept = default;
ExecutionContext& ExecutionContext::operator=(ExecutionContext&&) noexcept = default;

void ExecutionContext::SetBatch(int batch) { runner_->SetBatch(batch); }
int ExecutionContext::batch() const { return runner_->batch(); }

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

float* ExecutionContext::Input(const std::string& name) {
  const Graph& graph = *engine_->graph();
  return runner_->data(Named(graph, graph.inputs, "input", name));
}

const Shape& ExecutionContext::InputShape(const std::string& name) const {
  const Graph& graph = *engine_->graph();
  return runner_->shape(Named(graph, graph.inputs, "input", name));
}

void ExecutionContext::Run() { runner_->Run(); }

const float* ExecutionContext::Output(const std::string& name) {
  const Graph& graph = *engine_->graph();
  return runner_->data(Named(graph, graph.outputs, "output", name));
}

const Shape& ExecutionContext::OutputShape(const std::string& name) const {
  const Graph& graph = *engine_->graph();
  return runner_->shape(Named(graph, graph.outputs, "output", name));
}

}  // namespace inference
}  // namespace caffe
