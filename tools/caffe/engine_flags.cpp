#include "engine_flags.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "../common/command_line.hpp"
#include "caffe/inference/results.hpp"
#include "caffe/util/text/progress.hpp"
#include "caffe/util/text/text_table.hpp"
#include "net_flags.hpp"

CAFFE_FLAG(
    string, precision, "fp32", "fp32|fp16|bf16|int8|best",
    "what layers with weights compute in (default fp32); best: what is fastest for each layer "
    "on this machine");
CAFFE_FLAG(
    string, quantization, "", "symmetric|affine|paper",
    "int8: how numbers become integers: symmetric, without zero points; affine, blobs with a "
    "zero point; paper, weights too, with one scale for each layer (Jacob et al., "
    "arXiv:1712.05877). Default: what the net was trained for, else symmetric");
CAFFE_FLAG(string, arithmetic, "", "float|integer|integer_only",
           "int8: what is computed between sums of products: float (default, unless the prototxt "
           "says otherwise); integer, integers "
           "alone, but for layers that they cannot hold, which are named; integer_only, such a "
           "layer is an error. Integers give the same bits on every machine, on CPU and GPU");
CAFFE_FLAG(string, rounding, "", "double|single",
           "-arithmetic integer: sums are rounded twice, as published (default), or once, as "
           "LiteRT's newer kernels do");
CAFFE_FLAG(
    bool, reduce_range, false, "",
    "int8, on processors with AVX2 or AVX-512 but without VNNI: weights of convolutions are "
    "rounded so that bytes can be multiplied, in 1x1 layers 1.2 to 1.4 times as fast: no two "
    "neighbours have a sum beyond 128 steps. Costs some of their accuracy, where the rest "
    "needs a larger scale: caffe compare says how much");
CAFFE_FLAG(bool, tf32, false, "", "on a GPU, fp32 may round factors to 10 bits, for tensor cores");
CAFFE_FLAG(string, layer_precision, "", "NAME=TYPE,...",
           "other precisions for these layers. What a layer cannot do in its type it does in the "
           "best one that it can, and a note says so");
CAFFE_FLAG(int32, max_batch, 0, "N",
           "the largest batch that the engine runs (default: the batch in the prototxt)");
CAFFE_FLAG(
    string, input_shape, "", "NAME=NxCxHxW,...",
    "the largest shapes of inputs (default: those in the prototxt); the name of a net's only "
    "input may be left out");
CAFFE_FLAG(string, min_shape, "", "SHAPES",
           "instead of these two a range: the smallest shapes, as for -input_shape (default: "
           "-opt_shape). Several ranges, each with a choice of implementations and memory of its "
           "own, are separated by ':'");
CAFFE_FLAG(string, opt_shape, "", "SHAPES",
           "the shapes in which candidates are timed (default: -max_shape)");
CAFFE_FLAG(string, max_shape, "", "SHAPES", "the largest shapes (default: -opt_shape)");
CAFFE_FLAG(double, workspace, 0, "MB",
           "scratch memory that a layer may take (default: any); 1 MB is 2^20 bytes");
CAFFE_FLAG(double, memory, 0, "MB",
           "weights, activations and scratch memory together (default: any)");
CAFFE_FLAG(string, timing_cache, "", "FILE",
           "times of this machine: the next build with it is fast and chooses the same");
CAFFE_FLAG(int32, timing_iterations, 5, "N", "how often each candidate is timed");
CAFFE_FLAG(string, hint, "latency", "latency|throughput",
           "what the CPU's threads are for: latency, they share each loop of one run; throughput, "
           "each does a run of its own. Plans are tuned for it, time and infer run them so");
CAFFE_FLAG(string, skip_pass, "", "A,B",
           "leave out these passes (-list_passes shows which can be)");
CAFFE_FLAG(double, max_accuracy_loss, 0, "X",
           "with -precision best: layers are widened until what is lost on the data is at most X: "
           "the share of images that are no longer recognised (0.003 is 0.3 %), where they have "
           "labels; else the outputs' error, relative to their values");

