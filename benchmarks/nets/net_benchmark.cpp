// Times forward passes or training steps of one net, as many at a time as standard input asks for.
#include <gflags/gflags.h>
#include <google/protobuf/text_format.h>
#include <omp.h>

#include <cmath>
#include <ctime>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "../../tools/common/command_line.hpp"
#include "caffe/allocator.hpp"
#include "caffe/caffe.hpp"
#include "caffe/context.hpp"
#include "caffe/data_transformer.hpp"
#include "caffe/kernels/convert.hpp"
#include "caffe/util/io.hpp"

DEFINE_string(deploy, "", "The net with an Input layer (prototxt).");
DEFINE_string(train, "", "The net with a loss (prototxt); without it forward passes are timed.");
DEFINE_int32(batch, 1, "Images in a batch.");
DEFINE_string(save, "", "Write deploy's weights, filled at random, to this caffemodel, and end.");
DEFINE_string(reference, "",
              "Write deploy's images and output to this path and .input or .output, and end.");
DEFINE_string(weights, "", "Weights of deploy (caffemodel) instead of random ones.");
DEFINE_string(image, "", "A file whose image fills the batch, instead of random numbers.");
DEFINE_string(transform, "", "Fields of a transform_param for -image: scale: 0.5 mean_value: 104");
DEFINE_bool(compare, false, "Compare FLOAT16 with FLOAT, and end.");
DEFINE_bool(layers, false, "With -compare: layer by layer too.");
DEFINE_double(seconds, 4, "How long -compare takes, about.");
DEFINE_bool(memory, false, "Print what the net takes in memory, and end.");
DEFINE_int32(gpu, -1, "With -train: the GPU to train on; -1: the CPU.");
DEFINE_string(type, "FLOAT", "Storage type of activations and gradients: FLOAT or FLOAT16.");
DEFINE_string(math, "", "What layers multiply in: FLOAT, FLOAT16 or BFLOAT16; default: -type.");
DEFINE_string(engine, "", "The engine of the net, ONEDNN: direct convolutions.");

namespace {

using caffe::Blob;
using caffe::Net;
using caffe::NetParameter;
using caffe::Require;

const char kUsage[] = R"(net_benchmark: times forward passes or training steps of one net.

usage: net_benchmark -deploy FILE [-train FILE [-gpu N]] [-batch N] [-type FLOAT|FLOAT16]
                     [-math FLOAT|FLOAT16|BFLOAT16] [-engine NAME]
       net_benchmark -deploy FILE [-batch N] -compare [-layers]
       net_benchmark -deploy FILE [-batch N] [-type FLOAT|FLOAT16] [-weights FILE] -memory
       net_benchmark -deploy FILE [-batch N] [-weights FILE] [-image FILE [-transform TEXT]]
                     [-save CAFFEMODEL] -reference PREFIX
       net_benchmark -deploy FILE [-batch N] -save CAFFEMODEL [-reference PREFIX]

Reads numbers of iterations from standard input, one a line, and answers each with as many times in
milliseconds on one line. With -train a step is forward, backward and update by SGD with momentum, the
data layers of the net replaced by random images of deploy's shape and random labels; without it a
step is deploy's forward pass, its input written each time. -save writes a caffemodel for others to
read, -reference what it gives for the images: PREFIX.input and PREFIX.output, float numbers.
-compare takes turns with forward passes in FLOAT and FLOAT16 and prints the least processor time of
each (all threads together) and the memory that tensors and scratch take; with -layers also a row for
each layer together with those that work in place behind it. -memory prints three numbers in KiB:
weights, packed ones included, and activations with scratch, both by the allocator's count, and by how
much resident memory has grown after some passes; memory.py makes a table.

example:
  echo 20 | net_benchmark -deploy models/lenet/deploy.prototxt -batch 64
)";

constexpr int kClasses = 10;

caffe::Type TypeNamed(const char* flag, const std::string& name, const char* valid) {
  caffe::Type type;
  Require(caffe::Type_Parse(name, &type), flag, " ", name, ": valid are ", valid);
  return type;
}

