#include <google/protobuf/text_format.h>

#include <random>

#include "caffe/blob.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/lrn.hpp"
#include "caffe/kernels/reference.hpp"
#include "caffe/layer.hpp"
#include "caffe/layer_factory.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/seeds.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kLrnCases = {
    LayerCase("AcrossChannels",
              "type: 'LRN' lrn_param { local_size: 3 alpha: 0.5 beta: 0.75 k: 2 }")
        .Bottom({2, 5, 2, 3}),
    LayerCase("OtherPower", "type: 'LRN' lrn_param { local_size: 5 alpha: 1 beta: 1.5 }")
        .Bottom({1, 4, 3, 2}),
    LayerCase("WithinChannel",
              "type: 'LRN' lrn_param { local_size: 3 alpha: 0.5 norm_region: WITHIN_CHANNEL }")
        .Bottom({2, 2, 4, 5}),
    LayerCase("WiderThanTheChannels", "type: 'LRN' lrn_param { local_size: 41 alpha: 0.5 }")
        .Bottom({2, kOddC, kOddH, 3}),
    LayerCase("OddExtents", "type: 'LRN' lrn_param { local_size: 5 alpha: 0.5 }")
        .Bottom({2, kOddC, kOddH, 3}),
    LayerCase("WithinSmallChannels",
              "type: 'LRN' lrn_param { local_size: 7 beta: 0.5 norm_region: WITHIN_CHANNEL }")
        .Bottom({2, kOddC, kOddH, 3}),
    // Several tiles of an image.
    LayerCase("Large", "type: 'LRN'").Bottom({1, 512, 11, 13}).WithoutGradients(),
};
INSTANTIATE_TEST_SUITE_P(LRN, LayerCases, ::testing::ValuesIn(kLrnCases), CaseName());

const std::vector<BadLayerCase> kLrnBadCases = {
    BadLayerCase("EvenSize", "type: 'LRN' lrn_param { local_size: 4 }")
        .Bottom({1, 4, 3, 3})
        .Says("local_size must be odd"),
    BadLayerCase("TwoAxes", "type: 'LRN'").Bottom({1, 4}).Says("4 axes"),
};
INSTANTIATE_TEST_SUITE_P(LRN, BadLayerCases, ::testing::ValuesIn(kLrnBadCases), CaseName());

/// Channels of (num, channels, plane) in blocks, the last one filled up with zeros; and back.
template <typename T>
std::vector<T> InBlocks(const kernels::LrnShape& s, int block, const std::vector<T>& plain,
                        bool back) {
  const size_t plane = size_t(s.height) * s.width, blocks = kernels::CeilDiv(s.channels, block);
  std::vector<T> result(s.num * plane * (back ? s.channels : blocks * block), T(0.f));
  for (int n = 0; n < s.num; ++n) {
    for (int c = 0; c < s.channels; ++c) {
      for (size_t i = 0; i < plane; ++i) {
        const size_t at = (size_t(n) * s.channels + c) * plane + i;
        const size_t blocked = ((n * blocks + c / block) * plane + i) * block + c % block;
        back ? result[at] = plain[blocked] : result[blocked] = plain[at];
      }
    }
  }
  return result;
}

template <typename T>
void CheckInBlocks(float unit) {
  std::mt19937 random(TestSeed());
  std::normal_distribution<float> value(0.f, 3.f);
  const kernels::LrnShape shapes[] = {
      {2, 20, 3, 5, 5, false, 0.5, 0.75, 2},  {1, 96, 27, 27, 5, false, 1e-4, 0.75, 1},
      {1, 3, 1, 1, 7, false, 1, 1.5, 1},      {3, 16, 9, 70, 1, false, 2, 0.5, 1},
      {1, 512, 11, 13, 3, false, 1, 0.75, 1}, {1, 9, 2, 3, 5, false, 1, 0.75, 0}};
  for (const kernels::LrnShape& s : shapes) {
    for (const int block : {8, 16}) {
      std::vector<T> x(size_t(s.num) * s.channels * s.height * s.width), expected(x.size());
      for (T& v : x) v = T(value(random));
      kernels::ReferenceLrn(s, x.data(), expected.data());
      std::vector<T> y = InBlocks(s, block, x, false);
      kernels::BlockedLrnForward(s, block, y.data(), y.data());  // in place
      const std::vector<T> plain = InBlocks(s, block, y, true);
      EXPECT_TRUE(std::equal(y.begin(), y.end(), InBlocks(s, block, plain, false).begin(),
                             [](T a, T b) { return float(a) == float(b); }))
          << "zeros fill up the last block";
      for (size_t i = 0; i < x.size(); ++i) {
        const float want = static_cast<float>(expected[i]);
        ASSERT_NEAR(float(plain[i]), want, std::abs(want) * unit + 1e-7f)
            << s.channels << " channels, blocks of " << block << ", element " << i;
      }
    }
  }
}

TEST(LrnKernels, InBlocksAgreeWithTheDefinition) {
  CheckInBlocks<float16>(1.f / 1024);
  CheckInBlocks<float>(2e-6f);
}

// A sum that slides along the channels, taking away what leaves the window, loses the small squares
// next to large ones: with values of 0.1 and 1e4 it ends near 0 or below it, and powers of it are
// NaN.
TEST(LrnLayer, SmallValuesNextToLargeOnesKeepTheirDigits) {
  for (const char* phase : {"TEST", "TRAIN"}) {
    for (const char* engine : {"DEFAULT", "ONEDNN"}) {
      for (const int channels : {16, 20, 32}) {
        SCOPED_TRACE(std::string(phase) + ", " + engine + ", channels " + std::to_string(channels));
        LayerParameter param;
        ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
            std::string("name: 'norm' type: 'LRN' phase: ") + phase +
                " lrn_param { local_size: 5 alpha: 1 engine: " + engine + " }",
            &param));
        Blob<float> x(vector<int>{2, channels, 6, 7}), y;
        std::mt19937 random(TestSeed());
        std::normal_distribution<float> value;
        for (int i = 0; i < x.count(); ++i) {
          const int channel = i / 42 % channels, large = (channel / 8 + i % 42) % 2;
          x.mutable_cpu_data()[i] = value(random) * (large ? 1e4f : 0.1f);
        }
        const auto layer = LayerRegistry<float>::CreateLayer(param);
        layer->SetUp({&x}, {&y});
        layer->Forward({&x}, {&y});
        std::vector<float> expected(x.count());
        kernels::ReferenceLrn(kernels::LrnShape{2, channels, 6, 7, 5, false, 1, 0.75, 1},
                              x.cpu_data(), expected.data());
        for (int i = 0; i < x.count(); ++i) {
          ASSERT_NEAR(y.cpu_data()[i], expected[i], std::abs(expected[i]) * 1e-5f)
              << "element " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace caffe