DECLARE_string(mean);

namespace caffe {
namespace {

/// "NAME=VALUE,NAME=VALUE": each NAME, VALUE.
std::vector<std::pair<std::string, std::string>> Pairs(const std::string& flag,
                                                       const std::string& text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& part : SplitAt(',', text)) {
    const size_t equals = part.rfind('=');
    Require(equals != std::string::npos && equals > 0 && equals + 1 < part.size(), flag, ": '",
            part, "' is not NAME=VALUE");
    pairs.emplace_back(part.substr(0, equals), part.substr(equals + 1));
  }
  return pairs;
}

/// The shapes of each profile.
std::vector<std::map<std::string, Shape>> ParseProfiles(const std::string& flag,
                                                        const std::string& text) {
  std::vector<std::map<std::string, Shape>> profiles;
  for (const std::string& part : SplitAt(':', text)) {
    profiles.push_back(ParseShapes(flag, part));
  }
  return profiles;
}

/// The ranges that -min_shape, -opt_shape and -max_shape say.
std::vector<inference::ShapeProfile> ProfilesOfFlags() {
  const auto least = ParseProfiles("-min_shape", FLAGS_min_shape),
             best = ParseProfiles("-opt_shape", FLAGS_opt_shape),
             most = ParseProfiles("-max_shape", FLAGS_max_shape);
  const size_t count = std::max({least.size(), best.size(), most.size()});
  std::vector<inference::ShapeProfile> profiles(count);
  if (count == 0) return profiles;
  Require(FLAGS_max_batch == 0 && FLAGS_input_shape.empty(), "a range says the largest shapes",
          Error::Remedy{"leave -max_batch and -input_shape out"});
  for (const auto* shapes : {&least, &best, &most}) {
    Require(shapes->empty() || shapes->size() == count, Error::Field{"-min_shape"},
            ", -opt_shape and -max_shape say ", least.size(), ", ", best.size(), " and ",
            most.size(), " ranges", Error::Remedy{"give as many in each, separated by ':'"});
  }
  for (size_t i = 0; i < count; ++i) {
    if (!least.empty()) profiles[i].min = least[i];
    if (!best.empty()) profiles[i].opt = best[i];
    if (!most.empty()) profiles[i].max = most[i];
  }
  return profiles;
}

std::vector<int> LabelsOf(const InputBatches& batches, const inference::Tensors& others) {
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

void CheckEngineFlags() {
  const bool best = inference::ParsePrecision(FLAGS_precision) == inference::Precision::BEST;
  Require(best || !IsGiven("max_accuracy_loss"), Error::Field{"-max_accuracy_loss"},
          " is for -precision best, not for ", FLAGS_precision);
  Require(!FLAGS_tf32 || !FLAGS_gpu.empty(), "-tf32 is for GPUs", Error::Remedy{"give -gpu N"});
  Require(FLAGS_max_accuracy_loss >= 0, Error::Field{"-max_accuracy_loss"},
          " must not be negative, got ", FLAGS_max_accuracy_loss);
  Require(FLAGS_timing_iterations >= 0, Error::Field{"-timing_iterations"},
          " must not be negative, got ", FLAGS_timing_iterations);
  for (const auto& pair : Pairs("-layer_precision", FLAGS_layer_precision)) {
    inference::ParsePrecision(pair.second);
  }
  if (!FLAGS_quantization.empty()) inference::ParseQuantizationScheme(FLAGS_quantization);
  if (!FLAGS_arithmetic.empty()) inference::ParseArithmetic(FLAGS_arithmetic);
  if (!FLAGS_rounding.empty()) inference::ParseRounding(FLAGS_rounding);
  ParseShapes("-input_shape", FLAGS_input_shape);
  ProfilesOfFlags();
  BytesOfMegabytes("-workspace", FLAGS_workspace);
  BytesOfMegabytes("-memory", FLAGS_memory);
}

/// Refuses impossible flags before the work.
inference::NetworkDefinition Definition(const NetParameter& param,
                                        const std::vector<std::string>& weights,
                                        bool takes_pixels) {
  CheckEngineFlags();
  RequireOtherFiles({});
  auto net = inference::NetworkDefinition::FromCaffe(param, weights);
  if (takes_pixels) NormalizeImages(Preprocessing(param), &net);
  return net;
}

/// Those that never compute in INT8.
std::set<std::string> WidenedLayers(const std::map<std::string, inference::Precision>& layers) {
  std::set<std::string> widened;
  for (const auto& [name, precision] : layers) {
    const bool may_be_int8 =
        precision == inference::Precision::INT8 || precision == inference::Precision::BEST;
    if (!may_be_int8) widened.insert(name);
  }
  return widened;
}

}  // namespace

void NormalizeImages(const inference::ImagePreprocessing& preprocessing,
                     inference::NetworkDefinition* net) {
  const inference::Graph& graph = net->graph();
  const auto takes_images = [&](int input) {
    const inference::Value& value = graph.values[input];
    return value.shape.size() == 4 &&
           (preprocessing.input.empty() || preprocessing.input == value.name);
  };
  const auto input = std::find_if(graph.inputs.begin(), graph.inputs.end(), takes_images);
  Require(input != graph.inputs.end(), Error::Field{"-normalize"}, ": net '", graph.name,
          "' has no input that takes images");
  Require(!preprocessing.mean.empty() || preprocessing.scale != 1, Error::Field{"-normalize"},
          ": there is neither -mean nor -scale, nor a transform_param in the net");
  const std::string name = graph.values[*input].name;
  const Shape shape = graph.values[*input].shape;
  net->NormalizeInput(name,
                      preprocessing.HasMeanImage(shape[1])
                          ? preprocessing.MiddleOfMeanImage(shape[1], shape[2], shape[3])
                          : preprocessing.mean,
                      preprocessing.scale);
  net->SetRange(name, 0, 255);
}

std::map<std::string, Shape> ParseShapes(const std::string& flag, const std::string& text) {
  std::map<std::string, Shape> shapes;
  for (const std::string& part : SplitAt(',', text)) {
    const size_t equals = part.rfind('=');
    const bool is_named = equals != std::string::npos;
    const std::string name = is_named ? part.substr(0, equals) : "";
    Require(!is_named || equals > 0, flag, ": '", part, "' is not NAME=SHAPE");
    const Shape shape =
        ParseShape(is_named ? flag + " " + name : flag, is_named ? part.substr(equals + 1) : part);
    Require(shapes.emplace(name, shape).second, flag, ": ",
            is_named ? "input '" + name + "' has two shapes"
                     : "of several shapes each needs its input's name: NAME=SHAPE,NAME=SHAPE");
  }
  return shapes;
}

std::vector<FlagGroup> EngineFlags() {
  FlagGroup calibration = CalibrationFlags();
  calibration.title = "int8, and best with int8, need the range of each blob";
  calibration.flags.insert(
      calibration.flags.begin(),
      FlagUse(
          "calibration_table",
          "a table of caffe calibrate, a TensorRT calibration cache or an ncnn table; or data to "
          "calibrate on, and these:"));
  calibration.flags.push_back("plot");
  return {{"the engine",
           "",
           {"precision",    "quantization",      "arithmetic", "rounding",    "reduce_range",
            "tf32",         "layer_precision",   "max_batch",  "input_shape", "min_shape",
            "opt_shape",    "max_shape",         "workspace",  "memory",      "hint",
            "timing_cache", "timing_iterations", "skip_pass",  "level",       "stage"},
           "  -gpu N                builds for this GPU, and no other; without it for the CPU\n"},
          calibration};
}

void RequireOtherFiles(const std::vector<NamedFile>& also) {
  std::vector<NamedFile> written = also, read = FilesRead();
  written.push_back({"-plot", FLAGS_plot});
  written.push_back({"-timing_cache", FLAGS_timing_cache});
  read.push_back({"-calibration_table", FLAGS_calibration_table});
  RequireOtherFiles(written, read);
}

inference::ThreadSplit ThreadsOfHint() {
  Require(!IsGiven("hint") || FLAGS_gpu.empty(), Error::Field{"-hint"},
          " is about the threads of the CPU", Error::Remedy{"leave it out with -gpu"});
  return inference::SplitThreads(inference::ParseHint(FLAGS_hint));
}

void NoteTunedThreads(const inference::Engine& engine, std::ostream& out) {
  const int tuned = engine.tuned_threads(), here = ThreadsOfHint().threads;
  if (tuned == 0 || tuned == here) return;
  out << "note: the plan was tuned for " << ThreadsText(tuned) << ", a run has " << here
      << " here: built again with the same -threads and -hint it may be faster\n";
}

EngineMaker::EngineMaker(const NetParameter& param, std::vector<std::string> weights,
                         std::ostream* out, bool for_all, bool takes_pixels)
    : for_all_(for_all),
      takes_pixels_(takes_pixels),
      param_(param),
      weights_(std::move(weights)),
      out_(out),
      builder_(FLAGS_timing_cache, out),
      net_(Definition(param, weights_, takes_pixels)) {
  SetConfig();
  SetPreprocessing();
  SetCalibration();
}

std::unique_ptr<InputBatches> EngineMaker::EngineInputs(const Net<float>& net,
                                                        int most_batches) const {
  Require(!takes_pixels_ || (net.num_inputs() > 0 && FLAGS_npy.empty()), Error::Field{"-normalize"},
          ": engines are measured on images; give -images or -data");
  if (!takes_pixels_) return Inputs(net, param_, most_batches);
  inference::ImagePreprocessing preprocessing = Preprocessing(param_);
  preprocessing.engine_normalizes = true;
  return Inputs(net, preprocessing, most_batches);
}

inference::AccuracyLoss EngineMaker::Judge(InputBatches* batches, int most,
                                           bool with_labels) const {
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
        with_labels ? LabelsOf(*batches, source.ReadOthers(*feed)) : std::vector<int>();
    loss.Add(inputs, inference::RunInPieces(inputs, &context), labels);
    progress.Update(i + 1);
  }
  return loss;
}

