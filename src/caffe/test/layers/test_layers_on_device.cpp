#ifndef CPU_ONLY

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/dropout.hpp"
#include "caffe/layer.hpp"
#include "caffe/test/support/each_device.hpp"
#include "caffe/test/support/fake_device.hpp"
#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/seeds.hpp"

// What layers do on a device, beyond what the host does too (layer_harness.hpp checks that).

namespace caffe {
namespace {

class LayersOnDevice : public ::testing::Test {
 protected:
  LayersOnDevice() { Caffe::set_mode(Caffe::GPU); }
  ~LayersOnDevice() override { Caffe::set_mode(Caffe::CPU); }

  /// Adds a bottom with these values, which only the device has unless `on_host`.
  void AddBottom(const std::vector<int>& shape, const std::vector<float>& values,
                 bool on_host = false) {
    blobs_.emplace_back(new Blob<float>(shape));
    std::copy(values.begin(), values.end(), blobs_.back()->mutable_cpu_data());
    if (!on_host) blobs_.back()->mutable_gpu_data();
    bottoms_.push_back(blobs_.back().get());
  }
  void SetUp(const std::string& prototxt) {
    LayerParameter param;
    param.set_phase(TRAIN);
    ASSERT_TRUE(google::protobuf::TextFormat::MergeFromString(prototxt, &param));
    layer_ = LayerRegistry<float>::CreateLayer(param);
    tops_ = {&top_};
    layer_->SetUp(bottoms_, tops_);
  }
  void Forward() { layer_->Forward(bottoms_, tops_); }
  std::vector<float> TopData() const {
    return std::vector<float>(top_.cpu_data(), top_.cpu_data() + top_.count());
  }
  /// bottom 0's gradient for these of the top.
  std::vector<float> Gradient(const std::vector<float>& top_diff) {
    std::copy(top_diff.begin(), top_diff.end(), top_.mutable_cpu_diff());
    std::vector<bool> propagate(bottoms_.size(), false);
    propagate[0] = true;
    layer_->Backward(tops_, propagate, bottoms_);
    const float* diff = bottoms_[0]->cpu_diff();
    return std::vector<float>(diff, diff + bottoms_[0]->count());
  }

