#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "caffe/inference/evaluation/engine_comparison.hpp"
#include "caffe/inference/evaluation/widening.hpp"
#include "caffe/net/index_limits.hpp"
#include "caffe/net/net_comparison.hpp"
#include "caffe/util/text/progress.hpp"
#include "caffe/util/text/text_table.hpp"
#include "commands.hpp"
#include "engine_flags.hpp"
#include "net_flags.hpp"

CAFFE_FLAG(double, min_sqnr, 20, "DB",
           "decibels; a blob below them has gone wrong (default 20: a tenth)");
CAFFE_FLAG(bool, bisect, false, "",
           "finds a small set of layers which, widened to FP32, bring the outputs' error to "
           "-max_error or less, by building engines; prints the -layer_precision to build with");
CAFFE_FLAG(double, max_error, 0.01, "X", "that error");

namespace caffe {
namespace {

constexpr int kComparedBatches = 10;

/// Numbers from -1 to 1, or indices, for the inputs of any net.
class Noise : public InputBatches {
 public:
  explicit Noise(int count) : count_(count) {}
  bool Feed(int batch, Net<float>* net) override {
    if (batch >= count_) return false;
    FillInputs(static_cast<uint32_t>(batch + 1), net);
    items_.assign(1, {Join("random ", batch), -1});
    return true;
  }
  int64_t batches(const Net<float>&) const override { return count_; }

