#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "caffe/fp16/net_agreement.hpp"
#include "caffe/fp16/range_inspector.hpp"
#include "caffe/fp16/range_report.hpp"
#include "caffe/fp16/range_rewriting.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/text/progress.hpp"
#include "commands.hpp"
#include "input_flags.hpp"
#include "net_flags.hpp"

CAFFE_FLAG(double, headroom, 4, "H", "how many times larger than seen values may become");
CAFFE_FLAG(double, max_subnormal, 0.05, "S",
           "the share of a blob's values that may become subnormal so that weights need not");
CAFFE_FLAG(string, fix, "", "OUT.prototxt OUT.caffemodel",
           "writes a net that computes the same and stays in FP16's range: powers of two go into "
           "the weights, layers that cannot take them stay FLOAT. Then runs both nets and prints "
           "how far they are apart. Status 2 if FP16 still overflows");

namespace caffe {
namespace {

void PrintAgreement(const char* type, const NetAgreement& agreement, std::ostream& out) {
  for (const OutputAgreement& output : agreement.outputs()) {
    out << "output '" << output.blob << "' in " << type << ": ";
    if (output.other_shapes > 0) {
      out << "of another shape (other detections) in " << output.other_shapes << " batch(es)";
    } else {
      out << "differs by at most " << output.difference << ", " << output.relative()
          << " of the largest value, " << output.largest;
    }
    out << '\n';
  }
}

/// The rewritten net in FLOAT and in FLOAT16, compared with the one it comes from. Throws Error if
/// it does not compute the same in FLOAT. Returns false if FLOAT16 overflows.
bool Verify(const RangeRewriting& rewriting, Net<float>* net, InputBatches* batches, int count,
            std::ostream& out) {
  const NetParameter weights = rewriting.Weights();
  NetParameter plain = rewriting.net();
  ClearTypes(&plain);
  NetParameter half = rewriting.net();
  for (NetParameter* param : {&plain, &half}) param->mutable_state()->set_phase(TEST);
  Net<float> in_float(plain), in_half(half);
  in_float.CopyTrainedLayersFrom(weights);
  in_half.CopyTrainedLayersFrom(weights);
  NetAgreement float_agreement(net, &in_float), half_agreement(net, &in_half);
  for (int i = 0; i < count; ++i) {
    for (Net<float>* each : {net, &in_float, &in_half}) batches->Feed(i, each);
    float_agreement.Add();
    half_agreement.Add();
  }
  PrintAgreement("FLOAT", float_agreement, out);
  PrintAgreement("FLOAT16", half_agreement, out);
  Require(float_agreement.relative() <= 1e-6 && float_agreement.not_finite() == 0,
          "the rewritten net does not compute the same in FLOAT: nothing was written");
  if (half_agreement.not_finite() == 0) return true;
  out << "in FLOAT16 " << half_agreement.not_finite() << " values are infinite or NaN still, from "
      << "layer '" << half_agreement.first_not_finite() << "' on\n";
  return false;
}

/// Throws Error for flags that are out of range or files that cannot be written. `rest` is what is
/// left of the command line: the second file of -fix.
void RequireFlagsAndFiles(const std::vector<std::string>& rest) {
  const bool fix = !FLAGS_fix.empty();
  Require(!fix || rest.size() == 1, Error::Field{"-fix"},
          " takes two files, the net's and the weights': -fix OUT.prototxt OUT.caffemodel");
  Require(fix || rest.empty(), "'", rest.empty() ? "" : rest[0],
          "' is not expected; -json writes to standard output: caffe check_fp16 ... -json > FILE");
  Require(FLAGS_headroom >= 1, Error::Field{"-headroom"}, " must be 1 or more, got ",
          FLAGS_headroom);
  Require(FLAGS_max_subnormal >= 0 && FLAGS_max_subnormal <= 1, Error::Field{"-max_subnormal"},
          " must be a share between 0 and 1, got ", FLAGS_max_subnormal);
  RequireOtherFiles(
      {{"-plot", FLAGS_plot}, {"-fix", FLAGS_fix}, {"-fix", fix ? rest[0] : std::string()}},
      FilesRead());
  for (const std::string& file : {FLAGS_plot, FLAGS_fix, fix ? rest[0] : std::string()}) {
    RequireWritable(file);
  }
}

std::unique_ptr<InputBatches> BatchesToCheck(const Net<float>& net, const NetParameter& param) {
  Require(FLAGS_random >= 0, Error::Field{"-random"}, " must be positive, got ", FLAGS_random);
  Require(FLAGS_random == 0 || (FLAGS_images.empty() && FLAGS_data.empty() && FLAGS_npy.empty()),
          "give one of ", kInputFlags, " and -random");
  return FLAGS_random > 0
             ? InputBatches::Random(FLAGS_random, 1, Preprocessing(param))
             : Inputs(net, param, FLAGS_iterations, ", or -random N for N batches of noise");
}

void SeeRanges(Net<float>* net, InputBatches* batches, RangeInspector* inspector) {
  Progress progress("batch", batches->batches(*net));
  while (
      (FLAGS_images.empty() || !IsGiven("iterations") || inspector->batches() < FLAGS_iterations) &&
      batches->Feed(inspector->batches(), net)) {
    inspector->Forward();
    progress.Update(inspector->batches());
  }
  progress.Clear();
}

/// Writes a net that stays in range to the files of -fix. Returns false if it does not quite.
bool Fix(const RangeInspector& inspector, const NetParameter& param, const std::string& model,
         Net<float>* net, InputBatches* batches) {
  RangeRewritingOptions options;
  options.headroom = FLAGS_headroom;
  options.max_subnormal = FLAGS_max_subnormal;
  const RangeRewriting rewriting(inspector, param, options);
  if (FLAGS_json) {
    std::cout << RangesAsJson(inspector, &rewriting);
  } else {
    std::cout << '\n';
    PrintRewriting(rewriting, std::cout);
  }
  std::ostream& log = FLAGS_json ? std::cerr : std::cout;
  bool fits = Verify(rewriting, net, batches, inspector.batches(), log);
  if (PrintLostDigits(rewriting, options.max_subnormal, log)) fits = false;
  WriteProtoToTextFile(rewriting.net(), FLAGS_fix);
  rewriting.WriteModel(model);
  log << "wrote " << FLAGS_fix << " and " << model << '\n';
  return fits;
}

int CheckFp16(const std::vector<std::string>& rest) {
  NetParameter param = TestPhaseNet("check_fp16");
  Require(!FLAGS_weights.empty(), "check_fp16 needs trained weights: -weights FILE");
  RequireIterations();
  ChooseDevice();
  const std::vector<std::string> weights = WeightFiles();
  RequireFlagsAndFiles(rest);
  ClearTypes(&param);
  Net<float> net(param);
  for (const std::string& file : weights) net.CopyTrainedLayersFrom(file);
  const std::unique_ptr<InputBatches> batches = BatchesToCheck(net, param);
  RangeInspector inspector(&net);
  SeeRanges(&net, batches.get(), &inspector);
  if (!FLAGS_plot.empty()) {
    WriteText(
        RangesAsSvg(inspector, Join(FLAGS_model, ": |x| of ", inspector.batches(), " batch(es)")),
        FLAGS_plot);
  }
  if (!FLAGS_json) PrintRanges(inspector, std::cout);
  if (!FLAGS_fix.empty()) return Fix(inspector, param, rest[0], &net, batches.get()) ? 0 : 2;
  if (FLAGS_json) std::cout << RangesAsJson(inspector);
  return 0;
}

}  // namespace

Command CheckFp16Command() {
  Command command;
  command.name = "check_fp16";
  command.summary = "finds the values of a net that FP16 cannot hold, and a remedy";
  command.usage = {
      "-model FILE -weights FILE (-images LIST | -data DB | -npy FILE | -random N)\n"
      "                        [flags]"};
  command.about =
      "The net is run in FLOAT, in the TEST phase. A row for each blob says how large and how "
      "small its\n"
      "values are and which share FP16 cannot hold: above 65504 it has only infinity, below "
      "6.1e-5\n"
      "values lose digits (subnormal), below 3e-8 they become 0. Rows marked '!' overflow; below "
      "the\n"
      "table:\n"
      "  region: from layer A to layer B   values are too large from A's result to what B reads\n"
      "  inside layer A                    what a sum inside the layer reaches (in an arithmetic "
      "that\n"
      "                                    adds up in half; this program adds up in float)\n";
  FlagGroup input = InputFlags();
  input.flags.push_back({"random",
                         "N batches of noise between 0 and 255, if you have no images: ranges are "
                         "then a guess"});
  input.flags.push_back(
      {"iterations", "at most N batches of a database or of the net's own data (default 50)"});
  input.notes = kOwnDataUsage;
  command.groups = {{"net", "", {"model", "weights", "level", "stage"}, ""},
                    input,
                    {"output", "", {"json", "plot", "fix", "headroom", "max_subnormal"}, ""}};
  command.examples =
      "  caffe check_fp16 -model deploy.prototxt -weights net.caffemodel -images faces.txt \\\n"
      "    -mean 104,117,123 -plot ranges.svg -fix fp16.prototxt fp16.caffemodel\n"
      "  caffe time -phase TEST -model fp16.prototxt -weights fp16.caffemodel\n";
  command.takes_files = true;
  command.quiet = true;
  command.run = CheckFp16;
  return command;
}

}  // namespace caffe