caffe::Type StoredType() { return TypeNamed("-type", FLAGS_type, "FLOAT and FLOAT16"); }

NetParameter ReadNet(const std::string& file) {
  NetParameter net;
  caffe::ReadNetParamsFromTextFileOrDie(file, &net);
  const caffe::Type type = StoredType();
  net.set_default_forward_type(type);
  net.set_default_backward_type(type);
  if (!FLAGS_math.empty()) {
    const caffe::Type math = TypeNamed("-math", FLAGS_math, "FLOAT, FLOAT16 and BFLOAT16");
    net.set_default_forward_math(math);
    net.set_default_backward_math(math);
  }
  if (!FLAGS_engine.empty()) net.set_engine(FLAGS_engine);
  return net;
}

// The batch's shape: deploy's, with another number of images.
std::vector<int> DataShape() {
  NetParameter net = ReadNet(FLAGS_deploy);
  net.mutable_state()->set_phase(caffe::TEST);
  std::vector<int> shape = Net<float>(net).input_blobs().at(0)->shape();
  shape.at(0) = FLAGS_batch;
  return shape;
}

/// The image of -image at each place of the batch, resized.
void FillWithFile(Blob<float>* blob) {
#ifdef USE_OPENCV
  const cv::Mat image =
      caffe::ReadImageToCVMat(FLAGS_image, blob->height(), blob->width(), blob->channels() == 3);
  Require(!image.empty(), FLAGS_image, ": cannot be read");
  caffe::TransformationParameter transform;
  Require(google::protobuf::TextFormat::ParseFromString(FLAGS_transform, &transform), "-transform ",
          FLAGS_transform, ": no fields of a transform_param");
  caffe::DataTransformer<float>(transform, caffe::TEST)
      .Transform(std::vector<cv::Mat>(blob->num(), image), blob);
#else
  Require(false, FLAGS_image, ": this build has no OpenCV to read images with; blob ",
          blob->shape_string());
#endif
}

void FillImages(Blob<float>* blob) {
  if (!FLAGS_image.empty()) return FillWithFile(blob);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> value(0, 1);
  float* data = blob->mutable_cpu_data();
  for (int i = 0; i < blob->count(); ++i) data[i] = value(random);
}

// Weights like a trained net's: sums neither vanish nor overflow. Deploy files name no fillers.
void FillWeights(Net<float>* net) {
  if (!FLAGS_weights.empty()) return net->CopyTrainedLayersFrom(FLAGS_weights);
  std::mt19937 random(3);
  for (const auto& layer : net->layers()) {
    const bool norm = std::string(layer->type()) == "BatchNorm";
    const bool scale = std::string(layer->type()) == "Scale";
    for (size_t j = 0; j < layer->blobs().size(); ++j) {
      Blob<float>& blob = *layer->blobs()[j];
      float* data = blob.mutable_cpu_data();
      const bool weights = j == 0 && !norm && !scale && blob.num_axes() > 1;
      const float mean = (norm && j > 0) || (scale && j == 0) ? 1 : 0;
      const float deviation = weights ? std::sqrt(2.f * blob.shape(0) / blob.count()) : 0.f;
      std::normal_distribution<float> value(mean, std::max(deviation, 1e-6f));
      for (int i = 0; i < blob.count(); ++i) data[i] = value(random);
      // As after loading: each in its storage type only.
      blob.data_tensor().ForgetPointers();
      blob.data_tensor().Trim();
    }
  }
}

// Labels differ, so that the loss stays alive: with constant ones gradients vanish.
void FillLabels(Blob<float>* blob) {
  std::mt19937 random(2);
  std::uniform_int_distribution<int> label(0, kClasses - 1);
  float* data = blob->mutable_cpu_data();
  for (int i = 0; i < blob->count(); ++i) data[i] = static_cast<float>(label(random));
}

class Benchmark {
 public:
  virtual ~Benchmark() = default;
  virtual void Step() = 0;
};

using Layers = std::vector<caffe::shared_ptr<caffe::Layer<float>>>;