void EngineMaker::SetConfig() {
  config.precision = inference::ParsePrecision(FLAGS_precision);
  if (!FLAGS_quantization.empty()) {
    config.quantization.scheme = inference::ParseQuantizationScheme(FLAGS_quantization);
  }
  if (!FLAGS_arithmetic.empty()) {
    config.quantization.arithmetic = inference::ParseArithmetic(FLAGS_arithmetic);
  }
  if (!FLAGS_rounding.empty()) {
    config.quantization.rounding = inference::ParseRounding(FLAGS_rounding);
  }
  config.quantization.reduce_range = FLAGS_reduce_range;
  if (!FLAGS_gpu.empty()) config.backend = inference::Backend::CUDA;
  config.tensor_float = FLAGS_tf32;
  for (const auto& pair : Pairs("-layer_precision", FLAGS_layer_precision)) {
    config.layer_precisions[pair.first] = inference::ParsePrecision(pair.second);
  }
  config.max_batch = FLAGS_max_batch;
  config.max_input_shapes = ParseShapes("-input_shape", FLAGS_input_shape);
  config.profiles = ProfilesOfFlags();
  config.threads = ThreadsOfHint().threads;
  config.timing_iterations = FLAGS_timing_iterations;
  config.max_workspace = BytesOfMegabytes("-workspace", FLAGS_workspace);
  config.max_memory = BytesOfMegabytes("-memory", FLAGS_memory);
  config.max_accuracy_loss = FLAGS_max_accuracy_loss;
  config.skip_passes = SplitAtCommas(FLAGS_skip_pass);
}

