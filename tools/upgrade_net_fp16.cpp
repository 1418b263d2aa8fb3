// Turns a net's prototxt and weights into half precision, or back. See
// caffe/io/precision_migration.hpp for what changes.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "caffe/io/precision_migration.hpp"
#include "caffe/net.hpp"
#include "caffe/net/net_comparison.hpp"
#include "caffe/util/text/text_table.hpp"
#include "common/command.hpp"
#include "common/command_line.hpp"

CAFFE_FLAG(string, input, "", "FILE", "the net definition that the weights belong to");
CAFFE_FLAG(string, model, "", "FILE", "the weights: a .caffemodel of any age, or .h5");
CAFFE_FLAG(string, output, "", "FILE", "the .caffemodel to write");
CAFFE_FLAG(string, prototxt, "", "FILE",
           "the prototxt to write (default: -output's name, with .prototxt)");
CAFFE_FLAG(string, to, "fp16", "fp16|fp32",
           "fp16: NVCaffe's half precision (default); fp32: what BVLC Caffe reads");
CAFFE_FLAG(string, math, "FLOAT16", "FLOAT16|BFLOAT16|FLOAT",
           "the default_*_math types in the prototxt");
CAFFE_FLAG(
    bool, strict, false, "",
    "write nothing and exit with 2 if values overflow, with -clamp too, or if weights are NaN "
    "or infinite");
CAFFE_FLAG(bool, clamp, false, "", "values that overflow become the largest number, not infinity");
CAFFE_FLAG(string, batch_norm, "keep", "keep|bvlc|nvcaffe",
           "keep (default); bvlc: 3 blobs and a Scale layer; nvcaffe: 5 blobs");
CAFFE_FLAG(string, inputs, "", "FILE[,FILE]",
           "inputs for the comparison, .npy files in the order of the net's inputs");
CAFFE_FLAG(int32, seed, 1, "N",
           "of the random inputs that are used otherwise: -1 to 1, or indices");
CAFFE_FLAG(bool, skip_check, false, "",
           "do not run the nets, so neither their fit nor their outputs are checked");

