#ifndef CAFFE_TOOLS_BUILD_PLAN_HPP_
#define CAFFE_TOOLS_BUILD_PLAN_HPP_

#include <gflags/gflags.h>

#include <filesystem>
#include <iomanip>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "build_report.hpp"
#include "caffe/util/graphviz.hpp"
#include "engine_flags.hpp"

DEFINE_bool(list_passes, false, "build: list what the optimizer does, in order.");
DEFINE_string(dump_passes, "",
              "build: a folder for the graph before the first and after each pass, as text and as "
              "a picture.");

DEFINE_bool(normalize, false, "build: -mean and -scale become part of the plan.");

DECLARE_string(plan);

namespace caffe {

inline const std::string kBuildUsage =
    std::string(
        R"(caffe build: optimizes a trained net and writes it as a plan, which an engine runs.

usage: caffe build -model FILE -weights FILE[,FILE] -plan FILE [flags]
       caffe build -list_passes

The net is taken in its TEST phase. Data layers become inputs, losses what they were trained for.

  -model FILE           the net definition (deploy.prototxt)
  -weights FILE[,FILE]  trained weights, .caffemodel or .caffemodel.h5
  -plan FILE            the plan to write
)") +
    kEngineFlagsUsage +
    R"(
  -max_accuracy_loss X  with -precision best: layers are widened until what is lost on the data
                        (below) is at most X: the share of pictures that are no longer recognised
                        (0.003 is 0.3 %), where they have labels; else the outputs' error, relative
                        to their values

)" + kInputUsage +
    kOwnDataUsage + R"(
mean and scale in the plan:
  -normalize            the plan takes pixels from 0 to 255 as they are: -mean and -scale, else
                        those of the net's transform_param, become part of it, most often of the
                        first layer's weights. Calibration on pictures and calibration tables are
                        those of the net without it; then run the plan without -mean and -scale

what the optimizer does:
  -list_passes          list it, in order, and exit
  -dump_passes DIR      write the graph before the first and after each pass: NN_pass.txt,
                        NN_pass.dot and, where Graphviz is installed, a picture NN_pass.svg
)" + kReportUsage +
    R"(
example:
  caffe build -model deploy.prototxt -weights net.caffemodel -plan net.plan -precision int8 \
    -images pictures.txt -mean 104,117,123 -layer_precision conv1=fp32 -timing_cache here.times
  caffe inspect -plan net.plan
  caffe infer -plan net.plan -mean 104,117,123 -labels synset.txt cat.jpg
)";

namespace build_plan {

/// Throws Error if the plan to be written is a file that is read.
inline void RequireOther(const std::string& plan, const std::string& read) {
  std::error_code none;
  Require(!std::filesystem::equivalent(plan, read, none), "-plan: ", plan,
          " is what the net is read from: give another name");
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
    if (draws_) draws_ = RunGraphviz("svg", name.str() + ".dot", name.str() + ".svg");
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

}  // namespace build_plan

/// The command build. `param` is the net of `model` with the state that the command line gives.
inline int BuildPlan(const NetParameter& param, const std::string& model,
                     const std::vector<std::string>& weights) {
  using namespace build_plan;
  for (const std::string& read : weights) RequireOther(FLAGS_plan, read);
  RequireOther(FLAGS_plan, model);
  RequireWritable(FLAGS_plan);
  RequireWritable(FLAGS_report);
  Require(FLAGS_report_seconds > 0, "-report_seconds must be positive, got ", FLAGS_report_seconds);
  EngineMaker maker(param, model, weights, &std::cout, /*for_all=*/!FLAGS_report.empty(),
                    FLAGS_normalize);
  const bool measures = IsGiven("max_accuracy_loss") || !FLAGS_report.empty();
  Require(!maker.config.calibration || FLAGS_calibration_table.empty() || measures ||
              !engine_flags::DataIsGiven(),
          "give -calibration_table, or ", kInputFlags, " to calibrate on, not both");
  std::unique_ptr<PassDump> dump;
  if (!FLAGS_dump_passes.empty()) {
    dump = std::make_unique<PassDump>(FLAGS_dump_passes);
    maker.config.pass_observer = [&](const std::string& pass, const inference::Graph& graph) {
      dump->Add(pass, graph);
    };
  }
  const auto engine = maker.Build();
  engine->Save(FLAGS_plan);
  if (dump && !dump->draws()) {
    std::cout << "no pictures in " << FLAGS_dump_passes << ": Graphviz (dot) is not installed\n";
  }
  std::cout << "wrote " << FLAGS_plan << ": " << maker.net().graph().nodes.size()
            << " layers became " << engine->graph()->nodes.size() << ", "
            << BytesText(engine->weight_bytes()) << " of weights, "
            << BytesText(engine->activation_bytes()) << " of activations at batch "
            << engine->max_batch() << '\n';
  if (!FLAGS_report.empty()) WriteReport(&maker, param, model, weights, engine, FLAGS_plan);
  return 0;
}

}  // namespace caffe

#endif  // CAFFE_TOOLS_BUILD_PLAN_HPP_
