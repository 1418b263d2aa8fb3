// Nets on a GPU whose blobs lie with channels last: they compute what they compute in Caffe's
// order, and turn blobs around where they have to only.
#ifndef CPU_ONLY

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "caffe/core/as_stored.hpp"
#include "caffe/kernels/cuda/convolution.hpp"
#include "caffe/net.hpp"
#include "caffe/test/support/each_device.hpp"
#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/seen_values.hpp"

namespace caffe {
namespace {

using cuda::ChannelsLastScope;
using cuda::ChannelsLastUse;

// All layers that compute with channels last, from an image to an inner product.
const char kImageNet[] = R"(
  layer { name: 'in' type: 'Input' top: 'x' top: 'label'
    input_param { shape { dim: 4 dim: 3 dim: 9 dim: 7 } shape { dim: 4 } } }
  layer { name: 'conv' type: 'Convolution' bottom: 'x' top: 'conv' convolution_param {
    num_output: 8 kernel_size: 3 pad: 1 bias_term: false weight_filler { type: 'xavier' } } }
  layer { name: 'bn' type: 'BatchNorm' bottom: 'conv' top: 'bn' }
  layer { name: 'scale' type: 'Scale' bottom: 'bn' top: 'bn' scale_param { bias_term: true } }
  layer { name: 'relu' type: 'ReLU' bottom: 'bn' top: 'bn' }
  layer { name: 'point' type: 'Convolution' bottom: 'bn' top: 'point' convolution_param {
    num_output: 8 kernel_size: 1 weight_filler { type: 'xavier' } } }
  layer { name: 'each' type: 'Convolution' bottom: 'bn' top: 'each' convolution_param {
    num_output: 8 kernel_size: 3 pad: 1 group: 8 weight_filler { type: 'xavier' } } }
  layer { name: 'max' type: 'Pooling' bottom: 'bn' top: 'max'
    pooling_param { kernel_size: 3 pad: 1 stride: 1 } }
  layer { name: 'sum' type: 'Eltwise' bottom: 'point' bottom: 'each' top: 'sum' }
  layer { name: 'tanh' type: 'TanH' bottom: 'sum' top: 'sum' }
  layer { name: 'larger' type: 'Eltwise' bottom: 'sum' bottom: 'max' top: 'larger'
    eltwise_param { operation: MAX } }
  layer { name: 'both' type: 'Concat' bottom: 'larger' bottom: 'max' top: 'both' }
  layer { name: 'norm' type: 'LRN' bottom: 'both' top: 'norm' }
  layer { name: 'parts' type: 'Slice' bottom: 'norm' top: 'part0' top: 'part1' }
  layer { name: 'product' type: 'Eltwise' bottom: 'part0' bottom: 'part1' top: 'product'
    eltwise_param { operation: PROD } }
  layer { name: 'shift' type: 'Bias' bottom: 'product' top: 'shift' }
  layer { name: 'up' type: 'Deconvolution' bottom: 'shift' top: 'up' convolution_param {
    num_output: 6 kernel_size: 2 stride: 2 weight_filler { type: 'xavier' } } }
  layer { name: 'prelu' type: 'PReLU' bottom: 'up' top: 'up' }
  layer { name: 'mean' type: 'Pooling' bottom: 'up' top: 'mean'
    pooling_param { pool: AVE kernel_size: 3 stride: 2 } }
  layer { name: 'ip' type: 'InnerProduct' bottom: 'mean' top: 'y'
    inner_product_param { num_output: 5 weight_filler { type: 'xavier' } } }
  layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'y' bottom: 'label' top: 'loss' } )";

/// The blobs that pass between layers that compute with channels last.
const char* const kInner[] = {"conv", "bn",   "point", "each",    "max",   "sum", "larger",
                              "both", "norm", "part0", "product", "shift", "up",  "mean"};

/// A net in types of the name, with the image of `seed`.
std::unique_ptr<Net<float>> MakeImageNet(const std::string& type, unsigned seed,
                                         Phase phase = TRAIN) {
  NetParameter param;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      Join("default_forward_type: ", type, " default_backward_type: ", type, kImageNet), &param));
  param.mutable_state()->set_phase(phase);
  Caffe::set_random_seed(seed);
  auto net = std::make_unique<Net<float>>(param);
  std::mt19937 random(seed);
  std::normal_distribution<float> pixel;
  Blob<float>* image = net->input_blobs()[0];
  std::generate_n(image->mutable_cpu_data(), image->count(), [&] { return pixel(random); });
  Blob<float>* label = net->input_blobs()[1];
  std::generate_n(label->mutable_cpu_data(), label->count(), [&] { return random() % 5; });
  return net;
}

