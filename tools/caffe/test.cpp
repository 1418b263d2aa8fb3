#include <memory>
#include <string>
#include <vector>

#include "caffe/caffe.hpp"
#include "caffe/inference/evaluation/engine_scoring.hpp"
#include "caffe/util/detection/detection_scores.hpp"
#include "caffe/util/string_stream.hpp"
#include "commands.hpp"
#include "engine_flags.hpp"
#include "net_flags.hpp"
#include "test_plan.hpp"

CAFFE_FLAG(string, ap_version, "11point", "11point|MaxIntegral|Integral",
           "how detections are scored: how precision is averaged");
CAFFE_FLAG(bool, show_per_class_result, true, "", "show each class's average precision");
CAFFE_FLAG(bool, detection, false, "", "average precisions of a detector, as caffe test_detection");

namespace caffe {
namespace {

// Sums of every value of every output over the iterations.
class Scores {
 public:
  explicit Scores(const Net<float>& net) : net_(net) {}

  void Add(const std::vector<Blob<float>*>& outputs, int iteration) {
    size_t index = 0;
    for (size_t j = 0; j < outputs.size(); ++j) {
      const std::string& name = net_.blob_names()[net_.output_blob_indices()[j]];
      const float* values = outputs[j]->cpu_data();
      for (int k = 0; k < outputs[j]->count(); ++k, ++index) {
        if (index == sums_.size()) {
          sums_.push_back(0);
          output_.push_back(j);
        }
        sums_[index] += values[k];
        PROGRAM_LOG() << "Batch " << iteration << ", " << name << " = " << values[k];
      }
    }
  }

  void Print(int iterations) const {
    for (size_t i = 0; i < sums_.size(); ++i) {
      const int blob = net_.output_blob_indices()[output_[i]];
      const float mean = static_cast<float>(sums_[i] / iterations);
      const float weight = net_.blob_loss_weights()[blob];
      StringWriter loss;
      if (weight != 0) loss << " (* " << weight << " = " << weight * mean << " loss)";
      PROGRAM_LOG() << net_.blob_names()[blob] << " = " << mean << loss.str();
    }
  }

