// Convolutions large enough that several threads and several pieces of work take part.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "caffe/kernels/convolution.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe::kernels {
namespace {

ConvolutionShape SquareShape(int channels, int outputs, int group, int input, int kernel,
                             int stride, int pad) {
  ConvolutionShape s;
  s.channels = channels;
  s.outputs = outputs;
  s.group = group;
  s.input = {input, input};
  s.kernel = {kernel, kernel};
  s.stride = {stride, stride};
  s.pad = {pad, pad};
  s.dilation = {1, 1};
  s.output = std::vector<int>(2, (input + 2 * pad - kernel) / stride + 1);
  return s;
}

template <typename T>
std::vector<T> RandomElements(size_t n, std::mt19937* random) {
  std::vector<T> values(n);
  for (T& value : values) value = static_cast<T>(float(int((*random)() % 17) - 8) / 8);
  return values;
}

template <typename T>
void ExpectClose(const std::vector<T>& expected, const std::vector<T>& actual, double bound) {
  double largest = 0;
  for (const T& value : expected) {
    largest = std::max(largest, std::fabs(static_cast<double>(value)));
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(expected[i]), static_cast<double>(actual[i]), bound * largest)
        << i;
  }
}

template <typename T>
void CheckAll(const ConvolutionShape& s, int num, double bound) {
  std::mt19937 random(TestSeed());
  const auto x = RandomElements<T>(num * s.input_size(), &random);
  const auto dy = RandomElements<T>(num * s.output_size(), &random);
  const auto w = RandomElements<T>(s.weight_count(), &random);
  const auto bias = RandomElements<T>(std::max(s.outputs, s.channels), &random);
  std::vector<T> y(dy.size()), expected_y(dy.size()), dx(x.size()), expected_dx(x.size());
  ConvolutionForward(s, num, x.data(), w.data(), bias.data(), y.data());
  ReferenceConvolutionForward(s, num, x.data(), w.data(), bias.data(), expected_y.data());
  ExpectClose(expected_y, y, bound);
  ConvolutionBackwardData(s, num, dy.data(), w.data(), bias.data(), dx.data());
  ReferenceConvolutionBackwardData(s, num, dy.data(), w.data(), bias.data(), expected_dx.data());
  ExpectClose(expected_dx, dx, bound);
  std::vector<AccumulatorType<T>> dw(w.size(), 1), expected_dw(w.size(), 1);
  ConvolutionBackwardWeights(s, num, x.data(), dy.data(), dw.data());
  ReferenceConvolutionBackwardWeights(s, num, x.data(), dy.data(), expected_dw.data());
  ExpectClose(expected_dw, dw, 1e-5);
}

struct Case {
  const char* name;
  ConvolutionShape shape;
  int num;
};
std::ostream& operator<<(std::ostream& stream, const Case& c) { return stream << c.name; }

class LargeConvolutions : public ::testing::TestWithParam<Case> {};

TEST_P(LargeConvolutions, AgreeWithTheDefinition) {
  CheckAll<float>(GetParam().shape, GetParam().num, 1e-5);
  CheckAll<float16>(GetParam().shape, GetParam().num, 2e-3);
}

INSTANTIATE_TEST_SUITE_P(
    Convolution, LargeConvolutions,
    ::testing::Values(Case{"OneImage", SquareShape(3, 16, 1, 61, 3, 1, 1), 1},
                      Case{"FewPositions", SquareShape(64, 32, 1, 5, 3, 1, 1), 1},
                      Case{"FewPositionsOfGroups", SquareShape(64, 32, 2, 5, 3, 1, 1), 1},
                      Case{"LargeColumns", SquareShape(96, 8, 1, 29, 5, 1, 2), 1},
                      Case{"Groups", SquareShape(16, 24, 8, 23, 3, 2, 1), 2},
                      Case{"Pointwise", SquareShape(40, 24, 1, 31, 1, 1, 0), 1},
                      Case{"PointwiseStride", SquareShape(40, 24, 1, 31, 1, 2, 0), 1},
                      Case{"ManyImages", SquareShape(8, 8, 1, 17, 3, 1, 0), 9},
                      Case{"Depthwise", SquareShape(24, 24, 24, 35, 3, 1, 1), 2},
                      Case{"DepthwiseStride", SquareShape(24, 48, 24, 35, 3, 2, 1), 2},
                      Case{"Enlarge", SquareShape(21, 21, 21, 64, 16, 8, 4), 1}),
    [](const auto& info) { return std::string(info.param.name); });

// Each image value is the sum of as many column values as windows reach it: in half precision the
// sum of 2049 ones would stay 2048.
// A net may be set up with a blob of no channels: there is nothing to compute.
TEST(EmptyConvolutions, AreLeftAlone) {
  for (const bool no_channels : {true, false}) {
    ConvolutionShape s = SquareShape(no_channels ? 0 : 2, 3, 1, 5, 3, 1, 0);
    const int num = no_channels ? 2 : 0;
    std::vector<float> x(1), weights(3 * 2 * 9), dy(2 * 3 * 9, 1.f), d_weights(3 * 2 * 9, 7.f);
    ConvolutionBackwardWeights(s, num, x.data(), dy.data(), d_weights.data());
    ConvolutionBackwardData(s, num, dy.data(), weights.data(), static_cast<float*>(nullptr),
                            x.data());
    for (const float value : d_weights) EXPECT_EQ(value, 7);
  }
}

TEST(Col2im, SumsInFloat) {
  ConvolutionShape s;
  s.channels = s.outputs = s.group = 1;
  s.input = {4096};
  s.kernel = {2049};
  s.stride = s.dilation = {1};
  s.pad = {0};
  s.output = {2048};
  std::vector<float16> column(s.kernel_size() * 2048, float16(1.f)), image(4096);
  column[size_t(2048) * 2048] = float16(3.f);  // reaches position 2048 from output 0
  Col2im(s, 1, column.data(), image.data());
  EXPECT_EQ(float(image[0]), 1);
  EXPECT_EQ(float(image[2047]), 2048);
  EXPECT_EQ(float(image[2048]), 2050);
  EXPECT_EQ(float(image[4095]), 1);
}

}  // namespace
}  // namespace caffe::kernels