std::map<std::string, SeenValues> Computed(const std::string& type, unsigned seed) {
  const std::unique_ptr<Net<float>> net = MakeImageNet(type, seed);
  net->ForwardBackward();
  return SeenBehindPasses(*net);
}

struct TypeOfNet {
  const char* name;
  float bound;  // of what sums in another order may change, relative to the largest value
};

class ChannelsLastNets : public ::testing::TestWithParam<TypeOfNet> {
 protected:
  const unsigned seed_ = TestSeed();
  const ::testing::ScopedTrace trace_{__FILE__, __LINE__, Join("CAFFE_TEST_SEED=", seed_)};
};

TEST_P(ChannelsLastNets, ComputeWhatTheyDoInCaffesOrder) {
  const TypeOfNet type = GetParam();
  OnEachDevice([&] {
    std::map<std::string, SeenValues> expected, actual;
    {
      const ChannelsLastScope use(ChannelsLastUse::NEVER);
      expected = Computed(type.name, seed_);
    }
    {
      const ChannelsLastScope use(ChannelsLastUse::ALWAYS);
      actual = Computed(type.name, seed_);
    }
    ExpectClose(expected, actual, type.bound);
  });
}

TEST_P(ChannelsLastNets, TestWhatTheyDoInCaffesOrder) {
  const TypeOfNet type = GetParam();
  const auto outputs = [&](ChannelsLastUse use) {
    const ChannelsLastScope scope(use);
    const std::unique_ptr<Net<float>> net = MakeImageNet(type.name, seed_, TEST);
    const Blob<float>& loss = *net->Forward()[0];
    return SeenValues(loss.cpu_data(), loss.cpu_data() + loss.count());
  };
  OnEachDevice([&] {
    ExpectClose(outputs(ChannelsLastUse::NEVER), outputs(ChannelsLastUse::ALWAYS), type.bound);
  });
}

/// How often a forward and a backward pass bring something from one order to another.
uint64_t Turns(Net<float>* net) {
  const uint64_t before = LayoutChanges();
  net->input_blobs()[0]->mutable_cpu_data();
  net->ForwardBackward();
  return LayoutChanges() - before;
}

// The image, what the inner product reads and its gradient; and, once a change of the weights,
// those of the two products that have several channels and places.
TEST_P(ChannelsLastNets, TurnTheEndsOnly) {
  const ChannelsLastScope use(ChannelsLastUse::ALWAYS);
  OnEachDevice([&] {
    const std::unique_ptr<Net<float>> net = MakeImageNet(GetParam().name, seed_);
    EXPECT_EQ(Turns(net.get()), 3 + 2);
    EXPECT_EQ(Turns(net.get()), 3);
    const ElementType type = net->layer_by_name("conv")->forward_type();
    for (const char* name : kInner) {
      const Blob<float>& blob = *net->blob_by_name(name);
      EXPECT_EQ(blob.data_tensor().newest_layout(type).kind, Layout::CHANNELS_LAST) << name;
      EXPECT_EQ(blob.data_tensor().has_slot(type), name == std::string("mean")) << name;
      if (name == std::string("mean")) continue;
      EXPECT_EQ(blob.diff_tensor().newest_layout(type).kind, Layout::CHANNELS_LAST) << name;
    }
  });
}

TEST_P(ChannelsLastNets, WaitNoMoreOftenThanInCaffesOrder) {
  const auto waits = [&](ChannelsLastUse use) {
    const FakeDevice::Installed device;
    const ModeScope gpu(Caffe::GPU);
    const ChannelsLastScope scope(use);
    const std::unique_ptr<Net<float>> net = MakeImageNet(GetParam().name, seed_);
    net->ForwardBackward();
    const int before = device->waits();
    net->ForwardBackward();
    return device->waits() - before;
  };
  EXPECT_EQ(waits(ChannelsLastUse::ALWAYS), waits(ChannelsLastUse::NEVER));
}

INSTANTIATE_TEST_SUITE_P(Types, ChannelsLastNets,
                         ::testing::Values(TypeOfNet{"FLOAT", 1e-4f}, TypeOfNet{"FLOAT16", 2e-2f}),
                         [](const auto& info) { return info.param.name; });

