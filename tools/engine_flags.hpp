#ifndef CAFFE_TOOLS_ENGINE_FLAGS_HPP_
#define CAFFE_TOOLS_ENGINE_FLAGS_HPP_

#include <gflags/gflags.h>

#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "caffe/inference/accuracy_loss.hpp"
#include "calibrate.hpp"
#include "engine_building.hpp"
#include "input_flags.hpp"
#include "normalization.hpp"

// The flags by which build, infer and compare are told what engine to make of a net.

DEFINE_string(precision, "fp32", "build, infer, compare: fp32, fp16, bf16, int8 or best.");
DEFINE_string(layer_precision, "",
              "build, infer, compare: other precisions of layers: conv1=fp32,fc=fp16.");
DEFINE_string(timing_cache, "",
              "build, infer, compare: a file of measured times, read and written.");
DEFINE_int32(timing_iterations, 5, "build, infer, compare: how often each candidate is timed.");
DEFINE_double(workspace, 0, "build, infer, compare: MB of scratch memory that a layer may take.");
DEFINE_double(memory, 0, "build, infer, compare: MB that an engine may take altogether.");
DEFINE_string(input_shape, "",
              "build, infer, compare: the largest shapes of inputs: data=1x3x300x300.");
DEFINE_double(max_accuracy_loss, 0,
              "build: what -precision best may cost: a share of top-1, else an output error.");
DEFINE_int32(max_batch, 0,
             "build, infer, compare: the largest batch that the engine runs; 0: the prototxt's.");
DEFINE_bool(
    tf32, false,
    "build, infer, compare: on a GPU, fp32 may round factors to 10 bits, for tensor cores.");
DEFINE_string(skip_pass, "",
              "build, infer, compare: names of passes to leave out, separated by ','.");

DECLARE_string(gpu);

namespace caffe {

constexpr char kEngineFlagsUsage[] = R"(
the engine:
  -precision fp32|fp16|bf16|int8|best
                        what layers with weights compute in (default fp32); best: what is fastest
                        for each layer on this machine
  -gpu N                for this GPU, and no other; without it for the CPU
  -tf32                 on a GPU, fp32 may round factors to 10 bits, for tensor cores
  -layer_precision NAME=TYPE,...
                        other precisions for these layers. What a layer cannot do in its type it
                        does in the best one that it can, and a note says so
  -max_batch N          the largest batch that the engine runs (default: the batch in the prototxt)
  -input_shape NAME=NxCxHxW,...
                        the largest shapes of inputs (default: those in the prototxt)
  -workspace MB         scratch memory that a layer may take (default: any); 1 MB is 2^20 bytes
  -memory MB            weights, activations and scratch memory together (default: any)
  -timing_cache FILE    times of this machine: the next build with it is fast and chooses the same
  -timing_iterations N  how often each candidate is timed (default 5)
  -skip_pass A,B        leave out these passes
  -level N, -stage A,B  the net's state, for include and exclude rules

int8, and best with int8, need the range of each blob:
  -calibration_table FILE  a table of ours, a TensorRT calibration cache or an ncnn table; or data
                        to calibrate on, and caffe calibrate's -calibrator, -percent, -batches,
                        -min_images, -leave_out and -plot
)";

namespace engine_flags {

/// "NAME=VALUE,NAME=VALUE": each NAME, VALUE.
inline std::vector<std::pair<std::string, std::string>> Pairs(const std::string& flag,
                                                              const std::string& text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    const size_t equals = part.rfind('=');
    Require(equals != std::string::npos && equals > 0 && equals + 1 < part.size(), flag, ": '",
            part, "' is not NAME=VALUE");
    pairs.emplace_back(part.substr(0, equals), part.substr(equals + 1));
  }
  return pairs;
}

/// "1x3x300x300".
inline Shape ParseShape(const std::string& flag, const std::string& text) {
  Shape shape;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, 'x');) {
    const bool number = !part.empty() && part.size() < 10 &&
                        part.find_first_not_of("0123456789") == std::string::npos;
    Require(number && std::stoi(part) > 0, flag, ": '", text, "' is no shape as in 1x3x300x300");
    shape.push_back(std::stoi(part));
  }
  Require(!shape.empty(), flag, ": '", text, "' is no shape as in 1x3x300x300");
  return shape;
}

inline bool DataIsGiven() {
  return !FLAGS_images.empty() || !FLAGS_data.empty() || !FLAGS_npy.empty();
}

}  // namespace engine_flags

