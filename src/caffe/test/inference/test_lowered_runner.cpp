// What LoweredRunner hands to steps, on a target of the test whose only kernel adds 1.
#include "caffe/inference/backends/lowered_runner.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "caffe/error.hpp"
#include "caffe/kernels/ceil_div.hpp"

namespace caffe::inference {
namespace {

/// What steps have seen, and shall not see.
struct Log {
  int steps = 0;
  std::vector<const void*> places;  // of all operands
  const void* refused = nullptr;    // as the place of an output
};

class AddOne : public Step {
 public:
  explicit AddOne(Log* log) : log_(log) { ++log_->steps; }
  bool takes_strides() const override { return true; }
  void Bind(const Binding& binding) override {
    x_ = binding.inputs[0];
    y_ = binding.outputs[0];
    Require(!log_->refused || y_.data != log_->refused, "not there");
    log_->places.insert(log_->places.end(), {x_.data, y_.data});
  }
  void Run(void*) override {
    for (size_t i = 0; i < x_.images; ++i) {
      for (size_t e = 0; e < x_.image; ++e) {
        y_.as<float>()[i * y_.stride + e] = x_.as<float>()[i * x_.stride + e] + 1;
      }
    }
  }

 private:
  Log* const log_;
  Operand x_, y_;
};

class AddOneImpl : public Implementation {
 public:
  explicit AddOneImpl(Log* log) : log_(log) {}
  const char* name() const override { return "add_one"; }
  std::vector<Candidate> Candidates(const LoweringContext&, const Node&) const override {
    return {};
  }
  std::vector<Constant> Pack(const Graph&, const Node&) const override { return {}; }
  std::unique_ptr<Step> Make(const Graph&, const Node&) const override {
    return std::make_unique<AddOne>(log_);
  }

 private:
  Log* const log_;
};

class AddingTarget : public Target {
 public:
  AddingTarget(size_t alignment, Log* log)
      : alignment_(alignment), family_(log), all_({&family_}) {}
  const char* name() const override { return "adding"; }
  const std::vector<const Implementation*>& implementations() const override { return all_; }
  const Implementation& reorder() const override { return family_; }
  const Implementation& any_layer() const override { return family_; }
  const std::vector<Layout::Kind>& layouts() const override {
    static const std::vector<Layout::Kind> all = {Layout::CHANNELS_BLOCKED};
    return all;
  }
  int block(ElementType) const override { return 8; }
  size_t alignment() const override { return alignment_; }
  bool takes_unsigned() const override { return true; }
  bool fuses_integer_sums() const override { return false; }
  std::string TimingKey() const override { return "adding"; }
  double Measure(const Graph&, const Node&, int, size_t) const override { return 0; }
  double RelativeTime(const Candidate&) const override { return 1; }