class ForwardBenchmark : public Benchmark {
 public:
  ForwardBenchmark() {
    NetParameter param = ReadNet(FLAGS_deploy);
    param.mutable_state()->set_phase(caffe::TEST);
    net_ = std::make_unique<Net<float>>(param);
    FillWeights(net_.get());
    input_ = net_->input_blobs().at(0);
    std::vector<int> shape = input_->shape();
    shape.at(0) = FLAGS_batch;
    input_->Reshape(shape);
    net_->Reshape();
    images_.Reshape(input_->shape());
    FillImages(&images_);
  }
  void WriteInput() { input_->CopyFrom(images_); }
  void Step() override {
    WriteInput();
    net_->Forward().at(0)->cpu_data();
  }
  Net<float>& net() { return *net_; }
  /// Frees all but the layers and what they keep.
  Layers ReleaseNet() {
    const Layers layers = net_->layers();
    net_.reset();
    return layers;
  }
  /// Gives the net its input in its own type, for good.
  void HandOverImages() {
    if (FLAGS_type == "FLOAT16") {
      caffe::kernels::Convert(images_.count(), images_.cpu_data(),
                              input_->overwrite_cpu_data_as<caffe::float16>());
    } else {
      WriteInput();
    }
    images_.data_tensor().Release(std::make_shared<const std::string>("the net has them"));
  }
  /// Writes the images and what the net gives for them.
  void WriteReference(const std::string& prefix) {
    Step();
    WriteNumbers(prefix + ".input", images_);
    WriteNumbers(prefix + ".output", *net_->output_blobs().at(0));
  }

 private:
  static void WriteNumbers(const std::string& path, const Blob<float>& blob) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(blob.cpu_data()), blob.count() * sizeof(float));
    Require(file.good(), path, ": cannot be written");
  }

  std::unique_ptr<Net<float>> net_;
  Blob<float>* input_;
  Blob<float> images_;
};

// The net with each data layer replaced by an Input layer of the same tops.
NetParameter TrainNet(const std::vector<int>& data_shape) {
  NetParameter net = ReadNet(FLAGS_train);
  NetParameter result = net;
  result.clear_layer();
  for (const caffe::LayerParameter& layer : net.layer()) {
    if (layer.type() != "Data") {
      *result.add_layer() = layer;
      continue;
    }
    bool training = layer.include_size() == 0;
    for (const caffe::NetStateRule& rule : layer.include())
      training |= rule.phase() == caffe::TRAIN;
    if (!training) continue;
    caffe::LayerParameter* input = result.add_layer();
    input->set_name(layer.name());
    input->set_type("Input");
    *input->mutable_top() = layer.top();
    caffe::BlobShape* images = input->mutable_input_param()->add_shape();
    for (const int dim : data_shape) images->add_dim(dim);
    input->mutable_input_param()->add_shape()->add_dim(data_shape.at(0));
  }
  return result;
}

class TrainBenchmark : public Benchmark {
 public:
  TrainBenchmark() {
    if (FLAGS_gpu >= 0) {
      caffe::Caffe::SetDevice(FLAGS_gpu);
      caffe::Caffe::set_mode(caffe::Caffe::GPU);
    }
    caffe::SolverParameter param;
    param.set_solver_mode(FLAGS_gpu >= 0 ? caffe::SolverParameter::GPU
                                         : caffe::SolverParameter::CPU);
    *param.mutable_train_net_param() = TrainNet(DataShape());
    param.set_base_lr(0.001f);
    param.set_lr_policy("fixed");
    param.set_momentum(0.9f);
    param.set_weight_decay(0.0005f);
    param.set_max_iter(1000000000);
    param.set_display(0);
    param.set_random_seed(1);
    solver_.reset(caffe::SolverRegistry<float>::CreateSolver(param));
    const std::vector<Blob<float>*>& inputs = solver_->net()->input_blobs();
    Require(inputs.size() == 2, FLAGS_train, ": a net with one data layer of two tops is needed");
    FillImages(inputs[0]);
    FillLabels(inputs[1]);
  }
  void Step() override {
    solver_->Step(1);
    if (FLAGS_gpu >= 0) caffe::Context::Current().stream().Synchronize();
  }

