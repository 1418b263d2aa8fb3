// Nets on the CPU whose values come with channels last: nothing is brought into another order
// between the layers that compute so, forward and backward.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "caffe/core/as_stored.hpp"
#include "caffe/net.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/seen_values.hpp"

namespace caffe {
namespace {

// All layers that compute with channels last, up to an inner product.
const char kHostNet[] = R"(
  force_backward: true
  layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 3 dim: 10 dim: 9 dim: 7 } } }
  layer { name: 'label' type: 'Input' top: 'label' input_param { shape { dim: 3 } } }
  layer { name: 'bn' type: 'BatchNorm' bottom: 'x' top: 'bn' }
  layer { name: 'scale' type: 'Scale' bottom: 'bn' top: 'bn' scale_param { bias_term: true } }
  layer { name: 'relu' type: 'ReLU' bottom: 'bn' top: 'bn' }
  layer { name: 'max' type: 'Pooling' bottom: 'bn' top: 'max'
    pooling_param { kernel_size: 3 pad: 1 stride: 1 } }
  layer { name: 'elu' type: 'ELU' bottom: 'bn' top: 'elu' }
  layer { name: 'sum' type: 'Eltwise' bottom: 'elu' bottom: 'bn' top: 'sum' }
  layer { name: 'tanh' type: 'TanH' bottom: 'sum' top: 'sum' }
  layer { name: 'larger' type: 'Eltwise' bottom: 'sum' bottom: 'max' top: 'larger'
    eltwise_param { operation: MAX } }
  layer { name: 'both' type: 'Concat' bottom: 'larger' bottom: 'max' top: 'both' }
  layer { name: 'norm' type: 'LRN' bottom: 'both' top: 'norm' }
  layer { name: 'parts' type: 'Slice' bottom: 'norm' top: 'part0' top: 'part1'
    slice_param { slice_point: 7 } }
  layer { name: 'drop' type: 'Dropout' bottom: 'part1' top: 'part1' }
  layer { name: 'shift' type: 'Bias' bottom: 'part1' top: 'shift' }
  layer { name: 'rest' type: 'Slice' bottom: 'shift' top: 'rest0' top: 'rest1'
    slice_param { slice_point: 6 } }
  layer { name: 'product' type: 'Eltwise' bottom: 'part0' bottom: 'rest1' top: 'product'
    eltwise_param { operation: PROD } }
  layer { name: 'prelu' type: 'PReLU' bottom: 'product' top: 'product' }
  layer { name: 'narrow' type: 'Pooling' bottom: 'product' top: 'narrow'
    pooling_param { pool: AVE kernel_size: 3 stride: 2 } }
  layer { name: 'all' type: 'Pooling' bottom: 'narrow' top: 'all'
    pooling_param { pool: AVE global_pooling: true } }
  layer { name: 'again' type: 'Pooling' bottom: 'rest0' top: 'again'
    pooling_param { pool: MAX global_pooling: true } }
  layer { name: 'ip' type: 'InnerProduct' bottom: 'all' top: 'y'
    inner_product_param { num_output: 4 weight_filler { type: 'xavier' } } }
  layer { name: 'more' type: 'InnerProduct' bottom: 'again' top: 'z'
    inner_product_param { num_output: 4 weight_filler { type: 'xavier' } } }
  layer { name: 'total' type: 'Eltwise' bottom: 'y' bottom: 'z' top: 'total' }
  layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'total' bottom: 'label' top: 'loss' } )";

/// The blobs that pass between layers that compute with channels last.
const char* const kHostInner[] = {"bn",    "max",   "elu",     "sum",   "larger",
                                  "both",  "norm",  "part0",   "part1", "shift",
                                  "rest0", "rest1", "product", "narrow"};

