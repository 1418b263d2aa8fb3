// In training BatchNorm does the work of a ReLU in place behind it, and of a Scale between them.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "caffe/core/as_stored.hpp"
#include "caffe/net.hpp"
#include "caffe/test/support/seeded_numbers.hpp"
#ifndef CPU_ONLY
#include "caffe/test/support/each_device.hpp"
#endif

namespace caffe {
namespace {

struct StoredTypes {
  const char* name;
  Type forward, backward;
};

/// A normalization of random shape and values, and what follows it.
struct NormalizedNet {
  StoredTypes types;
  int num, channels, height, width;
  bool in_place, own_scale, scale, bias, global;
  float slope;
  float factors;  // deviation of the scale's: with tiny ones FLOAT16 holds some products as 0
  bool channels_last;
  unsigned seed;

  static NormalizedNet Random(const StoredTypes& types, unsigned seed) {
    std::mt19937 random(seed);
    const auto number = [&](int least, int most) { return DrawInt(least, most, &random); };
    const int channels[] = {1, 3, 8, 16, 24, 40};
    const float slopes[] = {0, 0, 0.25f, -0.5f};
    NormalizedNet net = {};
    net.types = types;
    net.num = number(0, 9) ? number(1, 4) : 0;
    net.channels = channels[number(0, 5)];
    net.height = number(1, 9);
    net.width = number(1, 9);
    net.in_place = number(0, 1);
    net.own_scale = number(0, 3) == 0;
    net.scale = number(0, 2) != 0;
    net.bias = number(0, 1);
    net.global = number(0, 3) == 0;
    net.slope = slopes[number(0, 3)];
    net.channels_last = number(0, 1);
    net.factors = net.bias || number(0, 2) ? 1 : 3e-7f;
    net.seed = seed;
    return net;
  }

  enum Relu { NONE, BEHIND, APART };  // APART: not in place, so that the layer runs by itself
  std::string Text(Relu relu) const {
    const std::string y = in_place ? "x" : "y";
    return Join(
        "force_backward: true",
        " layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: ", num,
        " dim: ", channels, " dim: ", height, " dim: ", width, " } } }",
        " layer { name: 'bn' type: 'BatchNorm' bottom: 'x' top: '", y, "' batch_norm_param { ",
        global ? "use_global_stats: true " : "",
        own_scale ? "scale_filler { type: 'gaussian' std: 1 } bias_filler { type: 'gaussian' } "
                  : "",
        "} }",
        scale ? Join(" layer { name: 'scale' type: 'Scale' bottom: '", y, "' top: '", y,
                     "' scale_param { filler { type: 'gaussian' std: ", factors,
                     " } bias_term: ", bias, " bias_filler { type: 'gaussian' std: 1 } } }")
              : "",
        relu == NONE
            ? ""
            : Join(" layer { name: 'relu' type: 'ReLU' bottom: '", y, "' top: '",
                   relu == APART ? "z" : y, "' relu_param { negative_slope: ", slope, " } }"));
  }
  template <typename Dtype = float>
  std::unique_ptr<Net<Dtype>> Make(Relu relu) const {
    NetParameter param;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(Text(relu), &param));
    param.mutable_state()->set_phase(TRAIN);
    for (LayerParameter& layer : *param.mutable_layer()) {
      layer.set_forward_type(types.forward);
      layer.set_backward_type(types.backward);
    }
    Caffe::set_random_seed(seed);
    auto net = std::make_unique<Net<Dtype>>(param);
    const auto& statistics = net->layer_by_name("bn")->blobs();
    std::mt19937 random(seed);
    for (int c = 0; c < channels && global; ++c) {
      statistics[0]->mutable_cpu_data()[c] = DrawInt(-4, 4, &random) / 8.f;
      statistics[1]->mutable_cpu_data()[c] = DrawInt(1, 8, &random) / 4.f;
    }
    if (global) statistics[2]->mutable_cpu_data()[0] = 1;
    return net;
  }