/// Makes engines of a net as the flags say.
class EngineMaker {
 public:
  /// `param` is the net of `model` with the state that the command line gives. Notes, and what
  /// calibration finds, go to `out`. With `for_all` engines of every precision can be built, of
  /// INT8 where there is a table or data to calibrate on; what calibration saw is kept. With
  /// `takes_pixels` mean and scale of pictures become part of the engines; calibration runs the net
  /// as it is, on pictures with mean and scale.
  EngineMaker(const NetParameter& param, std::string model, std::vector<std::string> weights,
              std::ostream* out, bool for_all = false, bool takes_pixels = false)
      : for_all_(for_all),
        takes_pixels_(takes_pixels),
        param_(param),
        model_(std::move(model)),
        weights_(std::move(weights)),
        out_(out),
        builder_(FLAGS_timing_cache, out),
        net_(Definition(param, weights_, takes_pixels)) {
    SetConfig();
    SetCalibration();
  }

  /// May be changed before a Build.
  inference::BuilderConfig config;
  const inference::NetworkDefinition& net() const { return net_; }
  /// What the flags say that engines shall run on.
  std::unique_ptr<InputBatches> EngineInputs(const Net<float>& net, int most_batches) const {
    Require(!takes_pixels_ || (net.num_inputs() > 0 && FLAGS_npy.empty()),
            "-normalize: engines are measured on pictures; give -images or -data");
    const PicturePreparation preparation = Preparation(param_);
    return Inputs(net, takes_pixels_ ? WithoutMeanAndScale(preparation) : preparation,
                  most_batches);
  }
  /// What calibration saw; a null pointer if there was none, or it was not kept.
  const ActivationStatistics* statistics() const { return seen_ ? &seen_->statistics : nullptr; }

  std::shared_ptr<const inference::Engine> Build() const { return builder_.Build(net_, config); }

  /// What FLOAT makes of these batches, at most `most` of them (0: all), on the reference backend.
  inference::AccuracyLoss Judge(InputBatches* batches, int most, bool with_labels) const {
    inference::BuilderConfig reference;
    reference.backend = inference::Backend::REFERENCE;
    reference.max_batch = config.max_batch;
    reference.max_input_shapes = config.max_input_shapes;
    const auto engine = inference::Builder(reference).Build(net_);
    inference::ExecutionContext context(engine);
    const std::unique_ptr<Net<float>> feed = FloatNet(param_, {});
    const inference::InputSource source(*feed, *engine);
    inference::AccuracyLoss loss;
    Progress progress("batch", batches->batches(*feed));
    for (int i = 0; (most == 0 || i < most) && batches->Feed(i, feed.get()); ++i) {
      const inference::Tensors inputs = source.Read(feed.get());
      const std::vector<int> labels =
          with_labels ? Labels(*batches, source.ReadOthers(*feed)) : std::vector<int>();
      loss.Add(inputs, inference::RunInPieces(inputs, &context), labels);
      progress.Update(i + 1);
    }
    return loss;
  }

 private:
  /// Refuses impossible flags before the work.
  static inference::NetworkDefinition Definition(const NetParameter& param,
                                                 const std::vector<std::string>& weights,
                                                 bool takes_pixels) {
    CheckFlags();
    auto net = inference::NetworkDefinition::FromCaffe(param, weights);
    if (takes_pixels) NormalizePictures(Preparation(param), &net);
    return net;
  }

  static void CheckFlags() {
    const bool best = inference::ParsePrecision(FLAGS_precision) == inference::Precision::BEST;
    Require(best || !IsGiven("max_accuracy_loss"),
            "-max_accuracy_loss is for -precision best, not for ", FLAGS_precision);
    Require(!FLAGS_tf32 || !FLAGS_gpu.empty(), "-tf32 is for GPUs: give -gpu N");
    Require(FLAGS_max_accuracy_loss >= 0, "-max_accuracy_loss must not be negative, got ",
            FLAGS_max_accuracy_loss);
    Require(FLAGS_timing_iterations >= 0, "-timing_iterations must not be negative, got ",
            FLAGS_timing_iterations);
    for (const auto& pair : engine_flags::Pairs("-layer_precision", FLAGS_layer_precision)) {
      inference::ParsePrecision(pair.second);
    }
    for (const auto& pair : engine_flags::Pairs("-input_shape", FLAGS_input_shape)) {
      engine_flags::ParseShape("-input_shape " + pair.first, pair.second);
    }
    BytesOfMegabytes("-workspace", FLAGS_workspace);
    BytesOfMegabytes("-memory", FLAGS_memory);
  }

