// The definitions of layers with weights on integers: against sums of real numbers written out, and
// by hand.
#include "caffe/kernels/integer_reference.hpp"

#include <limits>

#include "caffe/error.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/test/support/blocked_convolutions.hpp"
#include "caffe/test/support/integer_nodes.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe::inference {
namespace {

using kernels::ConvolutionShape;
using kernels::Rescaling;

TEST(IntegerReference, ConvolvesByHand) {
  // 3 inputs padded by the zero point 10 on each side, kernel (1, -2).
  ConvolutionShape shape = kernels::Shape(1, 1, 1, {{3, 2, 1, 1}});
  const std::vector<uint8_t> x = {12, 10, 30};
  const std::vector<int8_t> w = {1, -2};
  const int32_t bias = kernels::FoldZeroPoint(2, w.data(), 0, 10, 4);
  EXPECT_EQ(bias, 4 + 10);
  const int32_t half = 1 << 30, shift = 0;  // 0.5
  Rescaling by;
  by.bias = &bias;
  by.multipliers = &half;
  by.shifts = &shift;
  by.input_zero_point = 10;
  by.zero_point = 20;
  std::vector<uint8_t> y(4);
  kernels::IntegerConvolution(shape, 1, x.data(), w.data(), 0, by, y.data());
  // Differences 0, 2, 0, 20, 0: sums 4 - 4, 4 + 2, 4 - 40, 4 + 20; half of them, and 20.
  EXPECT_EQ(y, (std::vector<uint8_t>{20, 23, 2, 32}));
  by.least = 10;
  by.most = 30;
  kernels::IntegerConvolution(shape, 1, x.data(), w.data(), 0, by, y.data());
  EXPECT_EQ(y, (std::vector<uint8_t>{20, 23, 10, 30}));
}

TEST(IntegerReference, FoldsZeroPointsByHand) {
  const std::vector<uint8_t> w = {3, 5, 10};
  EXPECT_EQ(kernels::FoldZeroPoint(3, w.data(), 5, 7, 100), 100 - 7 * (-2 + 0 + 5));
}

TEST(IntegerReference, RefusesWhatDoesNotFit) {
  const std::vector<int8_t> w(40000, 127);
  const int32_t most = std::numeric_limits<int32_t>::max();
  EXPECT_NE(ErrorOf([&] {
              kernels::FoldZeroPoint(w.size(), w.data(), 0, -128, most);
            }).find("does not fit 32 bits"),
            std::string::npos);
  const int64_t largest = int64_t{70000} * 127 * 255;
  const std::string error = ErrorOf([&] { kernels::RequireTotalFits(largest, 70000); });
  EXPECT_NE(error.find("more than 31 bits of sum possible: 70000 inputs"), std::string::npos)
      << error;
  kernels::RequireTotalFits(most, 1);
  // A sum itself.
  const std::vector<uint8_t> x(w.size(), 255);
  const int32_t bias = most, multiplier = 1 << 30, shift = -20;
  Rescaling by;
  by.bias = &bias;
  by.multipliers = &multiplier;
  by.shifts = &shift;
  uint8_t y;
  EXPECT_NE(ErrorOf([&] {
              kernels::IntegerInnerProduct(1, w.size(), 1, x.data(), w.data(), 0, by, &y);
            }).find("40000 inputs"),
            std::string::npos);
}

/// A layer with weights: real numbers written out, and its step.
class WeightedDefinition : public SeededTest {
 protected:
  void TearDown() override {
    if (HasFailure()) std::cout << Seed() << "\n";
  }

  template <typename T>
  Constant ConstantOf(ElementType type, const std::vector<T>& values) {
    const Constant constant = NewConstant(type, values.size());
    std::copy(values.begin(), values.end(), Elements<T>(constant));
    return constant;
  }