 private:
  caffe::shared_ptr<caffe::Solver<float>> solver_;
};

double Milliseconds() { return 1000. * std::clock() / CLOCKS_PER_SEC; }

/// A net of one type, its fastest pass so far, and what its tensors and scratch take at most.
struct Contestant {
  explicit Contestant(const std::string& type) {
    const size_t before = caffe::Allocator::bytes_in_use();
    FLAGS_type = type;
    net = std::make_unique<ForwardBenchmark>();
    for (int i = 0; i < 4; ++i) net->Step();
    caffe::Allocator::ResetPeak();
    net->Step();
    bytes = caffe::Allocator::peak_bytes() - before;
  }
  void Step() {
    const double start = Milliseconds();
    net->Step();
    least_ms = std::min(least_ms, Milliseconds() - start);
  }
  std::unique_ptr<ForwardBenchmark> net;
  size_t bytes;
  double least_ms = HUGE_VAL;
};

/// A layer and those right behind it that work in place on its top, which it may do the work of.
struct Part {
  int first, last;
  double least_ms[2] = {HUGE_VAL, HUGE_VAL};  // FLOAT, FLOAT16
};

std::vector<Part> PartsOf(const Net<float>& net) {
  std::vector<Part> parts;
  for (int i = 0; i < static_cast<int>(net.layers().size()); ++i) {
    const bool in_place = i > 0 && net.bottom_ids(i) == net.top_ids(i) &&
                          net.top_ids(i) == net.top_ids(parts.back().first);
    if (in_place) {
      parts.back().last = i;
    } else {
      parts.push_back({i, i});
    }
  }
  return parts;
}

// Nets in turns, so that each part finds the caches as in a pass.
void CompareLayers(Contestant* wide, Contestant* half, double seconds) {
  std::vector<Part> parts = PartsOf(wide->net->net());
  const double start = Milliseconds();
  for (int i = 0; i < 4 || Milliseconds() - start < 1000 * seconds; ++i) {
    for (const int type : {0, 1}) {
      Contestant& contestant = type ? *half : *wide;
      contestant.net->WriteInput();
      for (Part& part : parts) {
        const double before = Milliseconds();
        contestant.net->net().ForwardFromTo(part.first, part.last);
        part.least_ms[type] = std::min(part.least_ms[type], Milliseconds() - before);
      }
    }
  }
  const Net<float>& net = wide->net->net();
  double total[2] = {};
  std::cout
      << "| layer | type | FLOAT ms | FLOAT16 ms | time |\n| --- | --- | ---: | ---: | ---: |\n";
  for (const Part& part : parts) {
    std::cout << "| " << net.layer_names()[part.first] << " | " << net.layers()[part.first]->type()
              << " | " << part.least_ms[0] << " | " << part.least_ms[1] << " | "
              << part.least_ms[1] / part.least_ms[0] << " |\n";
    for (const int type : {0, 1}) total[type] += part.least_ms[type];
  }
  std::cout << "| all |  | " << total[0] << " | " << total[1] << " | " << total[1] / total[0]
            << " |\n";
}

void Compare() {
  Contestant wide("FLOAT"), half("FLOAT16");
  const double start = Milliseconds();
  for (int i = 0; i < 4 || Milliseconds() - start < 1000 * FLAGS_seconds; ++i) {
    wide.Step();
    half.Step();
  }
  std::cout << "FLOAT " << wide.least_ms << " ms, FLOAT16 " << half.least_ms << " ms, "
            << half.least_ms / wide.least_ms << " times as long; " << wide.bytes / 1024 << " KiB, "
            << half.bytes / 1024 << " KiB, " << double(half.bytes) / wide.bytes << " times as much"
            << std::endl;
  if (FLAGS_layers) CompareLayers(&wide, &half, FLAGS_seconds);
}

/// A row of /proc/self/status in KiB; 0 where there is none.
size_t StatusKib(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != name + ":") continue;
    size_t kib = 0;
    status >> kib;
    return kib;
  }
  return 0;
}