std::unique_ptr<Net<float>> MakeHostNet(const std::string& type, Phase phase, unsigned seed) {
  NetParameter param;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      Join("default_forward_type: ", type, " default_backward_type: ", type, kHostNet), &param));
  param.mutable_state()->set_phase(phase);
  Caffe::set_random_seed(seed);
  auto net = std::make_unique<Net<float>>(param);
  std::mt19937 random(seed);
  Blob<float>* label = net->input_blobs()[1];
  std::generate_n(label->mutable_cpu_data(), label->count(), [&] { return random() % 4; });
  return net;
}

/// Writes the image of `seed` in Caffe's order or with channels last.
template <typename T>
void PutHostImage(unsigned seed, bool last, Blob<float>* x) {
  const int channels = x->shape(1), spatial = x->count(2);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  T* values = OverwriteAs<T>(x->data_tensor(), last ? ChannelsLast(x->shape()) : Layout());
  for (int i = 0; i < x->count(); ++i) {
    const int n = i / (channels * spatial), c = i / spatial % channels, s = i % spatial;
    values[last ? (n * spatial + s) * channels + c : i] = static_cast<T>(normal(random));
  }
}
void PutHostImage(const std::string& type, unsigned seed, bool last, Net<float>* net) {
  type == "FLOAT16" ? PutHostImage<float16>(seed, last, net->input_blobs()[0])
                    : PutHostImage<float>(seed, last, net->input_blobs()[0]);
}

/// What a program sees of a net behind its passes, by name: in the TEST phase the loss.
std::map<std::string, SeenValues> ComputedOnHost(const std::string& type, Phase phase, bool last,
                                                 unsigned seed) {
  const std::unique_ptr<Net<float>> net = MakeHostNet(type, phase, seed);
  PutHostImage(type, seed, last, net.get());
  net->Forward();
  if (phase == TEST) {
    const Blob<float>& loss = *net->output_blobs()[0];
    return {{"loss", SeenValues(loss.cpu_data(), loss.cpu_data() + loss.count())}};
  }
  net->Backward();
  return SeenBehindPasses(*net);
}

struct TypeOfHostNet {
  const char* name;
  float bound;  // of what sums in another order may change, relative to the largest value
};

class HostChannelsLast : public ::testing::TestWithParam<TypeOfHostNet> {
 protected:
  const unsigned seed_ = TestSeed();
  const ::testing::ScopedTrace trace_{__FILE__, __LINE__, Join("CAFFE_TEST_SEED=", seed_)};
};

TEST_P(HostChannelsLast, ComputesWhatItDoesInCaffesOrder) {
  const TypeOfHostNet type = GetParam();
  for (const Phase phase : {TRAIN, TEST}) {
    SCOPED_TRACE(Phase_Name(phase));
    ExpectClose(ComputedOnHost(type.name, phase, false, seed_),
                ComputedOnHost(type.name, phase, true, seed_), type.bound);
  }
}

TEST_P(HostChannelsLast, TurnsNothing) {
  const std::string type = GetParam().name;
  for (const Phase phase : {TRAIN, TEST}) {
    SCOPED_TRACE(Phase_Name(phase));
    const std::unique_ptr<Net<float>> net = MakeHostNet(type, phase, seed_);
    for (int pass = 0; pass < 2; ++pass) {
      PutHostImage(type, seed_, true, net.get());
      const uint64_t before = LayoutChanges();
      net->Forward();
      if (phase == TRAIN) net->Backward();
      EXPECT_EQ(LayoutChanges() - before, 0u) << "pass " << pass;
    }
    if (phase == TEST) continue;
    const ElementType element = net->layer_by_name("bn")->forward_type();
    for (const char* name : kHostInner) {
      const Blob<float>& blob = *net->blob_by_name(name);
      EXPECT_EQ(blob.data_tensor().newest_layout(element).kind, Layout::CHANNELS_LAST) << name;
      EXPECT_EQ(blob.diff_tensor().newest_layout(element).kind, Layout::CHANNELS_LAST) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, HostChannelsLast,
                         ::testing::Values(TypeOfHostNet{"FLOAT", 1e-4f},
                                           TypeOfHostNet{"FLOAT16", 2e-2f}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace caffe
