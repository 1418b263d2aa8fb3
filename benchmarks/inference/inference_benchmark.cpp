// Times engines, as many passes at a time as standard input asks for; measures what the machine can
// do at most; calibrates on the images that all programs of a comparison get.
#include <gflags/gflags.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "../../tools/common/command_line.hpp"
#include "caffe/allocator.hpp"
#include "caffe/caffe.hpp"
#include "caffe/inference/builder.hpp"
#include "caffe/inference/graph/regions.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/inference/quantize/activation_statistics.hpp"
#include "caffe/kernels/processor_peaks.hpp"

DEFINE_string(model, "", "The net with an Input layer (prototxt).");
DEFINE_string(weights, "", "Its weights (caffemodel).");
DEFINE_int32(batch, 1, "Images in a batch.");
DEFINE_string(precision, "fp32",
              "fp32, fp16, bf16, int8, best; int8_reduced: with a reduced range of weights; "
              "integers: int8 in these alone.");
DEFINE_string(reference, "",
              "A path at which .input has the images and .output what the net gives for them.");
DEFINE_double(tolerance, 1e-3, "How far the output may be off, as a share of its largest value.");
DEFINE_string(table, "", "The calibration table, for int8; with -calibrate the one to write.");
DEFINE_string(timing_cache, "", "Times of earlier builds; what is new is added.");
DEFINE_bool(calibrate, false, "Write a table by the largest magnitudes on the images, and end.");
DEFINE_bool(describe, false, "Print sizes and operations of engine and net as JSON, and end.");
DEFINE_bool(peaks, false, "Print what the machine can do as JSON, and end.");

namespace {

using caffe::Blob;
using caffe::Net;
using caffe::Require;
using caffe::Shape;
using namespace caffe::inference;

const char kUsage[] = R"(inference_benchmark: times a net's engine.

usage: inference_benchmark -model FILE -weights FILE -reference PREFIX [-batch N] [-precision P]
                           [-table FILE] [-timing_cache FILE] [-tolerance T] [-describe]
       inference_benchmark -model FILE -weights FILE -reference PREFIX [-batch N] -calibrate -table FILE
       inference_benchmark -peaks

Reads numbers of passes from standard input, one a line, and answers each with as many times in
milliseconds on one line; in each the input is written first. An engine whose output is off is not
timed.
)";

caffe::NetParameter ReadModel() {
  caffe::NetParameter net;
  caffe::ReadNetParamsFromTextFileOrDie(FLAGS_model, &net);
  net.mutable_state()->set_phase(caffe::TEST);
  return net;
}

std::vector<float> ReadNumbers(const std::string& file) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  Require(in.good(), file, ": cannot be read");
  std::vector<float> numbers(size_t(in.tellg()) / sizeof(float));
  in.seekg(0);
  in.read(reinterpret_cast<char*>(numbers.data()), numbers.size() * sizeof(float));
  Require(in.good(), file, ": cannot be read");
  return numbers;
}

/// The float net with the batch's images in its input.
std::unique_ptr<Net<float>> MakeNet() {
  auto net = std::make_unique<Net<float>>(ReadModel());
  net->CopyTrainedLayersFrom(FLAGS_weights);
  Blob<float>* input = net->input_blobs().at(0);
  std::vector<int> shape = input->shape();
  shape.at(0) = FLAGS_batch;
  input->Reshape(shape);
  net->Reshape();
  const std::vector<float> images = ReadNumbers(FLAGS_reference + ".input");
  Require(images.size() == size_t(input->count()), FLAGS_reference, ".input: ", images.size(),
          " numbers, the net takes ", input->count());
  std::copy(images.begin(), images.end(), input->mutable_cpu_data());
  return net;
}

/// The images of -reference, once.
class TheImages : public caffe::MinMaxCalibrator {
 public:
  int64_t GetBatch(Net<float>*) override { return std::exchange(left_, 0); }

 private:
  int64_t left_ = FLAGS_batch;
};

void WriteTable() {
  const std::unique_ptr<Net<float>> net = MakeNet();
  caffe::CalibrationOptions options;
  options.minimum_images = 1;
  // Blobs that are constant on so few images stay float.
  caffe::ActivationStatistics seen(net.get());
  seen.Forward();
  for (const caffe::BlobStatistics& blob : seen.blobs()) {
    if (blob.histogram.IsConstant()) options.leave_out.insert(blob.blob);
  }
  TheImages images;
  caffe::Calibrate(net.get(), &images, options).Write(FLAGS_table);
}

std::shared_ptr<const Engine> BuildEngine() {
  BuilderConfig config;
  const bool integers = FLAGS_precision == "integers";
  config.quantization.reduce_range = FLAGS_precision == "int8_reduced";
  config.precision = integers || config.quantization.reduce_range ? Precision::INT8
                                                                  : ParsePrecision(FLAGS_precision);
  if (integers) {
    config.quantization.scheme = QuantizationScheme::AFFINE;
    config.quantization.arithmetic = Arithmetic::INTEGER;
  }
  config.max_batch = FLAGS_batch;
  if (!FLAGS_table.empty()) {
    config.calibration =
        std::make_shared<const caffe::CalibrationTable>(caffe::CalibrationTable::Read(FLAGS_table));
  }
  if (!FLAGS_timing_cache.empty()) {
    config.timing_cache = std::make_shared<TimingCache>(FLAGS_timing_cache);
  }
  config.remark = [](const std::string& line) { std::cerr << line << '\n'; };
  const auto engine =
      Builder(config).Build(NetworkDefinition::FromCaffe(ReadModel(), {FLAGS_weights}));
  if (config.timing_cache) config.timing_cache->Write(FLAGS_timing_cache);
  return engine;
}

