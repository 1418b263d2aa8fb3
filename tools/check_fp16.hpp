#ifndef CAFFE_TOOLS_CHECK_FP16_HPP_
#define CAFFE_TOOLS_CHECK_FP16_HPP_

#include <gflags/gflags.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "caffe/fp16/net_agreement.hpp"
#include "caffe/fp16/range_inspector.hpp"
#include "caffe/fp16/range_report.hpp"
#include "caffe/fp16/range_rewriting.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "input_flags.hpp"

DEFINE_int32(random, 0, "check_fp16, compare: run this many batches of noise instead.");
DEFINE_double(headroom, 4, "check_fp16: values may become this many times larger than seen.");
DEFINE_double(max_subnormal, 0.05,
              "check_fp16: the share of a blob's values that -fix may make subnormal so that "
              "weights keep their digits.");
DEFINE_bool(json, false, "check_fp16, inspect, infer: print JSON instead of tables.");
DEFINE_string(fix, "", "check_fp16: -fix OUT.prototxt OUT.caffemodel writes a net that fits.");

namespace caffe {

inline const std::string kCheckFp16Usage =
    std::string(R"(caffe check_fp16: which numbers of a net does FP16 not hold, and what cures it.

usage: caffe check_fp16 -model FILE -weights FILE (-images LIST | -data DB | -npy FILE | -random N)
                        [flags]

The net is run in FLOAT, in the TEST phase. A row for each blob says how large and how small its
values are and which share FP16 cannot hold: above 65504 it has only infinity, below 6.1e-5 values
lose digits (subnormal), below 3e-8 they become 0. Rows marked '!' overflow; below the table:
  region: from layer A to layer B   values are too large from A's result to what B reads
  inside layer A                    what a sum inside the layer reaches (in an arithmetic that adds
                                    up in half; this program adds up in float)

)") +
    kInputUsage +
    R"(  -random N             N batches of noise between 0 and 255, if you have no pictures:
                        ranges are then a guess
  -iterations N         at most N batches of a database or of the net's own data (default 50)
)" + kOwnDataUsage +
    R"(
output:
  -json                 JSON on standard output instead of the tables
  -plot OUT.svg         a picture of the ranges
  -fix OUT.prototxt OUT.caffemodel
                        writes a net that computes the same and stays in FP16's range: powers of
                        two go into the weights, layers that cannot take them stay FLOAT. Then runs
                        both nets and prints how far they are apart. Status 2 if FP16 still
                        overflows.
  -headroom H           how many times larger than seen values may become (default 4)
  -max_subnormal S      the share of a blob's values that may become subnormal so that
                        weights need not (default 0.05)

example:
  caffe check_fp16 -model deploy.prototxt -weights net.caffemodel -images faces.txt \
    -mean 104,117,123 -plot ranges.svg -fix fp16.prototxt fp16.caffemodel
  caffe time -phase TEST -model fp16.prototxt -weights fp16.caffemodel
)";

namespace check_fp16 {

/// Throws Error if a file to be written is one of those that are read.
inline void RequireOther(const std::string& written, const std::vector<std::string>& read) {
  for (const std::string& file : read) {
    std::error_code none;
    Require(!std::filesystem::equivalent(written, file, none), "-fix: ", written,
            " is what the net is read from: give another name");
  }
}

inline void PrintAgreement(const char* type, const NetAgreement& agreement, std::ostream& out) {
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

/// The rewritten net in FLOAT and in FLOAT16 beside the one it comes from. Throws Error if it does
/// not compute the same in FLOAT. Returns false if FLOAT16 overflows.
inline bool Verify(const RangeRewriting& rewriting, Net<float>* net, InputBatches* batches,
                   int count, std::ostream& out) {
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

}  // namespace check_fp16

/// The command check_fp16. `param` is the net of `model` with the state that the command line
/// gives; `rest` is what is left of the command line: the second file of -fix.
inline int CheckFp16(NetParameter param, const std::string& model,
                     const std::vector<std::string>& weights, int iterations,
                     const std::vector<std::string>& rest) {
  using namespace check_fp16;
  const bool fix = !FLAGS_fix.empty();
  Require(!fix || rest.size() == 1,
          "-fix takes two files, the net's and the weights': -fix OUT.prototxt OUT.caffemodel");
  Require(fix || rest.empty(), "'", rest.empty() ? "" : rest[0],
          "' is not expected; -json writes to standard output: caffe check_fp16 ... -json > FILE");
  Require(FLAGS_headroom >= 1, "-headroom must be 1 or more, got ", FLAGS_headroom);
  if (fix) {
    std::vector<std::string> read = weights;
    read.push_back(model);
    RequireOther(FLAGS_fix, read);
    RequireOther(rest[0], read);
  }
  for (const std::string& file : {FLAGS_plot, FLAGS_fix, fix ? rest[0] : std::string()}) {
    RequireWritable(file);
  }
  ClearTypes(&param);
  Net<float> net(param);
  for (const std::string& file : weights) net.CopyTrainedLayersFrom(file);
  Require(FLAGS_random >= 0, "-random must be positive, got ", FLAGS_random);
  Require(FLAGS_random == 0 || (FLAGS_images.empty() && FLAGS_data.empty() && FLAGS_npy.empty()),
          "give one of ", kInputFlags, " and -random");
  const std::unique_ptr<InputBatches> batches =
      FLAGS_random > 0 ? InputBatches::Random(FLAGS_random, 1, Preparation(param))
                       : Inputs(net, param, iterations, ", or -random N for N batches of noise");
  RangeInspector inspector(&net);
  while ((FLAGS_images.empty() || !IsGiven("iterations") || inspector.batches() < iterations) &&
         batches->Feed(inspector.batches(), &net)) {
    inspector.Forward();
  }
  if (!FLAGS_plot.empty()) {
    WriteText(RangesAsSvg(inspector, Join(model, ": |x| of ", inspector.batches(), " batch(es)")),
              FLAGS_plot);
  }
  if (!FLAGS_json) PrintRanges(inspector, std::cout);
  if (!fix) {
    if (FLAGS_json) std::cout << RangesAsJson(inspector);
    return 0;
  }
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
  bool fits = Verify(rewriting, &net, batches.get(), inspector.batches(), log);
  if (PrintLostDigits(rewriting, options.max_subnormal, log)) fits = false;
  WriteProtoToTextFile(rewriting.net(), FLAGS_fix);
  rewriting.WriteModel(rest[0]);
  log << "wrote " << FLAGS_fix << " and " << rest[0] << '\n';
  return fits ? 0 : 2;
}

}  // namespace caffe

#endif  // CAFFE_TOOLS_CHECK_FP16_HPP_
