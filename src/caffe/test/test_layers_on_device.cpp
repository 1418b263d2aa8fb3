#ifndef CPU_ONLY

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "caffe/cuda/stream.hpp"
#include "caffe/kernels/cuda/dropout.hpp"
#include "caffe/layer.hpp"
#include "caffe/test/fake_device.hpp"

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
  Caffe::set_random_seed(5);
  Forward();
  const std::vector<float> first = TopData();
  const int kept = static_cast<int>(std::count(first.begin(), first.end(), 4.f));
  EXPECT_EQ(std::count(first.begin(), first.end(), 0.f), kCount - kept);
  EXPECT_NEAR(kept, 0.75 * kCount, 5 * std::sqrt(kCount * 0.75 * 0.25));
  std::vector<float> expected = first;  // of a gradient of 3
  EXPECT_EQ(Gradient(std::vector<float>(kCount, 3)), expected);
  Forward();
  EXPECT_NE(TopData(), first);
  Caffe::set_random_seed(5);
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

}  // namespace
}  // namespace caffe

#endif  // CPU_ONLY