/// Runs a net of a few small layers, which brings the library's code and threads into memory.
void WarmUp() {
  constexpr char kLayers[] = R"(
      layer { name: 'data' type: 'Input' top: 'data'
              input_param { shape { dim: 1 dim: 3 dim: 16 dim: 16 } } }
      layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv'
              convolution_param { num_output: 16 kernel_size: 3 pad: 1 } }
      layer { name: 'relu' type: 'ReLU' bottom: 'conv' top: 'conv' }
      layer { name: 'norm' type: 'LRN' bottom: 'conv' top: 'norm' }
      layer { name: 'conv2' type: 'Convolution' bottom: 'norm' top: 'conv2'
              convolution_param { num_output: 16 kernel_size: 3 pad: 1 } }
      layer { name: 'pool' type: 'Pooling' bottom: 'conv2' top: 'pool'
              pooling_param { kernel_size: 2 stride: 2 } }
      layer { name: 'ip' type: 'InnerProduct' bottom: 'pool' top: 'ip'
              inner_product_param { num_output: 16 } }
      layer { name: 'prob' type: 'Softmax' bottom: 'ip' top: 'prob' })";
  NetParameter param;
  CHECK(google::protobuf::TextFormat::ParseFromString(kLayers, &param));
  param.set_default_forward_type(StoredType());
  param.mutable_state()->set_phase(caffe::TEST);
  Net<float> net(param);
  net.input_blobs()[0]->mutable_cpu_data();
  for (int i = 0; i < 4; ++i) net.Forward();
}

void PrintMemory() {
  WarmUp();
  const size_t resident = StatusKib("VmRSS"), before = caffe::Allocator::bytes_in_use();
  ForwardBenchmark benchmark;
  benchmark.HandOverImages();
  // The first passes pack weights and find out what memory is needed.
  for (int i = 0; i < 4; ++i) benchmark.net().Forward();
  caffe::Allocator::ResetPeak();
  benchmark.net().Forward();
  const size_t now = StatusKib("VmRSS");
  const size_t all = caffe::Allocator::peak_bytes() - before;
  const Layers layers = benchmark.ReleaseNet();
  const size_t weights =
      caffe::Allocator::bytes_in_use() - before - caffe::Context::Current().workspace().capacity();
  std::cout << weights / 1024 << " " << (all - weights) / 1024 << " " << now - resident
            << std::endl;
}

int Run(int argc, char**) {
  Require(argc == 1 && !FLAGS_deploy.empty(), "give -deploy FILE; --help shows how");
  Require(FLAGS_gpu < 0 || !FLAGS_train.empty(), "-gpu is for training steps: give -train FILE");
  Require(FLAGS_batch > 0, "-batch must be positive, got ", FLAGS_batch);
  if (!FLAGS_save.empty()) {
    NetParameter param = ReadNet(FLAGS_deploy);
    param.mutable_state()->set_phase(caffe::TEST);
    Net<float> net(param);
    FillWeights(&net);
    net.ToBinaryProto(FLAGS_save);
  }
  if (!FLAGS_reference.empty()) ForwardBenchmark().WriteReference(FLAGS_reference);
  if (FLAGS_compare) Compare();
  if (FLAGS_memory) PrintMemory();
  if (!FLAGS_save.empty() || !FLAGS_reference.empty() || FLAGS_compare || FLAGS_memory) return 0;
  std::unique_ptr<Benchmark> benchmark;
  if (FLAGS_train.empty()) {
    benchmark = std::make_unique<ForwardBenchmark>();
  } else {
    benchmark = std::make_unique<TrainBenchmark>();
  }
  for (int iterations; std::cin >> iterations;) {
    for (int i = 0; i < iterations; ++i) {
      caffe::CPUTimer timer;
      timer.Start();
      benchmark->Step();
      std::cout << (i ? " " : "") << timer.MicroSeconds() / 1000;
    }
    std::cout << std::endl;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return caffe::RunTool(argc, argv, kUsage, Run); }
