// Pooling of halves in blocks of channels beside the definition, on every instruction set that this
// machine runs.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "caffe/kernels/instruction_set.hpp"
#include "caffe/kernels/pooling.hpp"
#include "caffe/kernels/reference.hpp"
#include "caffe/test/layer_harness.hpp"

namespace caffe {
namespace kernels {
namespace {

using SetAndBlock = std::tuple<InstructionSet, int>;

class HalfPooling : public ::testing::TestWithParam<SetAndBlock> {
 protected:
  void SetUp() override { SetCpuInstructionSet(std::get<0>(GetParam())); }
  void TearDown() override { SetCpuInstructionSet(before_); }
  int block() const { return std::get<1>(GetParam()); }

 private:
  const InstructionSet before_ = CpuInstructionSet();
};

PoolingShape Windows(int planes, int height, int width, int kernel, int stride, int pad,
                     int pooled_height, int pooled_width) {
  PoolingShape s;
  s.planes = planes;
  s.height = height;
  s.width = width;
  s.kernel_h = s.kernel_w = kernel;
  s.stride_h = s.stride_w = stride;
  s.pad_h = s.pad_w = pad;
  s.pooled_height = pooled_height;
  s.pooled_width = pooled_width;
  return s;
}

/// (planes, spatial, block) to (planes, block, spatial).
std::vector<float16> Plain(const std::vector<float16>& blocked, size_t planes, size_t block) {
  const size_t spatial = blocked.size() / planes / block;
  std::vector<float16> result(blocked.size());
  for (size_t i = 0; i < blocked.size(); ++i) {
    const size_t plane = i / (spatial * block), position = i / block % spatial;
    result[(plane * block + i % block) * spatial + position] = blocked[i];
  }
  return result;
}

TEST_P(HalfPooling, AgreesWithTheDefinition) {
  for (const PoolingShape& shape :
       {Windows(3, 8, 8, 2, 2, 0, 4, 4), Windows(2, 13, 11, 3, 2, 0, 6, 5),
        Windows(2, 14, 14, 3, 2, 1, 8, 8), Windows(4, 7, 7, 7, 1, 0, 1, 1),
        Windows(1, 9, 30, 3, 1, 1, 9, 30)}) {
    const unsigned seed = TestSeed();
    SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed);
    std::mt19937 random(seed);
    std::normal_distribution<float> value;
    std::vector<float16> x(shape.planes * shape.input_plane() * block());
    for (float16& v : x) v = static_cast<float16>(value(random));
    PoolingShape plain = shape;
    plain.planes *= block();
    std::vector<float16> y(shape.planes * shape.output_plane() * block()), expected(y.size());
    const auto check = [&](double bound) {
      const std::vector<float16> result = Plain(y, shape.planes, block());
      for (size_t i = 0; i < y.size(); ++i) {
        const float goal = static_cast<float>(expected[i]);
        ASSERT_NEAR(static_cast<float>(result[i]), goal, bound * std::fabs(goal)) << i;
      }
    };
    const std::vector<float16> plain_x = Plain(x, shape.planes, block());
    BlockedMaxPoolingForward(shape, block(), x.data(), y.data());
    ReferenceMaxPooling(plain, plain_x.data(), expected.data());
    check(0);
    BlockedAveragePoolingForward(shape, block(), x.data(), y.data());
    ReferenceAveragePooling(plain, plain_x.data(), expected.data());
    check(1e-3);  // sums of float, where the definition's are double: the last bit may differ
  }
}

TEST_P(HalfPooling, KeepsSubnormalsAndInfinities) {
  const float least = std::ldexp(1.f, -24), infinity = std::numeric_limits<float>::infinity();
  std::vector<float16> x(4 * block(), float16(-infinity)), y(block());
  x[0] = float16(-least);
  x[1 + 2 * block()] = float16(3 * least);
  x[2 + 3 * block()] = float16(infinity);
  BlockedMaxPoolingForward(Windows(1, 2, 2, 2, 1, 0, 1, 1), block(), x.data(), y.data());
  EXPECT_EQ(static_cast<float>(y[0]), -least);
  EXPECT_EQ(static_cast<float>(y[1]), 3 * least);
  EXPECT_EQ(static_cast<float>(y[2]), infinity);
  EXPECT_EQ(static_cast<float>(y[3]), -infinity);
}

INSTANTIATE_TEST_SUITE_P(Sets, HalfPooling,
                         ::testing::Combine(::testing::ValuesIn(SupportedInstructionSets()),
                                            ::testing::Values(8, 16)),
                         [](const auto& info) {
                           return std::string(Name(std::get<0>(info.param))) + "_" +
                                  std::to_string(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace kernels
}  // namespace caffe
