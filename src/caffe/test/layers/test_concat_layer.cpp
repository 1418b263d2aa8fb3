#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <vector>

#include "caffe/kernels/parallel.hpp"
#include "caffe/layers/shape/on_host.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kConcatCases = {
    LayerCase("Channels", "type: 'Concat'").Bottom({2, 3, 2}).Bottom({2, 1, 2}).Bottom({2, 2, 2}),
    LayerCase("Batch", "type: 'Concat' concat_param { axis: 0 }").Bottom({2, 3}).Bottom({1, 3}),
    LayerCase("OldName", "type: 'Concat' concat_param { concat_dim: 1 }")
        .Bottom({2, 3})
        .Bottom({2, 4}),
};
INSTANTIATE_TEST_SUITE_P(Concat, LayerCases, ::testing::ValuesIn(kConcatCases), CaseName());

const std::vector<BadLayerCase> kConcatBadCases = {
    BadLayerCase("Shapes", "type: 'Concat'")
        .Bottom({2, 3, 2})
        .Bottom({2, 3, 3})
        .Says("differ on axis 1 only"),
    BadLayerCase("BothNames", "type: 'Concat' concat_param { axis: 1 concat_dim: 1 }")
        .Bottom({2, 3})
        .Bottom({2, 3})
        .Says("not both"),
    BadLayerCase("Axis", "type: 'Concat' concat_param { axis: 2 }")
        .Bottom({2, 3})
        .Says("axis 2 is out of range"),
};
INSTANTIATE_TEST_SUITE_P(Concat, BadLayerCases, ::testing::ValuesIn(kConcatBadCases), CaseName());

/// Copies `rows` rows of parts of these lengths behind one another, and compares each element.
void ExpectJoined(size_t rows, const std::vector<size_t>& lengths) {
  std::vector<std::vector<float>> parts;
  std::vector<RowCopy<float>> copies;
  size_t whole = 0;
  for (const size_t length : lengths) whole += length;
  std::vector<float> joined(rows * whole, -1.f);
  size_t start = 0;
  for (const size_t length : lengths) {
    parts.emplace_back(rows * length);
    for (size_t i = 0; i < parts.back().size(); ++i) parts.back()[i] = parts.size() * 1e6f + i;
    copies.push_back({length, parts.back().data(), length, joined.data() + start, whole});
    start += length;
  }
  OnHost::CopyRows(rows, copies);
  size_t wrong = 0;
  for (size_t row = 0; row < rows; ++row) {
    const float* at = joined.data() + row * whole;
    for (size_t p = 0; p < parts.size(); ++p) {
      for (size_t i = 0; i < lengths[p]; ++i) wrong += *at++ != parts[p][row * lengths[p] + i];
    }
  }
  EXPECT_EQ(wrong, 0u) << rows << " rows of " << whole;
}

// Also of a single row, within its parts.
TEST(CopyRows, ThreadsShareTheElements) {
  std::mt19937 random(17);
  for (const int threads : {1, 2, 5}) {
    const kernels::TeamSize team(threads);
    for (const size_t rows : {size_t(1), size_t(2), size_t(3), size_t(700)}) {
      std::vector<size_t> lengths(1 + random() % 5);
      for (size_t& length : lengths) length = random() % (200000 / rows);
      lengths.push_back(0);
      ExpectJoined(rows, lengths);
    }
    ExpectJoined(3, {});
    ExpectJoined(0, {4});
  }
}
}  // namespace
}  // namespace caffe