  /// Sums of the float layer, in the weights' own numbers, are exact in float here: they are what
  /// the step rescales.
  void Check(const std::string& layer, const Shape& x_shape, size_t weight_count) {
    SCOPED_TRACE(layer + " " + Seed().GetString());
    IntegerNode test(layer, {x_shape});
    IntegerArithmetic& integers = *test.node.integers;
    integers.rounding = Number(0, 1) ? kernels::Rounding::DOUBLE : kernels::Rounding::SINGLE;
    const bool has_zero = Number(0, 1);
    integers.weight_zero_point = has_zero ? Number(1, 255) : 0;
    test.input(0).type = ByteTypeAtRandom();
    test.input(0).affine = {1, Number(LeastOf(test.input(0).type), MostOf(test.input(0).type))};
    const size_t outputs = 6;
    Floats weights(weight_count), bias(outputs);
    std::vector<uint8_t> bytes;
    for (float& w : weights) {
      const int number = has_zero ? Number(0, 255) : Number(-127, 127);
      bytes.push_back(static_cast<uint8_t>(number));
      w = static_cast<float>(number - integers.weight_zero_point);
    }
    for (float& b : bias) b = static_cast<float>(Number(-5000, 5000));
    test.weights = {Constant::Of({static_cast<int>(weight_count)}, weights),
                    Constant::Of({static_cast<int>(outputs)}, bias)};
    // The float layer wants its own shape of the weights.
    NodeLayer probe(test.node.layer, {}, 1, 1);
    probe.Reshape({x_shape});
    test.weights[0].shape = probe.Parameters()[0].shape;
    ASSERT_EQ(CountOf(test.weights[0].shape), weight_count);
    test.AddOutputs();
    test.output().type = ByteTypeAtRandom();
    test.output().affine = {1, Number(LeastOf(test.output().type), MostOf(test.output().type))};
    test.set_bytes_of_output();
    std::vector<int32_t> biases(bias.begin(), bias.end()), values[2], shifts[2];
    std::vector<double> reals[2];
    for (int side = 0; side < 2; ++side) {
      for (size_t o = 0; o < outputs; ++o) {
        const kernels::Multiplier by = kernels::MultiplierOf(Real(1e-4, 1e-2));
        values[side].push_back(by.value);
        shifts[side].push_back(by.shift);
        reals[side].push_back(kernels::RealOf(by));
      }
    }
    Constant stored = ConstantOf(has_zero ? ElementType::UINT8 : ElementType::INT8, bytes);
    test.node.parameters = {
        stored, ConstantOf(ElementType::INT32, biases), ConstantOf(ElementType::INT32, values[0]),
        ConstantOf(ElementType::INT32, shifts[0]), Constant::Of({6}, Floats(outputs, 1))};
    const bool two_sided = Number(0, 1);
    if (two_sided) {
      test.node.parameters.push_back(ConstantOf(ElementType::INT32, values[1]));
      test.node.parameters.push_back(ConstantOf(ElementType::INT32, shifts[1]));
    }
    ASSERT_EQ(test.Layouts(cpu::IntegerDefinition()), std::vector<Layout::Kind>{Layout::PLAIN});
    const std::vector<Bytes> x = {BytesAtRandom(test.input(0).type, CountOf(x_shape))};
    const Floats sums = test.RunFloats(x)[0];
    const Bytes y = test.Run(cpu::IntegerDefinition(), Layout::PLAIN, x)[0];
    const Value& out = test.output();
    const bool is_last = test.node.type() == "InnerProduct";
    const size_t inner = is_last ? 1 : CountOf({out.shape.begin() + 2, out.shape.end()});
    for (size_t i = 0; i < y.size(); ++i) {
      const size_t o = i / inner % outputs;
      const int side = two_sided && sums[i] < 0 ? 1 : 0;
      const int32_t rescaled = kernels::Rescale(
          static_cast<int32_t>(sums[i]), {values[side][o], shifts[side][o]}, integers.rounding);
      ASSERT_EQ(y[i],
                std::clamp(out.affine.zero_point + rescaled, LeastOf(out.type), MostOf(out.type)))
          << "at " << i;
      ASSERT_NEAR(rescaled, reals[side][o] * sums[i], 1) << "at " << i;
    }
    kernels::TeamSize three(3);
    EXPECT_EQ(test.Run(cpu::IntegerDefinition(), Layout::PLAIN, x)[0], y);
#ifndef CPU_ONLY
    test.ExpectOnEachDevice(cuda::IntegerWeights(), x, {y});
#endif
  }
};

TEST_F(WeightedDefinition, SumsAsTheLayersDo) {
  for (int round = 0; round < 4; ++round) {
    Check("type: 'Convolution' convolution_param { num_output: 6 kernel_size: 3 pad: 1 }",
          {2, 5, 7, 6}, 6 * 5 * 9);
    Check(
        "type: 'Convolution' convolution_param { num_output: 6 kernel_h: 2 kernel_w: 3 pad_h: 2 "
        "stride_h: 1 stride_w: 2 pad_w: 0 dilation: 2 group: 3 }",
        {2, 9, 8, 9}, 6 * 3 * 6);
    Check("type: 'Convolution' convolution_param { num_output: 6 kernel_size: 3 stride: 2 }",
          {2, 4, 9}, 6 * 4 * 3);
    Check("type: 'Convolution' convolution_param { num_output: 6 kernel_size: 2 pad: 1 }",
          {1, 3, 4, 3, 5}, 6 * 3 * 8);
    Check("type: 'DepthwiseConvolution' convolution_param { num_output: 6 kernel_size: 3 pad: 1 }",
          {2, 6, 5, 7}, 6 * 9);
    Check(
        "type: 'Deconvolution' convolution_param { num_output: 6 kernel_size: 4 stride: 2 "
        "pad: 1 }",
        {2, 4, 3, 5}, 4 * 6 * 16);
    Check(
        "type: 'Deconvolution' convolution_param { num_output: 6 kernel_size: 3 stride: 3 "
        "dilation: 2 group: 2 }",
        {1, 4, 3, 2}, 4 * 3 * 9);
    Check("type: 'InnerProduct' inner_product_param { num_output: 6 }", {3, 5, 2, 2}, 6 * 20);
    Check("type: 'InnerProduct' inner_product_param { num_output: 6 axis: 2 }", {3, 5, 7}, 6 * 7);
    // Groups of whole words of four channels.
    Check("type: 'Convolution' convolution_param { num_output: 6 kernel_size: 3 pad: 1 group: 2 }",
          {1, 24, 4, 5}, 6 * 12 * 9);
  }
}

TEST_F(WeightedDefinition, NamesWhatIsMissing) {
  IntegerNode test("type: 'InnerProduct' inner_product_param { num_output: 2 }", {{1, 3}});
  test.node.outputs.push_back(test.graph.AddValue("y", {1, 2}));
  test.graph.values.back().type = ElementType::UINT8;
  test.node.parameters = {Constant::Of({2, 3}, Floats(6, 0.f))};
  EXPECT_NE(ErrorOf([&] {
              test.Run(cpu::IntegerDefinition(), Layout::PLAIN, {Bytes(3, 0)});
            }).find("it has 1 parameters"),
            std::string::npos);
  test.node.integers.reset();
  EXPECT_TRUE(test.Layouts(cpu::IntegerDefinition()).empty());
}

}  // namespace
}  // namespace caffe::inference