void EngineMaker::SetClassNames() {
  const inference::ClassNames names = ClassNamesOfFlag();
  const inference::Graph& graph = net_.graph();
  for (const inference::Node& node : graph.nodes) {
    for (const int output : node.outputs) {
      if (!graph.IsOutput(output)) continue;
      const inference::Value& value = graph.values[output];
      if (node.layer.has_detection_output_param()) {
        names.RequireFor(value.name,
                         static_cast<int>(node.layer.detection_output_param().num_classes()));
      } else if (value.shape.size() >= 2 && value.shape[0] == inference::BatchOf(graph) &&
                 inference::CountOf(value.shape) == size_t(value.shape[0]) * value.shape[1]) {
        names.RequireFor(value.name, value.shape[1]);
      }
    }
  }
  config.class_names = names.names();
}

/// What the plan will know of images.
void EngineMaker::SetPreprocessing() {
  if (!FLAGS_labels.empty()) SetClassNames();
  try {
    config.preprocessing = GivenPreprocessing(param_);
  } catch (const Error& error) {
    // What is left is a mean_file of the net's own that is not there.
    if (PreprocessingIsGiven() || takes_pixels_) throw;
    *out_ << "note: the plan will not know how images are prepared: " << error.what()
          << ": give -mean\n";
    return;
  }
  if (!config.preprocessing) return;
  config.preprocessing->engine_normalizes = takes_pixels_;
  // Of a net that reads data, what it reads.
  for (const LayerParameter& layer : param_.layer()) {
    if (!layer.has_transform_param() || layer.top_size() == 0) continue;
    const int input = net_.graph().FindValue(layer.top(0));
    if (input >= 0 && net_.graph().IsInput(input)) config.preprocessing->input = layer.top(0);
    break;
  }
}