/// Bytes that a Net of floats takes: parameters, blobs and scratch, at most.
size_t BytesOfNet() {
  const size_t before = caffe::Allocator::bytes_in_use();
  const std::unique_ptr<Net<float>> net = MakeNet();
  net->Forward();
  caffe::Allocator::ResetPeak();
  net->Forward();
  return caffe::Allocator::peak_bytes() - before;
}

void Describe() {
  const size_t net_bytes = BytesOfNet();
  Graph graph = NetworkDefinition::FromCaffe(ReadModel(), {FLAGS_weights}).graph();
  if (BatchOf(graph) != FLAGS_batch) graph = WithBatch(std::move(graph), FLAGS_batch);
  const auto engine = BuildEngine();
  double products = 0;
  for (const auto& [layer, of_layer] : ProductsByLayer(graph, ShapesOf(graph)))
    products += of_layer;
  size_t narrow = 0, all = 0;
  for (const LayerInfo& layer : engine->layers()) {
    if (layer.weight_bytes == 0) continue;
    ++all;
    narrow += layer.type_of_math != caffe::ElementType::FLOAT;
  }
  std::cout << "{\"weight_bytes\": " << engine->weight_bytes()
            << ", \"activation_bytes\": " << engine->activation_bytes()
            << ", \"net_bytes\": " << net_bytes << ", \"products\": " << products
            << ", \"narrow_layers\": " << narrow << ", \"weighted_layers\": " << all << "}"
            << std::endl;
}

void PrintPeaks() {
  using namespace caffe::kernels;
  const double products = FastestProducts(MeasureProductPeaks(), caffe::ElementType::FLOAT);
  std::cout << "{\"products_per_second\": " << products
            << ", \"bytes_per_second\": " << MeasureMemoryBandwidth() << "}" << std::endl;
}

/// Detections as their scores in order, which programs and precisions agree on; else all numbers.
std::vector<float> Comparable(const float* values, const Shape& shape) {
  if (shape.empty() || shape.back() != 7) return {values, values + CountOf(shape)};
  std::vector<float> scores;
  for (size_t i = 2; i < CountOf(shape); i += 7) scores.push_back(values[i]);
  std::sort(scores.begin(), scores.end(), std::greater<float>());
  return scores;
}

/// As a share of the largest value; of detections only as many as both have.
double Difference(const std::vector<float>& expected, const std::vector<float>& actual) {
  double largest = 0, difference = 0;
  for (size_t i = 0; i < std::min(expected.size(), actual.size()); ++i) {
    largest = std::max(largest, std::abs(double(expected[i])));
    const double off = std::abs(double(expected[i]) - actual[i]);
    difference = off <= difference ? difference : off;  // NaN stays
  }
  return difference / largest;
}

class EngineBenchmark {
 public:
  EngineBenchmark()
      : context_(BuildEngine()),
        input_(context_.engine().inputs().at(0)),
        output_(context_.engine().outputs().at(0)),
        images_(ReadNumbers(FLAGS_reference + ".input")) {
    Require(images_.size() == CountOf(context_.InputShape(input_)), FLAGS_reference,
            ".input: other images than the engine takes");
  }
  void Step() {
    std::copy(images_.begin(), images_.end(), context_.Input(input_));
    context_.Run();
    context_.Output(output_);
  }
  /// Throws Error if the output is off.
  void Check() {
    Step();
    std::vector<float> expected = ReadNumbers(FLAGS_reference + ".output");
    const Shape& shape = context_.OutputShape(output_);
    const auto actual = Comparable(context_.Output(output_), shape);
    if (!shape.empty() && shape.back() == 7) {
      expected = Comparable(expected.data(), {static_cast<int>(expected.size()) / 7, 7});
    }
    const double off = Difference(expected, actual);
    Require(off <= FLAGS_tolerance, "the output differs by ", off, " of the largest value");
  }

 private:
  ExecutionContext context_;
  const std::string input_, output_;
  const std::vector<float> images_;
};

void Serve() {
  EngineBenchmark benchmark;
  benchmark.Check();
  for (int passes; std::cin >> passes;) {
    for (int i = 0; i < passes; ++i) {
      caffe::CPUTimer timer;
      timer.Start();
      benchmark.Step();
      std::cout << (i ? " " : "") << timer.MicroSeconds() / 1000;
    }
    std::cout << std::endl;
  }
}

int Run(int argc, char**) {
  if (FLAGS_peaks) {
    PrintPeaks();
    return 0;
  }
  Require(argc == 1 && !FLAGS_model.empty() && !FLAGS_weights.empty() && !FLAGS_reference.empty(),
          "give -model, -weights and -reference; --help shows how");
  Require(FLAGS_batch > 0, "-batch must be positive, got ", FLAGS_batch);
  Require(!FLAGS_calibrate || !FLAGS_table.empty(), "-calibrate needs -table FILE");
  if (FLAGS_calibrate) WriteTable();
  if (FLAGS_describe) Describe();
  if (!FLAGS_calibrate && !FLAGS_describe) Serve();
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return caffe::RunTool(argc, argv, kUsage, Run); }