  template <typename Dtype>
  void Forward(Net<Dtype>* net) const {
    Blob<Dtype>* x = net->input_blobs()[0];
    Draw(1, types.forward, channels_last, x->data_tensor(), x->shape());
    net->Forward();
    Blob<Dtype>& y = *net->blobs().back();
    Draw(2, types.backward, false, y.diff_tensor(), y.shape());
  }

  /// What the pass leaves of the bits that a program can see.
  template <typename Dtype>
  static std::vector<std::vector<Dtype>> Seen(const Net<Dtype>& net) {
    std::vector<std::vector<Dtype>> seen;
    const auto see = [&](const Dtype* values, int count) {
      seen.emplace_back(values, values + count);
    };
    see(net.blobs().back()->cpu_data(), net.blobs().back()->count());
    see(net.input_blobs()[0]->cpu_diff(), net.input_blobs()[0]->count());
    for (const auto& param : net.params()) {
      see(param->cpu_data(), param->count());
      see(param->cpu_diff(), param->count());
    }
    return seen;
  }

 private:
  void Draw(unsigned salt, Type type, bool last, Tensor& tensor, const Shape& shape) const {
    if (type == FLOAT) return DrawAs<float>(salt, last, tensor, shape);
    if (type == DOUBLE) return DrawAs<double>(salt, last, tensor, shape);
    DrawAs<float16>(salt, last, tensor, shape);
  }
  template <typename T>
  void DrawAs(unsigned salt, bool last, Tensor& tensor, const Shape& shape) const {
    std::mt19937 random(seed + salt);
    std::normal_distribution<float> normal;
    const int spatial = height * width;
    T* values = OverwriteAs<T>(tensor, last ? ChannelsLast(shape) : Layout());
    for (int i = 0; i < num * channels * spatial; ++i) {
      const int n = i / (channels * spatial), c = i / spatial % channels, s = i % spatial;
      values[last ? (n * spatial + s) * channels + c : i] = static_cast<T>(normal(random));
    }
  }
};

class BatchNormRelu : public ::testing::TestWithParam<StoredTypes> {
 protected:
  /// Calls test(net) for random nets.
  static void ForRandomNets(int count, const std::function<void(const NormalizedNet&)>& test) {
    for (const unsigned seed : Seeds(count)) {
      const NormalizedNet net = NormalizedNet::Random(GetParam(), seed);
      SCOPED_TRACE(Join("CAFFE_TEST_SEED=", seed, ": ", net.Text(NormalizedNet::BEHIND),
                        net.channels_last ? ", channels last" : ""));
      test(net);
      if (HasFailure()) return;
    }
  }
  /// On the CPU and, where there is code for GPUs, on devices.
  static void Everywhere(const std::function<void()>& test) {
    test();
#ifndef CPU_ONLY
    OnEachDevice(test);
#endif
  }
};

template <typename Dtype>
void ExpectBitsOfAReluByItself(const NormalizedNet& normalized) {
  std::vector<std::vector<Dtype>> seen[2];
  for (const auto relu : {NormalizedNet::APART, NormalizedNet::BEHIND}) {
    const auto net = normalized.Make<Dtype>(relu);
    for (int step = 0; step < 2; ++step) {
      normalized.Forward(net.get());
      net->Backward();
    }
    seen[relu == NormalizedNet::BEHIND] = NormalizedNet::Seen(*net);
  }
  ASSERT_EQ(seen[0].size(), seen[1].size());
  for (size_t i = 0; i < seen[0].size(); ++i) EXPECT_EQ(seen[0][i], seen[1][i]) << i;
}

TEST_P(BatchNormRelu, GivesTheBitsOfAReluByItself) {
  const auto& expect = GetParam().forward == DOUBLE ? ExpectBitsOfAReluByItself<double>
                                                    : ExpectBitsOfAReluByItself<float>;
  Everywhere([&] { ForRandomNets(150, expect); });
}

// Wherever a pass is cut: a gradient must not go through the ReLU twice.
TEST_P(BatchNormRelu, PartsOfTheBackwardPassGiveTheWhole) {
  const StoredTypes types = GetParam();
  const float bound = types.forward == FLOAT16 || types.backward == FLOAT16 ? 2e-2f : 1e-4f;
  Everywhere([bound] {
    ForRandomNets(20, [bound](NormalizedNet normalized) {
      // Of few values and of tiny ones gradients are rounding errors.
      normalized.num = 3, normalized.height = 7, normalized.factors = 1;
      const auto whole = normalized.Make(NormalizedNet::BEHIND);
      normalized.Forward(whole.get());
      whole->Backward();
      const std::vector<std::vector<float>> expected = NormalizedNet::Seen(*whole);
      const int last = static_cast<int>(whole->layers().size()) - 1;
      for (int cut = 1; cut <= last; ++cut) {
        const auto parts = normalized.Make(NormalizedNet::BEHIND);
        normalized.Forward(parts.get());
        parts->BackwardFromTo(last, cut);
        parts->BackwardFromTo(cut - 1, 0);
        const std::vector<std::vector<float>> actual = NormalizedNet::Seen(*parts);
        for (size_t i = 0; i < expected.size(); ++i) {
          float largest = 1e-3f;
          for (float value : expected[i]) largest = std::max(largest, std::fabs(value));
          for (size_t k = 0; k < expected[i].size(); ++k) {
            ASSERT_NEAR(expected[i][k], actual[i][k], bound * largest) << cut << ": " << i;
          }
        }
      }
    });
  });
}

#ifndef CPU_ONLY

// A GPU's BatchNorm keeps rounded values, which a Scale by itself would read.
TEST_P(BatchNormRelu, OnAGpuGivesTheValuesOfAllLayersByThemselves) {
  struct Watcher : Net<float>::Callback {
    void run(int) override {}
  } watcher;
  OnEachDevice([&] {
    ForRandomNets(50, [&](const NormalizedNet& normalized) {
      const auto fused = normalized.Make(NormalizedNet::BEHIND);
      const auto apart = normalized.Make(NormalizedNet::BEHIND);
      apart->add_before_forward(&watcher);
      normalized.Forward(fused.get());
      normalized.Forward(apart.get());
      EXPECT_EQ(NormalizedNet::Seen(*fused)[0], NormalizedNet::Seen(*apart)[0]);
    });
  });
}

// Each kernel is a pass over a blob: a ReLU starts none, a Scale those that add its parameters'
// gradients.
TEST_P(BatchNormRelu, OnAGpuCostsNoKernel) {
  const FakeDevice::Installed device;
  const ModeScope gpu(Caffe::GPU);
  NormalizedNet normalized = NormalizedNet::Random(GetParam(), TestSeed());
  normalized.num = 2;
  normalized.slope = 0;
  normalized.bias = true;
  normalized.own_scale = normalized.global = false;
  const auto operations = [&](bool scale, NormalizedNet::Relu relu) {
    normalized.scale = scale;
    const auto net = normalized.Make(relu);
    int taken = 0;
    for (int step = 0; step < 2; ++step) {  // the first makes what stays
      normalized.Forward(net.get());
      net->blobs()
          .back()
          ->diff_tensor()
          .Read(net->layers()[1]->backward_type(), Layout())
          .gpu_data();
      const int before = device->operations();
      net->Forward();
      net->Backward();
      taken = device->operations() - before;
    }
    return taken;
  };
  const int alone = operations(false, NormalizedNet::NONE);
  EXPECT_EQ(operations(false, NormalizedNet::BEHIND), alone);
  EXPECT_EQ(operations(true, NormalizedNet::NONE), alone + 2);
  EXPECT_EQ(operations(true, NormalizedNet::BEHIND), alone + 2);
}

#endif  // CPU_ONLY

INSTANTIATE_TEST_SUITE_P(Types, BatchNormRelu,
                         ::testing::Values(StoredTypes{"FLOAT", FLOAT, FLOAT},
                                           StoredTypes{"FLOAT16", FLOAT16, FLOAT16},
                                           StoredTypes{"HalfValues", FLOAT16, FLOAT},
                                           StoredTypes{"HalfGradients", FLOAT, FLOAT16},
                                           StoredTypes{"DOUBLE", DOUBLE, DOUBLE}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace caffe