bool EngineMaker::DemandsInt8() const {
  bool int8 = config.precision == inference::Precision::INT8;
  for (const auto& layer : config.layer_precisions) {
    int8 |= layer.second == inference::Precision::INT8;
  }
  return int8;
}

void EngineMaker::SetCalibration() {
  const bool best = config.precision == inference::Precision::BEST;
  const bool judged = best && IsGiven("max_accuracy_loss");
  if (!DemandsInt8() && !best && !for_all_) return;
  std::unique_ptr<Net<float>> net = FloatNet(param_, weights_);
  const bool data = DataIsGiven() || net->num_inputs() == 0;
  if (!FLAGS_calibration_table.empty()) {
    config.calibration = ReadTable(FLAGS_calibration_table, *net, param_, *out_);
  } else if (data) {
    config.calibration = std::make_shared<const CalibrationTable>(
        CalibrateByFlags(net.get(), param_, *out_, WidenedLayers(config.layer_precisions),
                         for_all_ ? &seen_ : nullptr));
  } else if (!net_.quantization().training) {
    Require(!DemandsInt8(), "int8 needs the range of each blob: give -calibration_table FILE, or ",
            kInputFlags, " to calibrate on");
    if (!best) return;
    config.allowed = {inference::Precision::FP32, inference::Precision::FP16,
                      inference::Precision::BF16};
    *out_ << "note: best chooses among fp32, fp16 and bf16: int8 needs -calibration_table, or "
             "data to calibrate on\n";
  }
  if (judged) SetAccuracyLoss(*net, data);
  if (seen_) calibrated_ = std::move(net);
}

void EngineMaker::SetAccuracyLoss(const Net<float>& net, bool data) {
  Require(data, Error::Field{"-max_accuracy_loss"},
          " needs data to measure the loss on: ", kInputFlags);
  const int most = FLAGS_batches > 0 ? FLAGS_batches : kDefaultBatches;
  const std::unique_ptr<InputBatches> batches = EngineInputs(net, most);
  const auto loss = std::make_shared<inference::AccuracyLoss>(
      Judge(batches.get(), FLAGS_batches, /*with_labels=*/true));
  if (loss->HasLabels()) {
    *out_ << "top-1 of " << loss->items()
          << " images in FP32: " << PercentText(loss->FloatAccuracy()) << "; it may lose "
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

}  // namespace caffe