 private:
  const Net<float>& net_;
  std::vector<double> sums_;
  std::vector<size_t> output_;
};

// The net that a test command scores, with its weights.
std::unique_ptr<Net<float>> TestedNet(const char* command) {
  Require(!FLAGS_model.empty(), command, " needs a net definition: -model FILE");
  Require(!FLAGS_weights.empty(), command, " needs trained weights: -weights FILE");
  RequireIterations();
  ChooseDevice();
  std::unique_ptr<Net<float>> net = NetWithTypes(TEST);
  for (const std::string& weights : WeightFiles()) net->CopyTrainedLayersFrom(weights);
  PROGRAM_LOG() << "Running for " << FLAGS_iterations << " iterations.";
  return net;
}

// Scores `iterations` batches: forward() runs one and returns the outputs of `net`.
template <typename Forward>
void LogScores(const Net<float>& net, Forward&& forward) {
  Scores scores(net);
  double loss = 0;
  for (int i = 0; i < FLAGS_iterations; ++i) {
    float iteration_loss = 0;
    scores.Add(forward(&iteration_loss), i);
    loss += iteration_loss;
  }
  PROGRAM_LOG() << "Loss: " << loss / FLAGS_iterations;
  scores.Print(FLAGS_iterations);
}

// The same for detectors: average precisions.
template <typename Forward>
void LogAveragePrecisions(const Net<float>& net, Forward&& forward) {
  std::vector<DetectionScores> scores(net.num_outputs());
  double loss = 0;
  for (int i = 0; i < FLAGS_iterations; ++i) {
    float iteration_loss = 0;
    const std::vector<Blob<float>*>& outputs = forward(&iteration_loss);
    loss += iteration_loss;
    for (size_t j = 0; j < outputs.size(); ++j) scores[j].Add(*outputs[j]);
  }
  PROGRAM_LOG() << "Test loss: " << loss / FLAGS_iterations;
  for (size_t j = 0; j < scores.size(); ++j) {
    LogDetectionScores(scores[j], FLAGS_ap_version, FLAGS_show_per_class_result, j,
                       net.blob_names()[net.output_blob_indices()[j]]);
  }
}

// Throws Error where the net's data would be normalized twice.
void RequireRawData(const Net<float>& net, const inference::Engine& engine) {
  if (!engine.preprocessing() || !engine.preprocessing()->engine_normalizes) return;
  for (const auto& layer : net.layers()) {
    const TransformationParameter& transform = layer->layer_param().transform_param();
    Require(
        transform.mean_value_size() == 0 && !transform.has_mean_file() && transform.scale() == 1,
        "layer '", layer->layer_param().name(), "': the plan was built with -normalize and ",
        "takes values from 0 to 255: leave mean and scale out of transform_param, or build the ",
        "plan without -normalize");
  }
}

// The engine of -plan on the data of -model, scored by the layers of -model.
inference::EngineScoring TestedPlan(const char* command) {
  Require(FLAGS_weights.empty(), "a plan has its weights", Error::Remedy{"leave out -weights"});
  ChooseEngineDevice();
  RequireIterations();
  const auto engine = inference::Engine::Load(FLAGS_plan);
  inference::EngineScoring scoring(TestPhaseNet(command), engine);
  RequireRawData(scoring.net(), *engine);
  for (const std::string& layer : scoring.left_out()) {
    PROGRAM_LOG() << "Layer " << layer << " is left out: the engine does not have what it scores.";
  }
  PROGRAM_LOG() << "Running for " << FLAGS_iterations << " iterations.";
  return scoring;
}

int TestPlan() {
  if (DataIsGiven()) {
    Require(FLAGS_model.empty(), "give -model with data of its own, or one of ", kInputFlags,
            ", not both");
    Require(FLAGS_npy.empty(), "NumPy files have no labels",
            Error::Remedy{"give -data or -images"});
    ChooseEngineDevice();
    RequireIterations();
    return TestPlanOnImages(inference::Engine::Load(FLAGS_plan));
  }
  Require(!FLAGS_model.empty(),
          "what shall the plan be tested on? Give -model FILE with data and Accuracy layers, or "
          "labelled images with -data DB or -images LIST");
  inference::EngineScoring scoring = TestedPlan("test");
  LogScores(scoring.net(), [&](float* loss) { return scoring.Forward(loss); });
  return 0;
}

int TestDetection() {
  RequireApVersion(FLAGS_ap_version);
  if (!FLAGS_plan.empty()) {
    inference::EngineScoring scoring = TestedPlan("test_detection");
    LogAveragePrecisions(scoring.net(), [&](float* loss) { return scoring.Forward(loss); });
    return 0;
  }
  const std::unique_ptr<Net<float>> net = TestedNet("test_detection");
  LogAveragePrecisions(*net, [&](float* loss) { return net->Forward(loss); });
  return 0;
}

int Test() {
  if (FLAGS_detection) return TestDetection();
  if (!FLAGS_plan.empty()) return TestPlan();
  RequireNoPlanFlags();
  const std::unique_ptr<Net<float>> tested = TestedNet("test");
  Net<float>& net = *tested;
  LogScores(net, [&](float* loss) { return net.Forward(loss); });
  return 0;
}

}  // namespace

Command TestCommand() {
  Command command;
  command.name = "test";
  command.summary = "scores a net, or an engine, on labelled data";
  command.usage = {"-model FILE -weights FILE[,FILE] [-iterations N]",
                   "-plan FILE -model FILE [-iterations N]",
                   "-plan FILE (-data DB | -images LIST) [-iterations N] [input flags]"};
  command.about =
      "Logs the outputs of the net's TEST phase, batch by batch, and then the means. For images "
      "that\n"
      "are given by flags, accuracy and accuracy_top5 are logged; records and lines without a "
      "label\n"
      "are refused.\n";
  command.groups = {
      {"what is scored",
       "",
       {{"model", "the net with its data and Accuracy layers (train_val.prototxt)"},
        "weights",
        {"plan",
         "an engine (caffe build) computes instead of the net: its data goes in, and what comes "
         "out is scored by the net's Accuracy and loss layers"},
        {"iterations", "batches (default 50; of a list of images all)"},
        "level",
        "stage",
        "detection",
        "ap_version",
        "show_per_class_result"},
       ""},
      TypeFlags(),
      InputFlags()};
  command.examples =
      "  caffe test -model lenet_train_test.prototxt -weights lenet.caffemodel -iterations 100\n"
      "  caffe test -model lenet_train_test.prototxt -plan lenet.plan -iterations 100\n"
      "  caffe test -plan squeezenet.plan -data val_lmdb -mean 104,117,123 -resize 256x256\n";
  command.is_caffes_own = true;
  command.run = [](const std::vector<std::string>&) { return Test(); };
  return command;
}

Command TestDetectionCommand() {
  Command command;
  command.name = "test_detection";
  command.summary = "a detector's mean average precision";
  command.usage = {"-model FILE (-weights FILE[,FILE] | -plan FILE) [-iterations N]"};
  command.groups = {{"what is scored",
                     "",
                     {{"model", "the net with its data and DetectionEvaluate layers"},
                      "weights",
                      {"plan", "an engine (caffe build) that computes instead of the net"},
                      {"iterations", "batches (default 50)"},
                      "level",
                      "stage",
                      "ap_version",
                      "show_per_class_result"},
                     ""},
                    TypeFlags()};
  command.examples =
      "  caffe test_detection -model ssd_test.prototxt -weights ssd.caffemodel -iterations 100\n";
  command.is_caffes_own = true;
  command.run = [](const std::vector<std::string>&) { return TestDetection(); };
  return command;
}

}  // namespace caffe