 private:
  const int count_;
};

/// True if one input takes images, and constants are given for the others.
bool TakesImages(const Net<float>& net, const inference::ImagePreprocessing& preprocessing) {
  const std::vector<int> limits = IndexLimits(net);
  int images = 0;
  for (int i = 0; i < net.num_inputs(); ++i) {
    const int blob = net.input_blob_indices()[i];
    if (preprocessing.constants.count(net.blob_names()[blob]) > 0) continue;
    images += net.input_blobs()[i]->num_axes() == 4 && limits[blob] == 0 ? 1 : 2;
  }
  return images == 1;
}

/// What the flags say to run on; noise if they say nothing.
std::unique_ptr<InputBatches> TheInputs(const Net<float>& net,
                                        const inference::ImagePreprocessing& preprocessing) {
  Require(FLAGS_random >= 0, Error::Field{"-random"}, " must be positive, got ", FLAGS_random);
  const bool data = DataIsGiven();
  Require(FLAGS_random == 0 || !data, "give one of ", kInputFlags, " and -random");
  const int most = FLAGS_batches > 0 ? FLAGS_batches : kComparedBatches;
  if (data || (net.num_inputs() == 0 && FLAGS_random == 0)) return Inputs(net, preprocessing, most);
  const int count = FLAGS_random > 0 ? FLAGS_random : 1;
  if (!TakesImages(net, preprocessing)) return std::make_unique<Noise>(count);
  return InputBatches::Random(count, 1, preprocessing);
}

/// The net in FP32, which normalizes images itself where the engine does.
std::unique_ptr<Net<float>> NetFor(const inference::Engine& engine, const NetParameter& param,
                                   const std::vector<std::string>& weights) {
  const inference::ImagePreprocessing* preprocessing = engine.preprocessing();
  if (!preprocessing || !preprocessing->engine_normalizes) return FloatNet(param, weights);
  auto net = inference::NetworkDefinition::FromCaffe(param, weights);
  NormalizeImages(*preprocessing, &net);
  return std::make_unique<Net<float>>(inference::ToNetParameter(net.graph()));
}

/// What both have: of an engine that normalizes images only the blobs that the user's net has too,
/// as the others of its reference are called as the optimizer calls them.
std::vector<inference::BlobComparison> BlobsOf(const inference::EngineComparison& comparison,
                                               const inference::Engine& engine,
                                               const NetParameter& param) {
  std::vector<inference::BlobComparison> blobs = comparison.blobs();
  const inference::ImagePreprocessing* preprocessing = engine.preprocessing();
  if (!preprocessing || !preprocessing->engine_normalizes) return blobs;
  const std::unique_ptr<Net<float>> own = FloatNet(param, {});
  std::set<std::string> known(own->blob_names().begin(), own->blob_names().end());
  for (const std::string& input : engine.inputs()) known.insert(input + "_normalized");
  blobs.erase(std::remove_if(blobs.begin(), blobs.end(),
                             [&](const auto& blob) { return known.count(blob.blob) == 0; }),
              blobs.end());
  return blobs;
}

/// Makes the batch of a net's inputs smaller where the engine is built for less.
void FitBatch(const inference::Engine& engine, Net<float>* net) {
  if (net->num_inputs() == 0 || net->input_blobs()[0]->num_axes() == 0) return;
  const int batch = net->input_blobs()[0]->shape(0);
  if (batch <= engine.max_batch()) return;
  for (Blob<float>* input : net->input_blobs()) {
    Shape shape = input->shape();
    if (shape.empty() || shape[0] != batch) continue;
    shape[0] = engine.max_batch();
    input->Reshape(shape);
  }
  net->Reshape();
}

std::string Decibels(double value) {
  if (std::isinf(value)) return value > 0 ? "exact" : "-inf";
  return Formatted("%.1f dB", value);
}

void Print(const std::vector<inference::BlobComparison>& blobs, double output_error,
           std::ostream& out) {
  TextTable table(
      {"", "blob", "layer", "precision", "max error", "mean error", "cosine", "signal/noise"}, 4);
  for (const inference::BlobComparison& blob : blobs) {
    const inference::ErrorMeasure& error = blob.error;
    const std::string mark = blob.SignalToNoise() < FLAGS_min_sqnr ? "!" : "";
    if (blob.unmatched || error.other_shapes() > 0) {
      const std::string what =
          blob.unmatched ? PercentText(*blob.unmatched) + " other boxes" : "other shape";
      table.Add({mark, blob.blob, blob.layer, Name(blob.math), what, "", "", ""});
      continue;
    }
    if (error.count() == 0 && error.not_compared() > 0) {
      table.Add({mark, blob.blob, blob.layer, Name(blob.math), "NaN or inf in both", "", "", ""});
      continue;
    }
    table.Add({mark, blob.blob, blob.layer, Name(blob.math),
               error.not_finite() > 0 ? Join(error.not_finite(), " NaN or inf")
                                      : ThreeDigits(error.max_error()),
               ThreeDigits(error.mean_error()), Formatted("%.6f", error.Cosine()),
               Decibels(error.SignalToNoise())});
  }
  table.Print(out);
  out << "error of the outputs: " << ThreeDigits(output_error) << '\n';
}

/// Says where the net itself has values that are not finite, which nothing can be compared with.
void NoteNotCompared(const std::vector<inference::BlobComparison>& blobs, std::ostream& out) {
  const auto some = [](const auto& blob) { return blob.error.not_compared() > 0; };
  const auto first = std::find_if(blobs.begin(), blobs.end(), some);
  if (first == blobs.end()) return;
  const inference::ErrorMeasure& error = first->error;
  out << "note: " << error.not_compared() << " of "
      << error.count() + error.not_finite() + error.not_compared() << " values of blob '"
      << first->blob << "' are NaN or infinite in the net itself";
  const auto more = std::count_if(first + 1, blobs.end(), some);
  if (more > 0) out << ", and some of " << more << (more == 1 ? " other blob" : " other blobs");
  out << ": they are not compared\n";
}

/// Says which layer goes wrong first. Returns the status.
int PrintFirstBadBlob(const std::vector<inference::BlobComparison>& blobs, std::ostream& out) {
  const auto first = std::find_if(blobs.begin(), blobs.end(), [](const auto& blob) {
    return blob.SignalToNoise() < FLAGS_min_sqnr;
  });
  if (first == blobs.end()) {
    out << "no blob is below " << FLAGS_min_sqnr << " dB\n";
    return 0;
  }
  out << "layer '" << first->layer << "' is the first that goes wrong: its blob '" << first->blob
      << "' is at " << Decibels(first->SignalToNoise()) << ", below " << FLAGS_min_sqnr << " dB\n";
  return 2;
}

/// Finds layers to widen and says how to build with them.
int Bisect(const inference::EngineComparison& comparison, EngineMaker* maker, InputBatches* batches,
           std::ostream& out) {
  const int most = FLAGS_batches > 0 ? FLAGS_batches : kComparedBatches;
  const inference::AccuracyLoss judge = maker->Judge(batches, most, /*with_labels=*/false);
  const std::map<std::string, inference::Precision> given = maker->config.layer_precisions;
  int engines = 0;
  const auto widened_layers = [&](const std::vector<std::string>& widened) {
    std::set<std::string> layers;
    for (const std::string& layer : widened) {
      for (const std::string& inside : comparison.NetLayersIn(layer)) layers.insert(inside);
    }
    return layers;
  };
  const auto error = [&](const std::vector<std::string>& widened) {
    maker->config.layer_precisions = given;
    for (const std::string& layer : widened_layers(widened)) {
      maker->config.layer_precisions[layer] = inference::Precision::FP32;
    }
    const double loss = judge(maker->Build());
    out << "engine " << ++engines << ": " << widened.size() << " layers in FP32, error "
        << ThreeDigits(loss) << std::endl;
    return loss;
  };
  const std::vector<std::string> found =
      inference::LayersToWiden(comparison.LayersByOwnError(), error, FLAGS_max_error);
  if (found.empty()) {
    out << "the error of the outputs is at most " << FLAGS_max_error
        << ": nothing has to be widened\n";
    return 0;
  }
  out << "widen " << found.size() << " of " << comparison.LayersByOwnError().size()
      << " layers: -layer_precision ";
  std::string flag = FLAGS_layer_precision;
  for (const std::string& layer : widened_layers(found)) {
    flag += (flag.empty() ? "" : ",") + layer + "=fp32";
  }
  out << flag << '\n';
  return 0;
}

int Compare() {
  const NetParameter param = TestPhaseNet("compare");
  Require(!FLAGS_weights.empty(), "compare needs trained weights: -weights FILE");
  RequireImagesToPrepare();
  ChooseEngineDevice();
  const std::vector<std::string> weights = WeightFiles();
  const bool plan = !FLAGS_plan.empty();
  Require(plan || IsGiven("precision") || !FLAGS_layer_precision.empty(), "compare needs an engine",
          Error::Remedy{"give -plan FILE, or -precision to build one"});
  Require(!plan || !IsGiven("precision"), "give -plan FILE, or -precision to build one, not both");
  Require(!plan || !FLAGS_bisect, Error::Field{"-bisect"}, " builds engines",
          Error::Remedy{"give -precision (and what int8 needs) instead of -plan"});
  Require(!std::isnan(FLAGS_min_sqnr), Error::Field{"-min_sqnr"}, " is no number");
  Require(FLAGS_max_error > 0, Error::Field{"-max_error"}, " must be positive, got ",
          FLAGS_max_error);
  std::unique_ptr<EngineMaker> maker;
  if (!plan) {
    maker = std::make_unique<EngineMaker>(param, weights, &std::cout);
    // Blobs between joined layers would not be there.
    maker->config.skip_passes.push_back("joined_layers");
  }
  const auto engine = plan ? inference::Engine::Load(FLAGS_plan) : maker->Build();
  const std::unique_ptr<Net<float>> net = NetFor(*engine, param, weights);
  FitBatch(*engine, net.get());
  inference::EngineComparison comparison(net.get(), engine);
  const std::unique_ptr<InputBatches> batches = TheInputs(*net, Preprocessing(*engine, param));
  const int most = FLAGS_batches > 0 ? FLAGS_batches : kComparedBatches;
  const int64_t there = batches->batches(*net);
  Progress progress("batch", there > 0 ? std::min<int64_t>(there, most) : most);
  for (int i = 0; i < most && batches->Feed(i, net.get()); ++i) {
    comparison.Add();
    progress.Update(i + 1);
  }
  progress.Clear();
  const std::vector<inference::BlobComparison> blobs = BlobsOf(comparison, *engine, param);
  Print(blobs, comparison.OutputError(), std::cout);
  NoteNotCompared(blobs, std::cout);
  const int status = PrintFirstBadBlob(blobs, std::cout);
  return FLAGS_bisect ? Bisect(comparison, maker.get(), batches.get(), std::cout) : status;
}

}  // namespace

Command CompareCommand() {
  Command command;
  command.name = "compare";
  command.summary = "compares an engine with its net in FP32, blob by blob";
  command.usage = {"-model FILE -weights FILE[,FILE] -plan FILE [flags]",
                   "-model FILE -weights FILE[,FILE] -precision TYPE [-bisect] [flags]"};
  command.about =
      "Both run on the same inputs. A row for each blob that both have: the layer of the engine "
      "that\n"
      "makes it, the largest and the mean error, the cosine of the angle between the two, and how "
      "much\n"
      "larger than the error the values are (signal/noise: 6 dB more halve the error). Rows marked "
      "'!'\n"
      "are below -min_sqnr; the first of them is named as the layer that goes wrong, and the "
      "status is\n"
      "2. The error of the outputs is relative to their values; of detections it is the share of "
      "boxes\n"
      "without a partner.\n";
  FlagGroup input = InputFlags();
  input.flags.push_back({"random",
                         "N batches of noise, pixels from 0 to 255 that are prepared as images are "
                         "(default 1 where nothing else is given)"});
  input.flags.push_back({"batches", "at most N batches (default 10)"});
  input.notes = kOwnDataUsage;
  command.groups = {{"what is compared",
                     "",
                     {{"model", "the net in FP32"},
                      "weights",
                      {"plan", "the engine; or it is built (below)"},
                      "min_sqnr",
                      "bisect",
                      "max_error"},
                     ""},
                    input};
  for (const FlagGroup& group : EngineFlags()) command.groups.push_back(group);
  command.examples =
      "  caffe compare -model deploy.prototxt -weights net.caffemodel -plan net.plan \\\n"
      "    -images images.txt -mean 104,117,123\n"
      "  caffe compare -model deploy.prototxt -weights net.caffemodel -precision int8 \\\n"
      "    -calibration_table net.table -images images.txt -mean 104,117,123 -bisect -max_error "
      "0.02\n";
  command.quiet = true;
  command.run = [](const std::vector<std::string>&) { return Compare(); };
  return command;
}

}  // namespace caffe
