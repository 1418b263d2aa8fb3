#include "build_report.hpp"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>

#include "caffe/inference/evaluation/latency.hpp"
#include "caffe/inference/report/build_report.hpp"
#include "caffe/util/text/listed.hpp"
#include "net_flags.hpp"

CAFFE_FLAG(
    string, report, "", "FILE",
    "writes one page (HTML), which needs no network: the net before and after; engines of "
    "fp32, fp16, bf16 and, with a calibration table or data, int8 side by side (time of each "
    "layer, latency, throughput, sizes, images per joule where the machine counts energy); "
    "what they lose on the data, which is top-1 where it has labels; ranges, histograms and "
    "thresholds");
CAFFE_FLAG(double, report_seconds, 1, "S", "how long each number is measured");

namespace caffe {
namespace {

/// What the shell was given, so that it can be given that again.
std::string CommandLine() {
  std::string line;
  for (const std::string& word : gflags::GetArgvs()) {
    line += (line.empty() ? "" : " ") + ShellQuoted(word);
  }
  return line;
}

/// The size that the engine's plan has or would have; it is written next to the one that is kept.
size_t PlanBytes(const inference::Engine& engine, const std::string& plan) {
  const std::string aside = Join(plan, ".", getpid(), ".report");
  engine.Save(aside);
  const size_t bytes = std::filesystem::file_size(aside);
  std::remove(aside.c_str());
  return bytes;
}

/// Judges engines on the data that the flags name, else on noise.
class Judge {
 public:
  Judge(const EngineMaker& maker, const NetParameter& param,
        const std::shared_ptr<const inference::Engine>& reference)
      : loss_(Make(maker, param, reference)) {}

  /// "top-1 of 1000 images"; "" without labels.
  std::string accuracy_of() const {
    return loss_.HasLabels() ? Join("top-1 of ", loss_.items(), " images") : "";
  }
  void Add(const std::shared_ptr<const inference::Engine>& engine,
           inference::EngineResult* result) const {
    const double lost = loss_(engine);
    if (loss_.HasLabels()) {
      result->accuracy = loss_.FloatAccuracy() - lost;
    } else {
      result->output_error = lost;
    }
  }

 private:
  static inference::AccuracyLoss Make(const EngineMaker& maker, const NetParameter& param,
                                      const std::shared_ptr<const inference::Engine>& reference) {
    const std::unique_ptr<Net<float>> net = FloatNet(param, {});
    if (DataIsGiven() || net->num_inputs() == 0) {
      const int most = FLAGS_batches > 0 ? FLAGS_batches : kDefaultBatches;
      return maker.Judge(maker.EngineInputs(*net, most).get(), FLAGS_batches, /*with_labels=*/true);
    }
    inference::ExecutionContext context(reference);
    inference::FillWithNoise(1, &context);
    inference::Tensors inputs;
    for (const std::string& name : reference->inputs()) {
      const Shape& shape = context.InputShape(name);
      const float* values = context.Input(name);
      inputs[name] = {shape, {values, values + inference::CountOf(shape)}};
    }
    inference::AccuracyLoss loss;
    loss.Add(inputs, inference::RunInPieces(inputs, &context), {});
    return loss;
  }

  const inference::AccuracyLoss loss_;
};

/// Builds engines and measures them one after the other.
class Comparison {
 public:
  Comparison(EngineMaker* maker, const std::string& plan)
      : maker_(*maker), plan_(plan), demanded_(maker->config) {}
  ~Comparison() { maker_.config = demanded_; }

  /// An engine that computes all of the net in one precision, and in these numbers.
  std::shared_ptr<const inference::Engine> Build(inference::Precision precision,
                                                 const inference::Quantization& quantization = {}) {
    maker_.config = demanded_;
    maker_.config.pass_observer = nullptr;
    maker_.config.precision = precision;
    maker_.config.quantization = quantization;
    maker_.config.layer_precisions.clear();
    remarks_.clear();
    maker_.config.remark = [this](const std::string& line) { remarks_.push_back(line); };
    return maker_.Build();
  }

