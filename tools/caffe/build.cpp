#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "../common/candidates_text.hpp"
#include "build_report.hpp"
#include "caffe/inference/passes/passes.hpp"
#include "caffe/kernels/instruction_set.hpp"
#include "caffe/util/plot/graphviz.hpp"
#include "caffe/util/string_stream.hpp"
#include "caffe/util/text/text_table.hpp"
#include "commands.hpp"
#include "engine_flags.hpp"
#include "net_flags.hpp"

DECLARE_bool(verbose);

CAFFE_FLAG(bool, list_passes, false, "",
           "list all that a build does with the net, in order, and exit");
CAFFE_FLAG(string, dump_passes, "", "DIR",
           "write the graph before the first and after each pass: NN_pass.txt, NN_pass.dot and, "
           "where Graphviz is installed, a drawing NN_pass.svg");
CAFFE_FLAG(bool, normalize, false, "",
           "the plan takes pixels from 0 to 255 as they are: -mean and -scale, else those of the "
           "net's transform_param, become part of it, most often of the first layer's weights. "
           "Calibration on images and calibration tables are those of the net without it");

namespace caffe {
namespace {

/// Writes each graph that it sees into a folder.
class PassDump {
 public:
  /// Throws Error if the folder cannot be made.
  explicit PassDump(const std::string& folder) : folder_(folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    Require(!error, Error::Field{"-dump_passes"}, " ", folder, ": ", error.message());
  }

  void Add(const std::string& pass, const inference::Graph& graph) {
    StringWriter name;
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

void ListPasses() {
  TextTable table({"pass", "", "what becomes of the net"}, 3);
  for (const inference::Pass& pass : inference::Passes()) {
    table.Add({pass.name, pass.can_be_skipped ? "" : "*", pass.description});
  }
  table.Print(std::cout);
  std::cout << "* -skip_pass cannot leave it out\n";
}

/// True if convolutions in INT8 may be faster with -reduce_range.
bool MayGainByReducedRange(const inference::NetworkDefinition& net,
                           const inference::Engine& engine) {
  if (FLAGS_reduce_range || !FLAGS_gpu.empty() || net.quantization().training ||
      !kernels::HasSaturatingByteProducts()) {
    return false;
  }
  const auto& nodes = engine.graph()->nodes;
  return std::any_of(nodes.begin(), nodes.end(), [](const inference::Node& node) {
    return node.implementation == "int8" && node.layer.convolution_param().group() == 1;
  });
}

/// What to do with the plan.
std::string NextSteps(const inference::NetworkDefinition& net, const inference::Engine& engine) {
  const std::string plan = " -plan " + ShellQuoted(FLAGS_plan);
  const std::string images = FLAGS_images.empty() ? "FOLDER" : ShellQuoted(FLAGS_images);
  std::string steps = "next:\n  caffe infer" + plan + " IMAGE...\n  caffe compare -model " +
                      ShellQuoted(FLAGS_model) + " -weights " + ShellQuoted(FLAGS_weights) + plan +
                      " -images " + images + "\n  caffe time" + plan + "\n";
  if (MayGainByReducedRange(net, engine)) {
    steps +=
        "  build again with -reduce_range: it may be faster on this processor, at a small cost "
        "in accuracy\n";
  }
  return steps;
}

int Build() {
  if (FLAGS_list_passes) {
    ListPasses();
    return 0;
  }
  const NetParameter param = TestPhaseNet("build");
  Require(!FLAGS_weights.empty(), "build needs trained weights: -weights FILE");
  Require(!FLAGS_plan.empty(), "build needs a plan to write: -plan FILE");
  ChooseEngineDevice();
  const std::vector<std::string> weights = WeightFiles();
  RequireOtherFiles({{"-plan", FLAGS_plan}, {"-report", FLAGS_report}});
  RequireWritable(FLAGS_plan);
  CheckReportFlags();
  EngineMaker maker(param, weights, &std::cout, /*for_all=*/!FLAGS_report.empty(), FLAGS_normalize);
  const bool measures = IsGiven("max_accuracy_loss") || !FLAGS_report.empty();
  Require(
      !maker.config.calibration || FLAGS_calibration_table.empty() || measures || !DataIsGiven(),
      "give -calibration_table, or ", kInputFlags, " to calibrate on, not both");
  std::unique_ptr<PassDump> dump;
  if (!FLAGS_dump_passes.empty()) {
    dump = std::make_unique<PassDump>(FLAGS_dump_passes);
    maker.config.pass_observer = [&](const std::string& pass, const inference::Graph& graph) {
      dump->Add(pass, graph);
    };
  }
  if (FLAGS_verbose) {
    maker.config.on_candidates = [](const inference::LayerCandidates& candidates) {
      PrintCandidates(candidates, std::cout);
    };
  }
  const auto engine = maker.Build();
  maker.config.on_candidates = nullptr;
  const size_t activation_bytes = engine->activation_bytes();  // first: only what can run is saved
  engine->Save(FLAGS_plan);
  if (dump && !dump->draws()) {
    std::cout << "no drawings in " << FLAGS_dump_passes << ": Graphviz (dot) is not installed\n";
  }
  std::cout << "wrote " << FLAGS_plan << ": " << maker.net().graph().nodes.size()
            << " layers became " << engine->graph()->nodes.size() << ", "
            << BytesText(engine->weight_bytes()) << " of weights, " << BytesText(activation_bytes)
            << " of activations at batch " << engine->max_batch() << '\n';
  if (!FLAGS_report.empty()) WriteReport(&maker, param, weights, engine, FLAGS_plan);
  std::cout << NextSteps(maker.net(), *engine);
  return 0;
}

}  // namespace

Command BuildCommand() {
  Command command;
  command.name = "build";
  command.summary = "optimizes a trained net and writes it as a plan, which an engine runs";
  command.usage = {"-model FILE -weights FILE[,FILE] -plan FILE [flags]", "-list_passes"};
  command.about =
      "The net is built in its TEST phase. Data layers become inputs; a loss layer becomes the "
      "layer\n"
      "whose predictions it trains: SoftmaxWithLoss becomes Softmax.\n";
  FlagGroup input = InputFlags();
  input.notes = kOwnDataUsage;
  command.groups = {{"net and plan",
                     "",
                     {{"model", "the net definition (deploy.prototxt)"},
                      "weights",
                      {"plan", "the plan to write"}},
                     ""}};
  for (const FlagGroup& group : EngineFlags()) command.groups.push_back(group);
  command.groups[1].flags.push_back("max_accuracy_loss");
  command.groups.push_back(input);
  command.groups.push_back(
      {"what the plan knows of its images",
       "",
       {{"labels", "names of classes, one a line, or a LabelMap (.prototxt)"}, "normalize"},
       "-mean, -scale, -resize, -channel_order and -constant are stored too, and apply wherever "
       "the\n"
       "plan is used.\n"});
  command.groups.push_back({"what the optimizer does",
                            "",
                            {"list_passes", "dump_passes"},
                            "  -verbose              shows what could compute each layer, with "
                            "times, and why\n"
                            "                        the rest could not\n"});
  command.groups.push_back(ReportFlags());
  command.examples =
      "  caffe build -model deploy.prototxt -weights net.caffemodel -plan net.plan -precision int8 "
      "\\\n"
      "    -images images/ -mean 104,117,123 -layer_precision conv1=fp32 -timing_cache here.times\n"
      "  caffe inspect -plan net.plan\n"
      "  caffe infer -plan net.plan -labels synset.txt cat.jpg\n";
  command.quiet = true;
  command.run = [](const std::vector<std::string>&) { return Build(); };
  return command;
}

}  // namespace caffe