  FakeDevice::Installed device_;
  std::vector<std::unique_ptr<Blob<float>>> blobs_;
  std::vector<Blob<float>*> bottoms_, tops_;
  Blob<float> top_;
  shared_ptr<Layer<float>> layer_;
};

TEST_F(LayersOnDevice, ReluTakesInfinitiesAndNotANumberAsTheHostDoes) {
  const std::vector<float> x = {-INFINITY, -2, -0.f, 0, 3, INFINITY, NAN};
  for (const char* slope : {"0", "0.5"}) {
    SCOPED_TRACE(slope);
    std::vector<float> y[2];
    for (const bool on_device : {false, true}) {
      Caffe::set_mode(on_device ? Caffe::GPU : Caffe::CPU);
      bottoms_.clear();
      AddBottom({7}, x, /*on_host=*/true);
      SetUp(Join("type: 'ReLU' relu_param { negative_slope: ", slope, " }"));
      Forward();
      y[on_device] = TopData();
    }
    EXPECT_EQ(y[1][0], slope == std::string("0") ? 0 : -INFINITY);
    EXPECT_TRUE(std::isnan(y[1][6]));
    for (int i = 0; i < 6; ++i) {
      EXPECT_EQ(y[0][i], y[1][i]) << x[i];
      EXPECT_EQ(std::signbit(y[0][i]), std::signbit(y[1][i])) << x[i];
    }
  }
}

// The words of Philox 4x32-10 for counter 0 and key 0 (its authors' known answers) are 0x6627e8d5,
// 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8: 0.40, 0.88, 0.74 and 0.61 of 2^32.
TEST_F(LayersOnDevice, MasksComeFromPhilox) {
  SyncedMemory mask(4);
  const auto drawn = [&](double keep) {
    cuda::BernoulliMask(cuda::CurrentStream(), 4, 0, keep,
                        static_cast<uint8_t*>(mask.overwrite_gpu_data()));
    const uint8_t* values = static_cast<const uint8_t*>(mask.cpu_data());
    return std::vector<int>(values, values + 4);
  };
  EXPECT_EQ(drawn(0.39), std::vector<int>({0, 0, 0, 0}));
  EXPECT_EQ(drawn(0.5), std::vector<int>({1, 0, 0, 0}));
  EXPECT_EQ(drawn(0.65), std::vector<int>({1, 0, 0, 1}));
  EXPECT_EQ(drawn(0.8), std::vector<int>({1, 0, 1, 1}));
  EXPECT_EQ(drawn(1), std::vector<int>({1, 1, 1, 1}));
}

TEST_F(LayersOnDevice, DropoutDrawsFromTheSeedOneMaskForBothPasses) {
  constexpr int kCount = 10001;
  AddBottom({kCount}, std::vector<float>(kCount, 3));
  SetUp("type: 'Dropout' dropout_param { dropout_ratio: 0.25 }");
  Caffe::set_random_seed(TestSeed());
  Forward();
  const std::vector<float> first = TopData();
  const int kept = static_cast<int>(std::count(first.begin(), first.end(), 4.f));
  EXPECT_EQ(std::count(first.begin(), first.end(), 0.f), kCount - kept);
  EXPECT_NEAR(kept, 0.75 * kCount, 5 * std::sqrt(kCount * 0.75 * 0.25));
  std::vector<float> expected = first;  // of a gradient of 3
  EXPECT_EQ(Gradient(std::vector<float>(kCount, 3)), expected);
  Forward();
  EXPECT_NE(TopData(), first);
  Caffe::set_random_seed(TestSeed());
  Forward();
  EXPECT_EQ(TopData(), first);
}

TEST_F(LayersOnDevice, ALabelThatTheHostHasIsRefused) {
  AddBottom({2, 3}, {0, 1, 2, 3, 4, 5});
  AddBottom({2}, {0, 3}, true);
  SetUp("type: 'SoftmaxWithLoss'");
  EXPECT_THROW(Forward(), Error);
}

TEST_F(LayersOnDevice, ALabelOutOfRangeMakesTheLossNoNumber) {
  for (const char* type : {"SoftmaxWithLoss", "HingeLoss", "MultinomialLogisticLoss", "Accuracy"}) {
    for (const float label : {3.f, -1.f, NAN}) {
      SCOPED_TRACE(Join(type, ", label ", label));
      bottoms_.clear();
      AddBottom({2, 3}, {0, 1, 2, 3, 4, 5});
      AddBottom({2}, {0, label});
      SetUp(Join("type: '", type, "'"));
      Forward();
      EXPECT_TRUE(std::isnan(top_.cpu_data()[0]));
      if (type == std::string("Accuracy")) continue;
      const std::vector<float> gradient = Gradient({1});
      for (int i = 0; i < 6; ++i) EXPECT_EQ(std::isnan(gradient[i]), i >= 3) << "element " << i;
    }
  }
}

TEST_F(LayersOnDevice, AnIndexOutOfRangeMakesItsItemNoNumber) {
  AddBottom({2, 2}, {1, 2, 3, 4});
  AddBottom({3}, {1, 2, 0});
  SetUp("type: 'BatchReindex'");
  Forward();
  const std::vector<float> y = TopData();
  EXPECT_EQ(std::vector<float>(y.begin(), y.begin() + 2), std::vector<float>({3, 4}));
  EXPECT_TRUE(std::isnan(y[2]) && std::isnan(y[3]));
  EXPECT_EQ(std::vector<float>(y.begin() + 4, y.end()), std::vector<float>({1, 2}));
  EXPECT_EQ(Gradient({1, 2, 3, 4, 5, 6}), std::vector<float>({5, 6, 1, 2}));
}

// Elements 1 and 2 share a position: the last one wins, and the gradient goes to both.
TEST_F(LayersOnDevice, UnpoolingTakesTheLastAndMakesAPlaneWithAPositionOutsideNoNumber) {
  AddBottom({1, 2, 1, 3}, {1, 2, 3, 4, 5, 6});
  AddBottom({1, 2, 1, 3}, {0, 2, 2, 1, 7, 0});
  AddBottom({1, 1, 2, 2}, {0, 0, 0, 0});
  SetUp("type: 'UnPooling'");
  Forward();
  const std::vector<float> y = TopData();
  EXPECT_EQ(std::vector<float>(y.begin(), y.begin() + 4), std::vector<float>({1, 0, 3, 0}));
  EXPECT_TRUE(std::isnan(y[4]));
  EXPECT_EQ(std::vector<float>(y.begin() + 5, y.end()), std::vector<float>({4, 0, 0}));
  const std::vector<float> dx = Gradient({1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(std::vector<float>(dx.begin(), dx.begin() + 4), std::vector<float>({1, 3, 3, 6}));
  EXPECT_TRUE(std::isnan(dx[4]));
  EXPECT_EQ(dx[5], 5);
}

/// A layer and shapes on which kernels go ways that the small cases of all layers do not reach.
struct LargeCase {
  const char* name;
  const char* prototxt;
  std::vector<std::vector<int>> bottoms;
  int labels = 0;
  int gradients = 1;
  int tops = 1;

  LargeCase(const char* its_name, const char* its_prototxt, std::vector<std::vector<int>> shapes)
      : name(its_name), prototxt(its_prototxt), bottoms(std::move(shapes)) {}
  /// The last bottom holds whole numbers in [0, count) instead of any.
  LargeCase& Labels(int count) {
    labels = count;
    return *this;
  }
  /// There are some of the first so many bottoms.
  LargeCase& Gradients(int count) {
    gradients = count;
    return *this;
  }
  LargeCase& Tops(int count) {
    tops = count;
    return *this;
  }
};

std::ostream& operator<<(std::ostream& stream, const LargeCase& c) { return stream << c.prototxt; }

class LargeLayersOnDevice : public ::testing::TestWithParam<LargeCase> {
 protected:
  using Values = std::vector<std::vector<float>>;

  /// Tops and bottom gradients of a run in this mode, in this type where the layer knows it.
  Values Run(Caffe::Brew mode, ElementType type, unsigned seed) const {
    const LargeCase& c = GetParam();
    Caffe::set_mode(mode);
    std::mt19937 random(seed);
    const auto draw = [&random](int count, int labels, float* values) {
      std::normal_distribution<float> normal;
      for (int i = 0; i < count; ++i) {
        values[i] = labels > 0 ? static_cast<float>(random() % labels) : normal(random);
      }
    };
    std::vector<std::unique_ptr<Blob<float>>> blobs;
    std::vector<Blob<float>*> bottoms, tops;
    for (const std::vector<int>& shape : c.bottoms) {
      blobs.emplace_back(new Blob<float>(shape));
      bottoms.push_back(blobs.back().get());
      const bool last = bottoms.size() == c.bottoms.size();
      draw(blobs.back()->count(), last ? c.labels : 0, blobs.back()->mutable_cpu_data());
    }
    for (int i = 0; i < c.tops; ++i) {
      blobs.emplace_back(new Blob<float>());
      tops.push_back(blobs.back().get());
    }
    LayerParameter param;
    param.set_phase(TRAIN);
    EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(c.prototxt, &param));
    for (int i = 0; i < c.tops; ++i) param.add_top(Join("top", i));
    const shared_ptr<Layer<float>> layer = LayerRegistry<float>::CreateLayer(param);
    layer->set_types(LayerTypes::All(type));
    layer->SetUp(bottoms, tops);
    layer->Forward(bottoms, tops);  // what a Filter selects counts from the second pass on
    layer->Forward(bottoms, tops);
    Values values;
    for (Blob<float>* top : tops) {
      values.emplace_back(top->cpu_data(), top->cpu_data() + top->count());
      draw(top->count(), 0, top->mutable_cpu_diff());
    }
    std::vector<bool> propagate(bottoms.size(), false);
    std::fill_n(propagate.begin(), c.gradients, true);
    if (c.gradients > 0) layer->Backward(tops, propagate, bottoms);
    for (int i = 0; i < c.gradients; ++i) {
      values.emplace_back(bottoms[i]->cpu_diff(), bottoms[i]->cpu_diff() + bottoms[i]->count());
    }
    Caffe::set_mode(Caffe::CPU);
    return values;
  }

  /// Compares the host's run with the device's; `bound` is relative to the largest value.
  void Compare(ElementType type, float bound) const;
};

void LargeLayersOnDevice::Compare(ElementType type, float bound) const {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(Join(Name(type), ", CAFFE_TEST_SEED=", seed));
  const Values host = Run(Caffe::CPU, type, seed);
  OnEachDevice([&] {
    const Values actual = Run(Caffe::GPU, type, seed);
    ASSERT_EQ(host.size(), actual.size());
    for (size_t i = 0; i < host.size(); ++i) {
      ASSERT_EQ(host[i].size(), actual[i].size()) << "array " << i;
      float largest = 1e-30f;
      for (const float value : host[i]) largest = std::max(largest, std::fabs(value));
      for (size_t k = 0; k < host[i].size(); ++k) {
        ASSERT_NEAR(host[i][k], actual[i][k], bound * largest)
            << "array " << i << ", element " << k;
      }
    }
  });
}

TEST_P(LargeLayersOnDevice, AreThoseOfTheHost) {
  Compare(ElementType::FLOAT, 2e-5f);
#ifdef TEST_FP16
  Compare(ElementType::FLOAT16, 0x1p-10f);
#endif
}

const std::vector<std::vector<int>> kManyShapes(35, {3, 5});
const std::vector<LargeCase> kLargeCases = {
    LargeCase("SumOfMany", "type: 'Eltwise'", kManyShapes).Gradients(35),
    LargeCase("ProductOfMany", "type: 'Eltwise' eltwise_param { operation: PROD }", kManyShapes)
        .Gradients(35),
    LargeCase("MaximumOfMany", "type: 'Eltwise' eltwise_param { operation: MAX }", kManyShapes)
        .Gradients(35),
    LargeCase("SplitOfMany", "type: 'Split'", {{3, 5}}).Tops(20),
    LargeCase("LossOfMany", "type: 'EuclideanLoss'", {{3, 2500}, {3, 2500}}).Gradients(2),
    LargeCase("ManyPositions", "type: 'SoftmaxWithLoss'", {{2, 40, 35, 36}, {2, 1, 35, 36}})
        .Labels(40),
    LargeCase("ManyClasses", "type: 'SoftmaxWithLoss'", {{5, 300}, {5}}).Labels(300),
    LargeCase("FewClasses", "type: 'SoftmaxWithLoss'", {{5, 7}, {5}}).Labels(7),
    LargeCase("ManyLabels", "type: 'Accuracy'", {{2, 40, 60, 36}, {2, 60, 36}})
        .Labels(40)
        .Gradients(0)
        .Tops(2),
    LargeCase("ManyRows", "type: 'Softmax'", {{3, 33, 700}}),
    LargeCase("ManyColumns", "type: 'ArgMax' argmax_param { top_k: 3 }", {{3, 5000}}).Gradients(0),
    LargeCase("Filter", "type: 'Filter'", {{70, 3}, {70, 2, 2}, {70}})
        .Labels(2)
        .Gradients(2)
        .Tops(2),
    LargeCase("Silence", "type: 'Silence'", {{3, 5}}).Tops(0),
    LargeCase("SharedItems", "type: 'BatchReindex'", {{40, 3}, {500}}).Labels(40),
};
INSTANTIATE_TEST_SUITE_P(All, LargeLayersOnDevice, ::testing::ValuesIn(kLargeCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace caffe

#endif  // CPU_ONLY