  void Measure(const std::string& name, const std::shared_ptr<const inference::Engine>& engine,
               const Judge& judge, inference::BuildReport* report) {
    std::cout << "measuring " << name << '\n';
    inference::MeasurementOptions options;
    options.seconds = FLAGS_report_seconds;
    inference::EngineResult result = inference::MeasureEngine(name, engine, options);
    result.plan_bytes = PlanBytes(*engine, plan_);
    result.remarks = remarks_;
    judge.Add(engine, &result);
    report->engines.push_back(std::move(result));
  }

  /// INT8 with ranges of calibration, rescaled in floats.
  std::shared_ptr<const inference::Engine> BuildCalibrated() {
    inference::Quantization numbers;
    numbers.ignore_training = true;
    numbers.arithmetic = inference::Arithmetic::FLOAT;
    numbers.reduce_range = demanded_.quantization.reduce_range;
    return Build(inference::Precision::INT8, numbers);
  }
  /// INT8 in integers alone: in what was asked for or trained, else AFFINE.
  std::shared_ptr<const inference::Engine> BuildIntegers() {
    inference::Quantization numbers = demanded_.quantization;
    if (!numbers.scheme && !IsTrained()) numbers.scheme = inference::QuantizationScheme::AFFINE;
    if (numbers.ArithmeticOrDefault() == inference::Arithmetic::FLOAT) {
      numbers.arithmetic = inference::Arithmetic::INTEGER;
    }
    return Build(inference::Precision::INT8, numbers);
  }

  bool IsCalibrated() const { return demanded_.calibration != nullptr; }
  /// INT8 has ranges, and kernels for integers alone.
  bool HasIntegers() const {
    return (IsCalibrated() || IsTrained()) && demanded_.backend != inference::Backend::REFERENCE;
  }
  bool IsTrained() const { return maker_.net().quantization().training.has_value(); }
  /// True if the engine that was asked for is none of those.
  bool DemandsMixture() const {
    return demanded_.precision == inference::Precision::BEST || !demanded_.layer_precisions.empty();
  }
  std::string Demanded() const { return inference::Name(demanded_.precision); }

 private:
  EngineMaker& maker_;
  const std::string plan_;
  const inference::BuilderConfig demanded_;
  std::vector<std::string> remarks_;
};

}  // namespace

FlagGroup ReportFlags() { return {"a page about the build", "", {"report", "report_seconds"}, ""}; }

void CheckReportFlags() {
  RequireWritable(FLAGS_report);
  Require(FLAGS_report_seconds > 0, Error::Field{"-report_seconds"}, " must be positive, got ",
          FLAGS_report_seconds);
}

void WriteReport(EngineMaker* maker, const NetParameter& param,
                 const std::vector<std::string>& weights,
                 const std::shared_ptr<const inference::Engine>& built, const std::string& plan) {
  inference::BuildReport report;
  report.title = maker->net().name().empty() ? FLAGS_model : maker->net().name();
  report.command = CommandLine();
  report.facts = {{"model", FLAGS_model}, {"weights", Listed(weights)}};
  if (built->preprocessing()) {
    report.facts.emplace_back("images for", ToText(*built->preprocessing(), *built->graph()));
  }
  report.before = maker->net().graph();
  report.calibration = maker->config.calibration.get();
  report.statistics = maker->statistics();

  Comparison comparison(maker, plan);
  const auto reference = comparison.Build(inference::Precision::FP32);
  const Judge judge(*maker, param, reference);
  report.accuracy_of = judge.accuracy_of();
  comparison.Measure("fp32", reference, judge, &report);
  for (const auto precision : {inference::Precision::FP16, inference::Precision::BF16}) {
    comparison.Measure(inference::Name(precision), comparison.Build(precision), judge, &report);
  }
  if (comparison.IsCalibrated()) {
    comparison.Measure("int8", comparison.BuildCalibrated(), judge, &report);
  }
  if (comparison.HasIntegers()) {
    comparison.Measure(comparison.IsTrained() ? "int8 trained" : "int8 integers",
                       comparison.BuildIntegers(), judge, &report);
  }
  if (comparison.DemandsMixture()) {
    comparison.Measure(comparison.Demanded() + " as built", built, judge, &report);
  }
  WriteText(inference::ReportAsHtml(report), FLAGS_report);
  std::cout << "wrote " << FLAGS_report << '\n';
}

}  // namespace caffe