  void SetConfig() {
    config.precision = inference::ParsePrecision(FLAGS_precision);
    if (!FLAGS_gpu.empty()) config.backend = inference::Backend::CUDA;
    config.tensor_float = FLAGS_tf32;
    for (const auto& pair : engine_flags::Pairs("-layer_precision", FLAGS_layer_precision)) {
      config.layer_precisions[pair.first] = inference::ParsePrecision(pair.second);
    }
    config.max_batch = FLAGS_max_batch;
    for (const auto& pair : engine_flags::Pairs("-input_shape", FLAGS_input_shape)) {
      config.max_input_shapes[pair.first] =
          engine_flags::ParseShape("-input_shape " + pair.first, pair.second);
    }
    config.timing_iterations = FLAGS_timing_iterations;
    config.max_workspace = BytesOfMegabytes("-workspace", FLAGS_workspace);
    config.max_memory = BytesOfMegabytes("-memory", FLAGS_memory);
    config.max_accuracy_loss = FLAGS_max_accuracy_loss;
    std::istringstream passes(FLAGS_skip_pass);
    for (std::string pass; std::getline(passes, pass, ',');) config.skip_passes.push_back(pass);
  }

  bool DemandsInt8() const {
    bool int8 = config.precision == inference::Precision::INT8;
    for (const auto& layer : config.layer_precisions) {
      int8 |= layer.second == inference::Precision::INT8;
    }
    return int8;
  }

  void SetCalibration() {
    const bool best = config.precision == inference::Precision::BEST;
    const bool judged = best && IsGiven("max_accuracy_loss");
    if (!DemandsInt8() && !best && !for_all_) return;
    std::unique_ptr<Net<float>> net = FloatNet(param_, weights_);
    const bool data = engine_flags::DataIsGiven() || net->num_inputs() == 0;
    if (!FLAGS_calibration_table.empty()) {
      config.calibration = ReadTable(FLAGS_calibration_table, *net, param_, *out_);
    } else if (data) {
      config.calibration = std::make_shared<const CalibrationTable>(
          CalibrateByFlags(net.get(), param_, model_, *out_, for_all_ ? &seen_ : nullptr));
    } else {
      Require(!DemandsInt8(),
              "int8 needs the range of each blob: give -calibration_table FILE, or ", kInputFlags,
              " to calibrate on");
      if (!best) return;
      config.allowed = {inference::Precision::FP32, inference::Precision::FP16,
                        inference::Precision::BF16};
      *out_ << "note: best chooses among fp32, fp16 and bf16: int8 needs -calibration_table, or "
               "data to calibrate on\n";
    }
    if (judged) SetAccuracyLoss(*net, data);
    if (seen_) calibrated_ = std::move(net);
  }

  void SetAccuracyLoss(const Net<float>& net, bool data) {
    Require(data, "-max_accuracy_loss needs data to measure the loss on: ", kInputFlags);
    const int most = FLAGS_batches > 0 ? FLAGS_batches : calibrate::kDefaultBatches;
    const std::unique_ptr<InputBatches> batches = EngineInputs(net, most);
    const auto loss = std::make_shared<inference::AccuracyLoss>(
        Judge(batches.get(), FLAGS_batches, /*with_labels=*/true));
    if (loss->HasLabels()) {
      *out_ << "top-1 of " << loss->items()
            << " pictures in FP32: " << PercentText(loss->FloatAccuracy()) << "; it may lose "
            << PercentText(FLAGS_max_accuracy_loss) << '\n';
    } else {
      *out_ << "without labels -max_accuracy_loss bounds the error of the outputs, relative to "
               "their values: "
            << FLAGS_max_accuracy_loss << '\n';
    }
    config.accuracy_loss = [loss](const std::shared_ptr<const inference::Engine>& engine) {
      return (*loss)(engine);
    };
  }

  /// Those of the pictures; of a net's own data the values of which there is one for each.
  static std::vector<int> Labels(const InputBatches& batches, const inference::Tensors& others) {
    std::vector<int> labels;
    for (const InputItem& item : batches.items()) labels.push_back(item.label);
    for (const auto& other : others) {
      const std::vector<float>& values = other.second.values;
      if (values.size() != labels.size()) continue;
      std::copy(values.begin(), values.end(), labels.begin());
      break;
    }
    return labels;
  }

  const bool for_all_, takes_pixels_;
  const NetParameter param_;
  const std::string model_;
  const std::vector<std::string> weights_;
  std::ostream* const out_;
  std::unique_ptr<Net<float>> calibrated_;  // seen_ is of it
  std::unique_ptr<CalibrationData> seen_;
  const CachedBuilder builder_;
  const inference::NetworkDefinition net_;
};

}  // namespace caffe

#endif  // CAFFE_TOOLS_ENGINE_FLAGS_HPP_