TEST(ChannelsLastUse, PaysForHalvesOnTensorCores) {
  const ChannelsLastScope use(ChannelsLastUse::WHERE_IT_PAYS);
  OnEachDevice([&] {
    EXPECT_EQ(Turns(MakeImageNet("FLOAT", 1).get()), 0);
    EXPECT_EQ(Turns(MakeImageNet("FLOAT16", 1).get()), 3 + 2);
  });
}

struct Case {
  const char* what;
  std::function<void(kernels::ConvolutionShape*, cuda::ConvolutionOptions*)> change;
  ElementType type;
  enum { PAYS, COSTS } expected;
};

TEST(ChannelsLastUse, DependsOnTheProblem) {
  using Shape = kernels::ConvolutionShape;
  using Options = cuda::ConvolutionOptions;
  const ElementType kHalf = ElementType::FLOAT16, kFloat = ElementType::FLOAT;
  const Case cases[] = {
      {"FP16", [](Shape*, Options*) {}, kHalf, Case::PAYS},
      {"floats", [](Shape*, Options*) {}, kFloat, Case::COSTS},
      {"floats that may be rounded", [](Shape*, Options* o) { o->math = 1; }, kFloat, Case::PAYS},
      {"FP16 without tensor cores", [](Shape*, Options* o) { o->math = 3; }, kHalf, Case::COSTS},
      {"without cuDNN", [](Shape*, Options* o) { o->use_cudnn = false; }, kHalf, Case::COSTS},
      {"an algorithm by number", [](Shape*, Options* o) { o->data_algorithm = 1; }, kHalf,
       Case::COSTS},
      {"groups of one channel", [](Shape* s, Options*) { s->group = 16; }, kHalf, Case::PAYS},
      {"groups of several", [](Shape* s, Options*) { s->group = 2; }, kHalf, Case::COSTS},
      {"three axes",
       [](Shape* s, Options*) {
         s->input = {4, 4, 4};
       },
       kHalf, Case::COSTS},
      {"doubles", [](Shape*, Options*) {}, ElementType::DOUBLE, Case::COSTS},
  };
  const ChannelsLastScope use(ChannelsLastUse::WHERE_IT_PAYS);
  for (const Case& c : cases) {
    Shape shape;
    shape.channels = 16;
    shape.outputs = 32;
    shape.input = {8, 8};
    Options options;
    c.change(&shape, &options);
    EXPECT_EQ(cuda::ChannelsLastPays(shape, options, c.type), c.expected == Case::PAYS) << c.what;
  }
}

template <typename T>
class TensorsOnDevice : public ::testing::Test {};
using Types = ::testing::Types<float, double, float16>;
TYPED_TEST_SUITE(TensorsOnDevice, Types);

// (2, 3, 2): element (n, c, s) is 100 n + 10 c + s.
TYPED_TEST(TensorsOnDevice, TurnChannelsWhereTheyLie) {
  constexpr ElementType kType = kElementType<TypeParam>;
  const std::vector<float> planes = {0,   1,   10,  11,  20,  21,  //
                                     100, 101, 110, 111, 120, 121};
  const std::vector<float> pixels = {0,   10,  20,  1,   11,  21,  //
                                     100, 110, 120, 101, 111, 121};
  const Layout last = Layout::ChannelsLast(2, 3, 2);
  const auto put = [](const std::vector<float>& values, SyncedMemory* memory) {
    TypeParam* to = static_cast<TypeParam*>(memory->overwrite_cpu_data());
    for (size_t i = 0; i < values.size(); ++i) to[i] = static_cast<TypeParam>(values[i]);
    memory->mutable_gpu_data();
  };
  const auto check = [](const std::vector<float>& expected, SyncedMemory* memory) {
    EXPECT_EQ(memory->head(), SyncedMemory::HEAD_AT_GPU);
    const TypeParam* values = static_cast<const TypeParam*>(memory->cpu_data());
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(float(values[i]), expected[i]) << i;
  };
  OnEachDevice([&] {
    Tensor to_last(12, kType), to_plain(12, kType);
    put(planes, &to_last.Overwrite(kType, Layout()));
    check(pixels, &to_last.Read(kType, last));
    put(pixels, &to_plain.Overwrite(kType, last));
    check(planes, &to_plain.Read(kType, Layout()));
  });
}

}  // namespace
}  // namespace caffe

#endif  // CPU_ONLY
