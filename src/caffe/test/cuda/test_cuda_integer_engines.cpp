// Engines of integers alone on a GPU have the bits of the definitions. On the tests' device, and on
// the machine's own if it has one.
#include <gtest/gtest.h>

#include "caffe/inference/backends/cpu/cpu_target.hpp"
#include "caffe/inference/backends/cuda/cuda_engine.hpp"
#include "caffe/inference/builder.hpp"
#include "caffe/inference/evaluation/output_digest.hpp"
#include "caffe/test/support/each_device.hpp"
#include "caffe/test/support/integer_nets.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe::inference {
namespace {

class RandomNetsInIntegersOnAGpu : public ::testing::TestWithParam<Way> {};

TEST_P(RandomNetsInIntegersOnAGpu, HaveTheBitsOfTheDefinitions) {
  const Way& way = GetParam();
  for (const unsigned seed : Seeds(20)) {
    RandomNet random(seed);
    SCOPED_TRACE("CAFFE_TEST_SEED=" + std::to_string(seed) + "\n" + random.text());
    const std::unique_ptr<Net<float>> net = random.Make();
    net->Forward();
    const Graph integers = InIntegers(GraphOf(*net), RangesOfBlobs(*net), way.scheme, way.rounding);
    DefinitionsFirst definitions(cpu::CpuTarget());
    // Layers without an integer form are rounded as by the kernel for floats, then to a byte.
    const double exact = AllInIntegers(integers) ? 0 : 0.05;
    const NamedValues inputs = InputsOf(*net);
    const NamedValues defined = RunGraph(LoweredIntegers(integers, &definitions), inputs);
    OnEachDevice([&] {
      RandomTiming whatever(cuda::CudaTarget(), seed);
      const Graph lowered = LoweredIntegers(integers, &whatever);
      SCOPED_TRACE(ToText(lowered));
      ExpectSame(defined, RunGraph(lowered, inputs), exact, 1);
    });
    if (::testing::Test::HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(, RandomNetsInIntegersOnAGpu, ::testing::ValuesIn(kWays),
                         [](const auto& info) { return info.param.name; });

const char kIntegerNet[] = R"(
  name: 'small' state { phase: TEST }
  layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 3 dim: 3 dim: 8 dim: 8
    } } }
  layer { name: 'a' type: 'Convolution' bottom: 'data' top: 'a'
    convolution_param { num_output: 16 kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }
  layer { name: 'relu' type: 'ReLU' bottom: 'a' top: 'a' }
  layer { name: 'norm' type: 'LRN' bottom: 'a' top: 'norm' }
  layer { name: 'b' type: 'DepthwiseConvolution' bottom: 'norm' top: 'b'
    convolution_param { num_output: 16 kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }
  layer { name: 'sum' type: 'Eltwise' bottom: 'b' bottom: 'a' top: 'sum' }
  layer { name: 'pool' type: 'Pooling' bottom: 'sum' top: 'pool'
    pooling_param { pool: AVE kernel_size: 2 stride: 2 } }
  layer { name: 'c' type: 'Convolution' bottom: 'pool' top: 'c'
    convolution_param { num_output: 16 kernel_size: 1 weight_filler { type: 'xavier' } } }
  layer { name: 'tanh' type: 'TanH' bottom: 'c' top: 'c' }
  layer { name: 'join' type: 'Concat' bottom: 'pool' bottom: 'c' top: 'join' }
  layer { name: 'fc' type: 'InnerProduct' bottom: 'join' top: 'fc'
    inner_product_param { num_output: 5 weight_filler { type: 'xavier' } } }
  layer { name: 'prob' type: 'Softmax' bottom: 'fc' top: 'prob' })";

/// That net with an input, made in CPU mode.
struct IntegerNet {
  IntegerNet() : net(ParseNet(kIntegerNet)) {
    Blob<float>& data = *net.input_blobs()[0];
    for (int i = 0; i < data.count(); ++i) data.mutable_cpu_data()[i] = std::sin(i);
    net.Forward();
  }

  BuilderConfig Config(Backend backend, QuantizationScheme scheme) const {
    BuilderConfig config;
    config.backend = backend;
    config.precision = Precision::INT8;
    config.timing_iterations = backend == Backend::CUDA ? 1 : 0;
    config.calibration = std::make_shared<const CalibrationTable>(RangesOfBlobs(net));
    config.quantization.scheme = scheme;
    config.quantization.arithmetic = Arithmetic::INTEGER_ONLY;
    return config;
  }
  std::shared_ptr<const Engine> Build(Backend backend, QuantizationScheme scheme) const {
    return Builder(Config(backend, scheme)).Build(NetworkDefinition(GraphOf(net)));
  }
  std::string Digest(const std::shared_ptr<const Engine>& engine) const {
    const Blob<float>& data = *net.input_blobs()[0];
    ExecutionContext context(engine);
    OutputDigest digest(*engine);
    for (const int batch : {3, 3, 2}) {  // a recording, and a smaller batch
      context.SetBatch(batch);
      std::copy_n(data.cpu_data(), data.count() / 3 * batch, context.Input("data"));
      context.Run();
      digest.Add(Outputs(&context));
    }
    return digest.Text();
  }

  Net<float> net;
};

bool HasLayer(const Engine& engine, const std::string& name) {
  const std::vector<LayerInfo> layers = engine.layers();
  return std::any_of(layers.begin(), layers.end(),
                     [&](const LayerInfo& layer) { return layer.name == name; });
}

// Sums are a part of the convolution before them on the CPU alone.
TEST(CudaIntegerEngine, HasTheCpusDigestAndItsPlanToo) {
  const IntegerNet net;
  const std::string plan = NewFileName();
  for (const QuantizationScheme scheme :
       {QuantizationScheme::SYMMETRIC, QuantizationScheme::AFFINE, QuantizationScheme::PAPER}) {
    SCOPED_TRACE(Name(scheme));
    const auto on_cpu = net.Build(Backend::CPU, scheme);
    EXPECT_FALSE(HasLayer(*on_cpu, "sum"));
    const std::string expected = net.Digest(on_cpu);
    OnEachDevice([&] {
      const auto engine = net.Build(Backend::CUDA, scheme);
      for (const LayerInfo& layer : engine->layers()) {
        EXPECT_TRUE(layer.integers || layer.type == kReorder) << layer.name;
      }
      EXPECT_TRUE(HasLayer(*engine, "sum"));
      EXPECT_EQ(net.Digest(engine), expected);
      engine->Save(plan);
      EXPECT_EQ(net.Digest(Engine::Load(plan)), expected);
    });
  }
}

TEST(CudaIntegerEngine, NamesWhatIntegersCannotHold) {
  const IntegerNet net;
  OnEachDevice([&] {
    BuilderConfig config = net.Config(Backend::CUDA, QuantizationScheme::AFFINE);
    CalibrationTable table;
    for (const std::string& blob : config.calibration->blobs()) {
      if (blob != "b") table.Set(blob, config.calibration->At(blob));
    }
    config.calibration = std::make_shared<const CalibrationTable>(table);
    const NetworkDefinition definition(GraphOf(net.net));
    ExpectContains(ErrorOf([&] { Builder(config).Build(definition); }), "'b'");
    config.quantization.arithmetic = Arithmetic::INTEGER;
    std::vector<std::string> remarks;
    config.remark = [&](const std::string& line) { remarks.push_back(line); };
    ExecutionContext context(Builder(config).Build(definition));
    EXPECT_FALSE(remarks.empty());
    std::copy_n(net.net.input_blobs()[0]->cpu_data(), net.net.input_blobs()[0]->count(),
                context.Input("data"));
    context.Run();
    EXPECT_TRUE(std::isfinite(context.Output("prob")[0]));
  });
}

TEST(CudaIntegerEngine, ZeroPointsAreForIntegersAlone) {
  const IntegerNet net;
  const FakeDevice::Installed device;
  BuilderConfig config = net.Config(Backend::CUDA, QuantizationScheme::AFFINE);
  config.quantization.arithmetic = Arithmetic::FLOAT;
  const NetworkDefinition definition(GraphOf(net.net));
  ExpectContains(ErrorOf([&] { Builder(config).Build(definition); }),
                 "with -arithmetic integer it is for GPUs, too");
}

}  // namespace
}  // namespace caffe::inference
