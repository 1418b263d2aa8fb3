#ifndef CAFFE_TOOLS_BUILD_PLAN_HPP_
#define CAFFE_TOOLS_BUILD_PLAN_HPP_

#include <gflags/gflags.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <iomanip>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "caffe/inference/builder.hpp"
#include "caffe/io/atomic_file.hpp"

DEFINE_string(plan, "", "build: the plan to write; inspect: the plan to read.");
DEFINE_int32(max_batch, 0, "build: the largest batch that the engine runs; 0: the prototxt's.");
DEFINE_bool(list_passes, false, "build: list what the optimizer does, in order.");
DEFINE_string(skip_pass, "", "build: names of passes to leave out, separated by ','.");
DEFINE_string(dump_passes, "",
              "build: a folder for the graph before the first and after each pass, as text and as "
              "a picture.");

namespace caffe {

const char kBuildUsage[] =
    R"(caffe build: optimizes a trained net and writes it as a plan, which an engine runs.

usage: caffe build -model FILE -weights FILE[,FILE] -plan FILE [flags]
       caffe build -list_passes
       caffe inspect -plan FILE

The net is taken in its TEST phase. Data layers become inputs, losses what they were trained for.

flags:
  -model FILE           the net definition (deploy.prototxt)
  -weights FILE[,FILE]  trained weights, .caffemodel or .caffemodel.h5
  -plan FILE            the plan to write (build) or to show (inspect)
  -max_batch N          the largest batch that the engine runs (default: the batch in the prototxt)
  -level N, -stage A,B  the net's state, for include and exclude rules
  -list_passes          list what the optimizer does, in order, and exit
  -skip_pass A,B        leave out these passes
  -dump_passes DIR      write the graph before the first and after each pass: NN_pass.txt, NN_pass.dot
                        and, where Graphviz is installed, a picture NN_pass.svg

example:
  caffe build -model deploy.prototxt -weights lenet.caffemodel -plan lenet.plan -max_batch 8 \
    -dump_passes passes
  caffe inspect -plan lenet.plan
)";

namespace build_plan {

inline void WriteText(const std::string& text, const std::string& file) {
  AtomicFile out(file);
  out.Write(text.data(), text.size());
  out.Commit();
}

/// Throws Error if the plan to be written is a file that is read.
inline void RequireOther(const std::string& plan, const std::string& read) {
  std::error_code none;
  Require(!std::filesystem::equivalent(plan, read, none), "-plan: ", plan,
          " is what the net is read from: give another name");
}

/// Runs Graphviz on NAME.dot; false if it is not installed or failed.
inline bool Draw(const std::string& name) {
  const std::string output = name + ".svg", input = name + ".dot";
  const char* arguments[] = {"dot", "-Tsvg", "-o", output.c_str(), input.c_str(), nullptr};
  pid_t process;
  if (posix_spawnp(&process, "dot", nullptr, nullptr, const_cast<char**>(arguments), environ) !=
      0) {
    return false;
  }
  int status = 0;
  return waitpid(process, &status, 0) == process && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Writes each graph that it sees into a folder.
class PassDump {
 public:
  /// Throws Error if the folder cannot be made.
  explicit PassDump(const std::string& folder) : folder_(folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    Require(!error, "-dump_passes ", folder, ": ", error.message());
  }

  void Add(const std::string& pass, const inference::Graph& graph) {
    std::ostringstream name;
    name << folder_ << "/" << std::setw(2) << std::setfill('0') << count_++ << "_"
         << (pass.empty() ? "parsed" : pass);
    WriteText(inference::ToText(graph), name.str() + ".txt");
    WriteText(inference::ToDot(graph), name.str() + ".dot");
    if (draws_) draws_ = Draw(name.str());
  }
  bool draws() const { return draws_; }

 private:
  const std::string folder_;
  int count_ = 0;
  bool draws_ = true;
};

inline void ListPasses() {
  size_t width = 0;
  for (const inference::Pass& pass : inference::Passes()) {
    width = std::max(width, std::string(pass.name).size());
  }
  for (const inference::Pass& pass : inference::Passes()) {
    std::cout << std::left << std::setw(static_cast<int>(width) + 2) << pass.name
              << pass.description << '\n';
  }
}

inline void Describe(const inference::Engine& engine) {
  const inference::Graph& graph = *engine.graph();
  size_t weights = 0;
  for (const inference::Node& node : graph.nodes) {
    for (const inference::Constant& parameter : node.parameters) {
      weights += parameter.count() * SizeOf(parameter.type);
    }
  }
  std::cout << "engine '" << engine.name() << "': largest batch " << engine.max_batch() << ", "
            << weights << " bytes of weights\n"
            << inference::ToText(graph);
}

}  // namespace build_plan

/// The command build. `param` is the net of `model` with the state that the command line gives.
inline int BuildPlan(const NetParameter& param, const std::string& model,
                     const std::vector<std::string>& weights,
                     const std::vector<std::string>& skipped) {
  using namespace build_plan;
  for (const std::string& read : weights) RequireOther(FLAGS_plan, read);
  RequireOther(FLAGS_plan, model);
  { AtomicFile probe(FLAGS_plan); }  // an Error before the work, not after it
  inference::BuilderConfig config;
  config.max_batch = FLAGS_max_batch;
  config.skip_passes = skipped;
  std::unique_ptr<PassDump> dump;
  if (!FLAGS_dump_passes.empty()) {
    dump = std::make_unique<PassDump>(FLAGS_dump_passes);
    config.pass_observer = [&](const std::string& pass, const inference::Graph& graph) {
      dump->Add(pass, graph);
    };
  }
  const auto net = inference::NetworkDefinition::FromCaffe(param, weights);
  const auto engine = inference::Builder(config).Build(net);
  engine->Save(FLAGS_plan);
  if (dump && !dump->draws()) {
    std::cout << "no pictures in " << FLAGS_dump_passes << ": Graphviz (dot) is not installed\n";
  }
  std::cout << "wrote " << FLAGS_plan << ": " << net.graph().nodes.size() << " layers became "
            << engine->graph()->nodes.size() << ", " << engine->graph()->arena_bytes
            << " bytes of activations at batch " << engine->max_batch() << '\n';
  return 0;
}

/// The command inspect.
inline int InspectPlan() {
  build_plan::Describe(*inference::Engine::Load(FLAGS_plan));
  return 0;
}

}  // namespace caffe

#endif  // CAFFE_TOOLS_BUILD_PLAN_HPP_