 private:
  const size_t alignment_;
  const AddOneImpl family_;
  const std::vector<const Implementation*> all_;
};

class Memory : public TargetMemory {
 public:
  std::shared_ptr<void> Allocate(size_t bytes) override {
    return {std::aligned_alloc(64, kernels::RoundUp(bytes, 64)), std::free};
  }
  const void* PlaceOf(const std::shared_ptr<const void>& constant) override {
    return constant.get();
  }
  void CopyRows(size_t rows, size_t bytes, const void* from, size_t from_stride, void* to,
                size_t to_stride) override {
    for (size_t i = 0; i < rows; ++i) {
      std::memcpy(static_cast<char*>(to) + i * to_stride,
                  static_cast<const char*>(from) + i * from_stride, bytes);
    }
  }
  void Read(const void* from, size_t bytes, void* to) override { std::memcpy(to, from, bytes); }
};

class AddingRunner : public LoweredRunner {
 public:
  AddingRunner(const Graph& graph, const Target& target)
      : LoweredRunner(std::make_shared<const Graph>(graph), target, std::make_unique<Memory>()) {}
  using LoweredRunner::Moves;
  using LoweredRunner::RenewSteps;
  using LoweredRunner::SetPlace;
  float* data(int value) override { return static_cast<float*>(place(value)); }
};

void Add(const std::string& type, const std::vector<int>& inputs, int output, Graph* graph) {
  Node node;
  node.layer.set_type(type);
  node.layer.set_name("node" + std::to_string(graph->nodes.size()));
  node.inputs = inputs;
  node.outputs = {output};
  node.implementation = "add_one";
  graph->nodes.push_back(node);
}

/// y = join(x + 1, x + 1) + 1, where the parts lie in the whole: the second 980 bytes behind the
/// first.
Graph Joined() {
  Graph graph;
  const int x = graph.AddValue("x", {2, 5, 7, 7});
  const int a = graph.AddValue("a", {2, 5, 7, 7}), b = graph.AddValue("b", {2, 5, 7, 7});
  const int join = graph.AddValue("join", {2, 10, 7, 7}), y = graph.AddValue("y", {2, 10, 7, 7});
  graph.inputs = {x};
  graph.outputs = {y};
  graph.values[a].view = {join, 1, 0};
  graph.values[b].view = {join, 1, 5};
  Add("ReLU", {x}, a, &graph);
  Add("ReLU", {x}, b, &graph);
  Add("Concat", {a, b}, join, &graph);
  Add("ReLU", {join}, y, &graph);
  graph.Validate();
  return graph;
}

/// Runs that graph; the places at no multiple of 16 bytes that its steps were given.
int UnalignedPlaces(size_t alignment) {
  Log log;
  const AddingTarget target(alignment, &log);
  const Graph graph = Joined();
  AddingRunner runner(graph, target);
  float* const x = runner.data(graph.inputs[0]);
  std::iota(x, x + 490, 0.f);
  runner.Run(nullptr);
  const float* const y = runner.data(graph.outputs[0]);
  for (int n = 0; n < 2; ++n) {
    for (int i = 0; i < 490; ++i) {
      EXPECT_EQ(y[n * 490 + i], x[n * 245 + i % 245] + 2) << "image " << n << ", element " << i;
    }
  }
  int unaligned = 0;
  for (const void* place : log.places) unaligned += reinterpret_cast<uintptr_t>(place) % 16 != 0;
  return unaligned;
}

TEST(LoweredRunner, OperandsLieWhereTheTargetsKernelsCanBegin) {
  EXPECT_EQ(UnalignedPlaces(16), 0);
  EXPECT_EQ(UnalignedPlaces(1), 1) << "the second part, which no step copies";
}

/// y = x + 1 of 16 numbers.
struct Increment {
  Increment() : target(16, &log) {
    Graph made;
    const int x = made.AddValue("x", {1, 16}), y = made.AddValue("y", {1, 16});
    made.inputs = {x};
    made.outputs = {y};
    Add("ReLU", {x}, y, &made);
    runner = std::make_unique<AddingRunner>(made, target);
    std::iota(runner->data(x), runner->data(x) + 16, 0.f);
  }
  static constexpr int kOutput = 1;
  static std::vector<float> expected() {
    std::vector<float> values(16);
    std::iota(values.begin(), values.end(), 1.f);
    return values;
  }

  Log log;
  const AddingTarget target;
  std::unique_ptr<AddingRunner> runner;
};

TEST(LoweredRunner, APlaceThatIsRefusedLeavesTheOldOne) {
  Increment net;
  alignas(64) float first[16] = {}, second[16] = {};
  net.runner->SetPlace(Increment::kOutput, first);
  net.log.refused = second;
  EXPECT_THROW(net.runner->SetPlace(Increment::kOutput, second), Error);
  EXPECT_FALSE(net.runner->Moves(Increment::kOutput, first));
  EXPECT_TRUE(net.runner->Moves(Increment::kOutput, second));
  net.runner->Run(nullptr);
  EXPECT_EQ(std::vector<float>(first, first + 16), Increment::expected());
  EXPECT_EQ(std::vector<float>(second, second + 16), std::vector<float>(16, 0));
}

TEST(LoweredRunner, NewStepsComputeInTheSamePlaces) {
  Increment net;
  alignas(64) float place[16] = {};
  net.runner->SetPlace(Increment::kOutput, place);
  net.runner->RenewSteps();
  EXPECT_EQ(net.log.steps, 2);
  net.runner->Run(nullptr);
  EXPECT_EQ(std::vector<float>(place, place + 16), Increment::expected());
}

}  // namespace
}  // namespace caffe::inference