namespace {

using caffe::AtomicFile;
using caffe::ElementType;
using caffe::Net;
using caffe::Require;
using caffe::SplitAtCommas;
using std::string;
using std::vector;

string PrototxtToWrite() {
  if (!FLAGS_prototxt.empty()) return FLAGS_prototxt;
  return std::filesystem::path(FLAGS_output).replace_extension(".prototxt").string();
}

bool IsSameFile(const string& a, const string& b) {
  std::error_code error;
  return std::filesystem::weakly_canonical(a, error) == std::filesystem::weakly_canonical(b, error);
}

void RequireApart(const string& flag, const string& written, const vector<string>& others) {
  for (const string& other : others) {
    Require(!IsSameFile(written, other), flag, " ", written, " would replace ", other,
            "; name another file");
  }
}

/// The files that are read; none of them is written over.
vector<string> FilesToRead() {
  vector<string> files = SplitAtCommas(FLAGS_inputs);
  files.insert(files.end(), {FLAGS_input, FLAGS_model});
  return files;
}

void CheckFlags(const vector<string>& arguments) {
  Require(arguments.empty(), "unexpected argument '", arguments.empty() ? "" : arguments[0],
          "'; --help shows the flags");
  Require(!FLAGS_input.empty(), "a net definition is needed: -input NET.prototxt");
  Require(!FLAGS_model.empty(), "trained weights are needed: -model WEIGHTS.caffemodel");
  Require(!FLAGS_output.empty(), "a file to write is needed: -output NEW.caffemodel");
  const string extension = std::filesystem::path(FLAGS_output).extension();
  Require(extension != ".h5", caffe::Error::Field{"-output"}, " ", FLAGS_output,
          ": HDF5 files hold no half precision; name a .caffemodel");
  RequireApart("-output", FLAGS_output, FilesToRead());
  RequireApart("-prototxt", PrototxtToWrite(), FilesToRead());
  RequireApart("-prototxt", PrototxtToWrite(), {FLAGS_output});
}

/// The net with its weights. One that cannot be made here (custom layers, data that is elsewhere)
/// is nullptr, and `why_not` says why; weights that do not fit are an Error.
std::unique_ptr<Net<float>> LoadNet(const string& prototxt, const string& model, string* why_not) {
  std::unique_ptr<Net<float>> net;
  try {
    net.reset(new Net<float>(prototxt, caffe::TEST));
  } catch (const std::exception& error) {
    *why_not = error.what();
    return nullptr;
  }
  net->CopyTrainedLayersFrom(model);
  return net;
}

void PrintSizes() {
  const auto before = std::filesystem::file_size(FLAGS_model);
  const auto after = std::filesystem::file_size(FLAGS_output);
  std::cout << FLAGS_output << ": " << after << " bytes, "
            << caffe::Formatted("%.3f", static_cast<double>(after) / before) << " of "
            << FLAGS_model << " (" << before << " bytes)\n"
            << PrototxtToWrite() << ": the net definition" << std::endl;
}

/// Gives the old net its inputs; files that are none are an Error.
void FillOld(Net<float>* net) {
  if (FLAGS_inputs.empty()) {
    caffe::FillInputs(static_cast<uint32_t>(FLAGS_seed), net);
  } else {
    caffe::FillInputs(SplitAtCommas(FLAGS_inputs), net);
  }
}

/// Runs the old net; "" if that worked, else why not (data that is missing, inputs that are no
/// numbers between -1 and 1).
string RunOld(Net<float>* net) {
  try {
    net->Forward();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

void RunBoth(Net<float>* old_net) {
  string why_not = RunOld(old_net);
  if (!why_not.empty()) {
    std::cout << "The nets were not run: " << why_not << std::endl;
    return;
  }
  const std::unique_ptr<Net<float>> new_net = LoadNet(PrototxtToWrite(), FLAGS_output, &why_not);
  Require(new_net != nullptr, why_not);
  for (const caffe::OutputDifference& output : caffe::CompareNets(old_net, new_net.get())) {
    std::cout << caffe::Described(output) << std::endl;
  }
}

int Migrate(const vector<string>& arguments) {
  FLAGS_minloglevel = std::max(FLAGS_minloglevel, 1);  // two nets' set-up is no news
  caffe::MigrationOptions options;
  options.to = caffe::PrecisionNamed("-to", FLAGS_to);
  options.math = caffe::MathNamed("-math", FLAGS_math);
  options.batch_norm = caffe::BatchNormFormNamed("-batch_norm", FLAGS_batch_norm);
  options.clamp = FLAGS_clamp;
  CheckFlags(arguments);
  AtomicFile model_file(FLAGS_output), prototxt_file(PrototxtToWrite());

  const caffe::PrecisionMigration migration(FLAGS_input, FLAGS_model, options);
  std::unique_ptr<Net<float>> old_net;
  string why_not = "-skip_check was given";
  if (!FLAGS_skip_check) old_net = LoadNet(FLAGS_input, FLAGS_model, &why_not);
  if (old_net) FillOld(old_net.get());  // before anything is written

  const vector<caffe::LayerConversion> report = migration.WriteModel(&model_file);
  std::cout << caffe::ConversionTable(report);
  for (const string& note : migration.notes()) std::cout << "note: " << note << '\n';
  const string faults = FLAGS_strict ? caffe::ConversionFaults(report) : "";
  for (const string& warning : caffe::ConversionWarnings(report, options, faults.empty())) {
    std::cout << "warning: " << warning << '\n';
  }
  if (!faults.empty()) {
    std::cout << std::flush;
    caffe::TellError(faults + ", so nothing was written (-strict)");
    return 2;
  }
  prototxt_file.Write(migration.prototxt().data(), migration.prototxt().size());
  prototxt_file.Commit();
  model_file.Commit();
  PrintSizes();
  if (old_net) {
    RunBoth(old_net.get());
  } else {
    std::cout << "The nets were not run: " << why_not << std::endl;
  }
  return 0;
}

caffe::Command Program() {
  caffe::Command program;
  program.name = "upgrade_net_fp16";
  program.summary = "turns a net and its weights into half precision, or back";
  program.usage = {"-input NET.prototxt -model WEIGHTS -output NEW.caffemodel <flags>"};
  program.about =
      R"(Writes the weights and, next to them, a prototxt, prints what rounding did to each layer's weights,
then runs the old net and the new one and prints how far their outputs are from each other.
)";
  program.groups = {{"flags",
                     "",
                     {"input", "model", "output", "prototxt", "to", "math", "strict", "clamp",
                      "batch_norm", "inputs", "seed", "skip_check", "ignore_unknown_fields"},
                     ""}};
  program.examples =
      R"(  upgrade_net_fp16 -input deploy.prototxt -model lenet.caffemodel -output lenet_fp16.caffemodel
)";
  program.run = Migrate;
  return program;
}

}  // namespace

int main(int argc, char** argv) { return caffe::RunProgram(argc, argv, Program()); }
