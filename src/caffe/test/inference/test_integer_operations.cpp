// Layers without weights on integers alone: against the float layers, against LiteRT's arithmetic
// as it is published, and by hand.
#include "caffe/inference/quantize/integer_operations.hpp"

#include "caffe/kernels/integer_normalization.hpp"
#include "caffe/kernels/integer_resize.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/test/support/integer_nodes.hpp"
#include "caffe/test/support/seeds.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe::inference {
namespace {

const Implementation& Family() { return cpu::IntegerOperation(); }

struct Case {
  std::string layer;
  std::vector<Shape> inputs;
  double bound = 0.501;
  double least = -4, most = 4;
  size_t weights = 0;
  size_t parameters = 1;
  size_t tops = 1;

  Case(std::string its_layer, std::vector<Shape> its_inputs)
      : layer(std::move(its_layer)), inputs(std::move(its_inputs)) {}
  /// How many steps of the output integers are off at most.
  Case& Within(double steps) {
    bound = steps;
    return *this;
  }
  /// The range of the inputs' numbers.
  Case& Inputs(double from, double to) {
    least = from;
    most = to;
    return *this;
  }
  /// How many numbers each of the layer's parameters has.
  Case& Weights(size_t count, size_t how_many_parameters = 1) {
    weights = count;
    parameters = how_many_parameters;
    return *this;
  }
  Case& Tops(size_t count) {
    tops = count;
    return *this;
  }
};

class IntegerOperations : public SeededTest {
 protected:
  void Check(const Case& one) {
    SCOPED_TRACE(one.layer + " " + Seed().GetString());
    IntegerNode test(one.layer, one.inputs);
    for (size_t p = 0; one.weights && p < one.parameters; ++p) {
      Floats values(one.weights);
      for (float& value : values) value = static_cast<float>(Real(0.2, 1.5));
      test.weights.push_back(Constant::Of({static_cast<int>(one.weights)}, values));
    }
    test.AddOutputs(one.tops);
    test.node.parameters = test.weights;
    test.node.integers->rounding =
        Number(0, 1) ? kernels::Rounding::DOUBLE : kernels::Rounding::SINGLE;
    ASSERT_EQ(WhyNotIntegers(test.graph, test.node), "");
    std::vector<Bytes> x;
    for (size_t i = 0; i < one.inputs.size(); ++i) {
      Value& value = test.input(i);
      value.type = ByteTypeAtRandom();
      value.affine = AffineFor(value.type, one.least * Real(0.5, 1), one.most * Real(0.5, 1));
      if (i > 0 && SharesAffine(test.node)) {
        value.type = test.input(0).type;
        value.affine = test.input(0).affine;
      }
      x.push_back(BytesAtRandom(value.type, CountOf(value.shape)));
    }
    const std::vector<Floats> real = test.RunFloats(x);
    for (size_t t = 0; t < one.tops; ++t) {
      Value& value = test.output(t);
      const auto range = std::minmax_element(real[t].begin(), real[t].end());
      value.type = ByteTypeAtRandom();
      value.affine = AffineFor(value.type, std::min(0.f, 0.9f * *range.first),
                               std::max(0.f, 0.9f * *range.second));
      if (FixedAffine(test.node)) {
        value.type = ElementType::UINT8;
        value.affine = *FixedAffine(test.node);
      }
      if (SharesAffine(test.node)) {
        value.type = test.input(0).type;
        value.affine = test.input(0).affine;
      }
    }
    test.set_bytes_of_output();
    test.node.parameters = IntegerParameters(test.graph, test.node, test.node.integers->rounding);
    const std::vector<Layout::Kind> layouts = test.Layouts(Family());
    ASSERT_FALSE(layouts.empty());
    std::vector<Bytes> first;
    for (const Layout::Kind layout : layouts) {
      const std::vector<Bytes> y = test.Run(Family(), layout, x);
      if (first.empty()) first = y;
      ASSERT_EQ(y, first) << "layouts differ";
    }
    for (size_t t = 0; t < one.tops; ++t) {
      const Value& value = test.output(t);
      for (size_t i = 0; i < first[t].size(); ++i) {
        const double exact = double{real[t][i]} / value.affine.scale + value.affine.zero_point;
        ASSERT_NEAR(std::clamp<double>(exact, LeastOf(value.type), MostOf(value.type)), first[t][i],
                    one.bound)
            << "top " << t << " at " << i;
      }
    }
    kernels::TeamSize three(3);
    EXPECT_EQ(test.Run(Family(), layouts.back(), x), first) << "threads matter";
#ifndef CPU_ONLY
    test.ExpectOnEachDevice(cuda::IntegerOperation(), x, first);
#endif
  }
  void CheckAll(const std::vector<Case>& cases) {
    for (const Case& one : cases) {
      for (int round = 0; round < 4; ++round) Check(one);
    }
  }
};

const std::vector<Shape> kBlob = {{2, 19, 3, 5}};

TEST_F(IntegerOperations, FunctionsOfOneNumber) {
  CheckAll({
      Case("type: 'Sigmoid'", kBlob),
      Case("type: 'TanH'", kBlob),
      Case("type: 'ELU' elu_param { alpha: 0.7 }", kBlob),
      Case("type: 'ELU' elu_param { alpha: 1.67 lambda: 1.05 }", kBlob),
      Case("type: 'Swish' swish_param { beta: 1.3 }", kBlob),
      Case("type: 'HardSwish'", kBlob),
      Case("type: 'GELU'", kBlob),
      Case("type: 'ReLU6' relu6_param { threshold: 0.9 negative_slope: 0.1 }", kBlob),
      Case("type: 'AbsVal'", kBlob),
      Case("type: 'BNLL'", kBlob),
      Case("type: 'Power' power_param { power: 2 scale: 0.5 shift: 1 }", kBlob),
      Case("type: 'Power' power_param { scale: -0.5 shift: 1 }", kBlob),
      Case("type: 'Exp' exp_param { base: 2 scale: 0.5 }", kBlob),
      Case("type: 'Exp' exp_param { scale: 0.5 shift: 0.1 }", kBlob),
      Case("type: 'Log' log_param { base: 10 shift: 5 }", kBlob),
      Case("type: 'Threshold' threshold_param { threshold: 0.5 }", kBlob),
      Case("type: 'Scale' scale_param { bias_term: true }", kBlob).Weights(19, 2),
      Case("type: 'Bias'", kBlob).Weights(19),
      // Rounding twice (DOUBLE) may add a quarter of a step.
      Case("type: 'ReLU'", kBlob).Within(0.751),
      Case("type: 'ReLU' relu_param { negative_slope: 0.1 }", kBlob).Within(0.751),
      Case("type: 'ReLU' relu_param { negative_slope: -0.5 }", kBlob).Within(0.751),
      Case("type: 'ReLU6'", {{2, 3}}).Within(0.751).Inputs(-9, 9),
      Case("type: 'Clip' clip_param { min: -1 max: 2 }", {{7}}).Within(0.751),
      Case("type: 'PReLU'", kBlob).Within(0.751).Weights(19),
      Case("type: 'PReLU' prelu_param { channel_shared: true }", kBlob).Within(0.751).Weights(1),
  });
}

TEST_F(IntegerOperations, SumsProductsMaxima) {
  const std::vector<Shape> two(2, kBlob[0]), three(3, kBlob[0]), five(5, {2, 3, 4}),
      many(70, {2, 3, 4});  // more than a kernel of a GPU takes at once
  // Products of two are rounded to 2^-s of a step first, s being their multiplier's shift.
  CheckAll({
      Case("type: 'Eltwise'", two),
      Case("type: 'Eltwise' eltwise_param { coeff: 0.5 coeff: -2 coeff: 0 }", three),
      Case("type: 'Eltwise'", five),
      Case("type: 'Eltwise'", many),
      Case("type: 'Eltwise'", {{7}, {7}}),
      Case("type: 'Eltwise' eltwise_param { operation: PROD }", two).Within(0.52),
      Case("type: 'Eltwise' eltwise_param { operation: PROD }", three),
      Case("type: 'Eltwise' eltwise_param { operation: PROD }", five).Within(1.5),
      Case("type: 'Eltwise' eltwise_param { operation: MAX }", three).Within(0.751),
      Case("type: 'Eltwise' eltwise_param { operation: MAX }", many).Within(0.751),
      Case("type: 'Scale' scale_param { axis: 0 }", {kBlob[0], {2, 19}}).Within(0.52),
      Case("type: 'Scale' scale_param { axis: 1 }", {kBlob[0], {19, 3}}).Within(0.52),
      Case("type: 'Scale' scale_param { axis: 2 }", {kBlob[0], {3, 5}}).Within(0.52),
      Case("type: 'Axpy'", {{2, 19}, kBlob[0], kBlob[0]}),
      Case("type: 'Axpy'", {{2, 19, 1, 1}, kBlob[0], kBlob[0]}),
  });
}

TEST_F(IntegerOperations, Pooling) {
  CheckAll({
      Case("type: 'Pooling' pooling_param { pool: MAX kernel_size: 3 stride: 2 pad: 1 }",
           {{2, 19, 7, 6}}),
      Case("type: 'Pooling' pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 }",
           {{2, 19, 7, 6}}),
      Case("type: 'Pooling' pooling_param { pool: AVE kernel_h: 2 kernel_w: 4 pad_w: 2 }",
           {{2, 3, 5, 5}}),
      Case("type: 'Pooling' pooling_param { pool: AVE global_pooling: true }", {{2, 19, 7, 6}}),
      Case("type: 'Pooling' pooling_param { pool: MAX global_pooling: true }", {{2, 19, 7, 6}}),
  });
}

// Steps of 1/256: the table's 23 bits are exact to much less.
TEST_F(IntegerOperations, Softmax) {
  CheckAll(
      {Case("type: 'Softmax'", {{3, 10}}).Within(0.51).Inputs(-8, 8),
       Case("type: 'Softmax'", {{2, 21, 3, 4}}).Within(0.51),
       Case("type: 'Softmax'", {{2, 2, 16, 17}}).Within(0.51),
       Case("type: 'Softmax' softmax_param { axis: -1 }", {{1, 600, 2}}).Within(0.51).Inputs(-8, 8),
       Case("type: 'Softmax' softmax_param { axis: -1 }", {{2, 5, 300}})
           .Within(0.51)
           .Inputs(-30, 30)});
}

// Half a step, and what straight lines between 32 places of each octave are off.
TEST_F(IntegerOperations, DivisionsByNorms) {
  CheckAll({
      Case("type: 'LRN' lrn_param { local_size: 5 alpha: 1e-1 beta: 0.75 }", kBlob)
          .Within(0.6)
          .Inputs(-50, 50),
      Case("type: 'LRN' lrn_param { local_size: 3 alpha: 5 beta: 0.5 k: 2 }", kBlob)
          .Within(0.6)
          .Inputs(-1, 9),
      Case("type: 'LRN' lrn_param { local_size: 3 alpha: 2 norm_region: WITHIN_CHANNEL }", kBlob)
          .Within(0.6),
      Case("type: 'Normalize' norm_param { across_spatial: false channel_shared: false "
           "scale_filler { value: 20 } }",
           kBlob)
          .Within(0.6)
          .Weights(19),
      Case("type: 'Normalize' norm_param { across_spatial: true scale_filler { value: 20 } }",
           kBlob)
          .Within(0.6)
          .Weights(1),
      Case("type: 'Normalize' normalize_param { normalize_type: 'L2' }", kBlob).Within(0.6),
      Case("type: 'MVN'", kBlob).Within(0.7),
      Case("type: 'MVN' mvn_param { across_channels: true }", kBlob).Within(0.7),
      Case("type: 'MVN' mvn_param { normalize_variance: false }", kBlob).Within(0.7),
  });
}

// Weights of 11 bits are off by 2^-12 each, and bytes reach 255 from their zero point.
TEST_F(IntegerOperations, Resizing) {
  CheckAll({
      Case("type: 'Interp' interp_param { height: 9 width: 11 }", {{2, 3, 4, 5}}).Within(0.8),
      Case("type: 'Interp' interp_param { shrink_factor: 2 }", {{2, 3, 7, 9}}).Within(0.8),
      Case("type: 'Interp'", {{2, 3, 4, 5}, {1, 1, 8, 3}}).Within(0.8),
      Case("type: 'Interp' interp_param { zoom_factor: 2 }", {{2, 35, 4, 5}}).Within(0.8),
      Case("type: 'Resample' resample_param { type: LINEAR factor: 1.7 }", {{2, 3, 4, 5}})
          .Within(0.8),
      Case("type: 'Resample' resample_param { type: CUBIC height: 6 width: 9 }", {{2, 3, 4, 5}})
          .Within(0.9),
      Case("type: 'Upsample' upsample_param { scale: 2 }", {{2, 3, 4, 5}}).Within(1e-3),
      Case("type: 'Upsample' upsample_param { scale_h: 3 scale_w: 1 }", {{1, 32, 4, 5}})
          .Within(1e-3),
  });
}

TEST_F(IntegerOperations, Moving) {
  const std::vector<Shape> wide = {{2, 32, 3, 3}};
  CheckAll({
      Case("type: 'Concat'", {{2, 16, 3, 2}, {2, 32, 3, 2}}).Within(0.751),
      Case("type: 'Concat'", {{2, 3, 3, 2}, {2, 5, 3, 2}}).Within(0.751),
      Case("type: 'Concat' concat_param { axis: 2 }", {{2, 3, 3, 2}, {2, 3, 4, 2}, {2, 3, 1, 2}})
          .Within(0.751),
      Case("type: 'Concat' concat_param { axis: 0 }", {{2, 3}, {1, 3}}).Within(0.751),
      Case("type: 'Slice'", wide).Within(1e-3).Tops(2),
      Case("type: 'Slice' slice_param { axis: 2 }", wide).Within(1e-3).Tops(3),
      Case("type: 'Split'", wide).Within(1e-3).Tops(2),
      Case("type: 'Flatten'", wide).Within(1e-3),
      Case("type: 'Reshape' reshape_param { shape { dim: 0 dim: 4 dim: -1 } }", wide).Within(1e-3),
      Case("type: 'Permute' permute_param { order: 0 order: 2 order: 3 order: 1 }", wide)
          .Within(1e-3),
      Case("type: 'Permute' permute_param { order: 0 order: 2 order: 1 order: 3 }", wide)
          .Within(1e-3),
      Case("type: 'Permute' permute_param { order: 3 order: 1 order: 0 order: 2 }", wide)
          .Within(1e-3),
      Case("type: 'Permute' permute_param { order: 0 order: 3 order: 1 }", wide).Within(1e-3),
      Case("type: 'Permute' permute_param { order: 0 }", wide).Within(1e-3),
      Case("type: 'ShuffleChannel' shuffle_channel_param { group: 4 }", wide).Within(1e-3),
      Case("type: 'Tile' tile_param { axis: 1 tiles: 3 }", wide).Within(1e-3),
      Case("type: 'Reorg' reorg_param { stride: 3 }", {{2, 18, 3, 3}}).Within(1e-3),
      Case("type: 'Crop' crop_param { axis: 2 offset: 1 }", {{2, 3, 6, 7}, {2, 3, 4, 5}})
          .Within(1e-3),
  });
}

TEST_F(IntegerOperations, CountsElementsInTwoParts) {
  IntegerNode test("type: 'Permute' permute_param { order: 0 order: 2 order: 1 }",
                   {{1, 1200, 1100}});
  test.AddOutputs();
  const Bytes x = BytesAtRandom(ElementType::UINT8, CountOf(test.input(0).shape));
  const Bytes y = test.Run(Family(), Layout::PLAIN, {x})[0];
  for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], x[i % 1200 * 1100 + i / 1200]);
}

TEST_F(IntegerOperations, ClampFusedIntoASum) {
  IntegerNode test("type: 'Eltwise'", {{1, 3}, {1, 3}});
  test.AddOutputs();
  for (int i = 0; i < 2; ++i) test.input(i).affine = {1, 100};
  test.output().affine = {1, 50};
  test.node.integers->least = 50;
  test.node.integers->most = 56;
  test.node.parameters = IntegerParameters(test.graph, test.node, kernels::Rounding::DOUBLE);
  EXPECT_EQ(test.Run(Family(), Layout::PLAIN, {{100, 102, 110}, {90, 103, 110}})[0],
            (Bytes{50, 55, 56}));
}

// The published arithmetic of LiteRT's reference kernels (gemmlowp's), on int8.
namespace litert {

int32_t DoublingHighMultiply(int32_t a, int32_t b) {
  const int64_t product = int64_t{a} * b;
  const int64_t nudge = product >= 0 ? 1 << 30 : 1 - (1 << 30);
  return static_cast<int32_t>((product + nudge) / (int64_t{1} << 31));
}
int32_t DivideByPowerOfTwo(int32_t x, int exponent) {
  const int32_t mask = static_cast<int32_t>((int64_t{1} << exponent) - 1);
  const int32_t rest = x & mask, threshold = (mask >> 1) + (x < 0 ? 1 : 0);
  return (x >> exponent) + (rest > threshold ? 1 : 0);
}
int32_t Multiply(int32_t x, double real) {
  int shift;
  int64_t m = std::llround(std::frexp(real, &shift) * (int64_t{1} << 31));
  if (m == int64_t{1} << 31) {
    m /= 2;
    ++shift;
  }
  if (shift < -31) return 0;
  return DivideByPowerOfTwo(
      DoublingHighMultiply(x * (1 << std::max(shift, 0)), static_cast<int32_t>(m)),
      std::max(-shift, 0));
}
int Clamped(int32_t y, int least = -128) { return std::clamp(y, least, 127); }

int Add(int a, int b, const AffineParameters& x, const AffineParameters& z,
        const AffineParameters& y) {
  const double twice = 2 * std::max(x.scale, z.scale);
  const int32_t sum = Multiply((a - x.zero_point) * (1 << 20), x.scale / twice) +
                      Multiply((b - z.zero_point) * (1 << 20), z.scale / twice);
  return Clamped(Multiply(sum, twice / ((1 << 20) * y.scale)) + y.zero_point);
}
int Mul(int a, int b, const AffineParameters& x, const AffineParameters& z,
        const AffineParameters& y) {
  const double real = x.scale * z.scale / y.scale;
  return Clamped(Multiply((a - x.zero_point) * (b - z.zero_point), real) + y.zero_point);
}
int Requantize(int a, const AffineParameters& x, const AffineParameters& y) {
  return Clamped(Multiply(a - x.zero_point, double{x.scale / y.scale}) + y.zero_point);
}

}  // namespace litert

/// The same numbers as INT8 are 128 more as UINT8.
Bytes Unsigned(Bytes bytes) {
  for (int& byte : bytes) byte += 128;
  return bytes;
}

class LiteRt : public IntegerOperations {
 protected:
  AffineParameters AffineAtRandom() {
    return {static_cast<float>(Real(1e-3, 0.2)), Number(-128, 127)};
  }
  /// The node on these bytes of INT8, and on the same of UINT8, which must agree.
  Bytes Both(IntegerNode* test, const std::vector<Bytes>& x) {
    Bytes made[2];
    for (const ElementType type : {ElementType::INT8, ElementType::UINT8}) {
      const bool is_unsigned = type == ElementType::UINT8;
      std::vector<Bytes> bytes;
      for (Value& value : test->graph.values) {
        value.type = type;
        if (is_unsigned) value.affine.zero_point += 128;
      }
      for (const Bytes& one : x) bytes.push_back(is_unsigned ? Unsigned(one) : one);
      test->set_bytes_of_output();
      test->node.parameters = IntegerParameters(test->graph, test->node, kernels::Rounding::DOUBLE);
      made[is_unsigned] = test->Run(Family(), Layout::PLAIN, bytes)[0];
    }
    EXPECT_EQ(Unsigned(made[0]), made[1]);
    return made[0];
  }
};

TEST_F(LiteRt, AddAndMulEqualItsBitForBit) {
  SCOPED_TRACE(Seed());
  Bytes a, b;
  for (int i = -128; i < 128; ++i) {
    for (int j = -128; j < 128; ++j) {
      a.push_back(i);
      b.push_back(j);
    }
  }
  const Shape shape = {1, 65536};
  for (int round = 0; round < 8; ++round) {
    const AffineParameters x = AffineAtRandom(), z = AffineAtRandom(), y = AffineAtRandom();
    IntegerNode add("type: 'Eltwise'", {shape, shape});
    IntegerNode multiply("type: 'Eltwise' eltwise_param { operation: PROD }", {shape, shape});
    for (IntegerNode* test : {&add, &multiply}) {
      test->AddOutputs();
      test->input(0).affine = x;
      test->input(1).affine = z;
      test->output().affine = y;
      const Bytes made = Both(test, {a, b});
      for (size_t i = 0; i < made.size(); ++i) {
        const int expected =
            test == &add ? litert::Add(a[i], b[i], x, z, y) : litert::Mul(a[i], b[i], x, z, y);
        ASSERT_EQ(made[i], expected) << a[i] << " and " << b[i];
      }
    }
  }
}

TEST_F(LiteRt, ClampsAndRescalingEqualItsBitForBit) {
  SCOPED_TRACE(Seed());
  Bytes all;
  for (int i = -128; i < 128; ++i) all.push_back(i);
  for (int round = 0; round < 20; ++round) {
    const AffineParameters x = AffineAtRandom(), y = AffineAtRandom();
    for (const std::string type : {"ReLU", "ReLU6", "Dropout"}) {
      IntegerNode test("type: '" + type + "'", {{1, 256}});
      test.node.outputs.push_back(test.graph.AddValue("y", {1, 256}));
      test.input(0).affine = x;
      test.output().affine = y;
      const Bytes made = Both(&test, {all});
      for (size_t i = 0; i < made.size(); ++i) {
        int expected = litert::Requantize(all[i], x, y);
        if (type != "Dropout") expected = std::max(expected, y.zero_point);
        if (type == "ReLU6") {
          const int six = y.zero_point + static_cast<int>(std::round(6 / y.scale));
          expected = std::min(expected, six);
        }
        ASSERT_EQ(made[i], expected) << type << " of " << all[i];
      }
    }
  }
}

TEST_F(LiteRt, AveragesEqualItsBitForBit) {
  SCOPED_TRACE(Seed());
  IntegerNode test("type: 'Pooling' pooling_param { pool: AVE kernel_size: 2 stride: 2 }",
                   {{3, 17, 6, 8}});
  test.AddOutputs();
  test.input(0).affine = test.output().affine = AffineAtRandom();
  const Bytes x = BytesAtRandom(ElementType::INT8, CountOf(test.input(0).shape));
  const Bytes made = Both(&test, {x});
  for (size_t i = 0; i < made.size(); ++i) {
    const size_t at = i / 12 * 48 + i % 12 / 4 * 16 + i % 4 * 2;
    const int sum = x[at] + x[at + 1] + x[at + 8] + x[at + 9];
    ASSERT_EQ(made[i], sum > 0 ? (sum + 2) / 4 : (sum - 2) / 4) << "at " << i;
  }
}

TEST(IntegerTables, SoftmaxByHand) {
  // Three equal numbers, and one that is far below.
  const std::vector<int32_t> table = kernels::SoftmaxTable(1);
  EXPECT_EQ(table[0], 1 << 23);
  EXPECT_EQ(table[1], 3085996);  // 2^23 / e
  EXPECT_EQ(table[255], 0);
  const std::vector<uint8_t> x = {90, 90, 10, 90};
  std::vector<uint8_t> y(4);
  kernels::SoftmaxIntegers({1, 4, 1}, table.data(), 256 * 256, {}, x.data(), y.data());
  EXPECT_EQ(y, (std::vector<uint8_t>{85, 85, 0, 85}));
}

TEST(IntegerTables, FallingTableIsNearItsFunction) {
  const auto table = kernels::FallingTable([](double a) { return 1 / std::sqrt(a); });
  ASSERT_EQ(table.size(), kernels::kFallingTableSize);
  std::mt19937_64 random(TestSeed());
  for (int i = 0; i < 100000; ++i) {
    const uint64_t a = (random() >> 24) >> (random() % 40);
    if (a == 0) continue;
    const double exact = std::ldexp(1 / std::sqrt(double(a)), 30);
    // Straight lines between neighbours of 1 and 33/32: 3/4 / 8 / 32^2 of the value.
    ASSERT_NEAR(kernels::Interpolated(table.data(), a), exact, 1.5 + exact * 1e-4) << a;
  }
  EXPECT_EQ(table[0], table[1]);
  EXPECT_NE(ErrorOf([] { kernels::FallingTable([](double a) { return a; }); }).find("fall"),
            std::string::npos);
}

TEST(IntegerTables, ResizeWeightsSumUpToOne) {
  const auto axis = kernels::ResampledAxis(kernels::ResampleFilter::CUBIC, 7, 12, 1, false);
  const std::vector<int32_t> weights = kernels::ResizeWeights(axis);
  for (int i = 0; i < axis.output(); ++i) {
    int sum = 0;
    for (int k = axis.start[i]; k < axis.start[i + 1]; ++k) {
      EXPECT_NEAR(weights[k], axis.weights[k] * 2048, 3);
      sum += weights[k];
    }
    EXPECT_EQ(sum, 2048);
  }
}

TEST(IntegerOperationsRefused, SayWhy) {
  const auto why = [](const std::string& layer, const std::vector<Shape>& inputs) {
    IntegerNode test(layer, inputs);
    test.node.outputs.push_back(test.graph.AddValue("y", inputs[0]));
    return WhyNotIntegers(test.graph, test.node);
  };
  EXPECT_EQ(why("type: 'DetectionOutput'", {{1, 4}, {1, 4}, {1, 2, 4}}),
            "its output's size depends on the data");
  EXPECT_EQ(why("type: 'Mine'", {{1, 4}}), "the library does not know what it computes");
  EXPECT_EQ(why("type: 'ArgMax'", {{1, 4}}), "there is no arithmetic of integers for it");
  EXPECT_EQ(
      why("type: 'Pooling' pooling_param { pool: STOCHASTIC kernel_size: 2 }", {{1, 1, 4, 4}}),
      "it pools by chance");
  IntegerNode floats("type: 'ReLU'", {{1, 4}});
  floats.AddOutputs();
  floats.node.integers.reset();
  EXPECT_TRUE(floats.Layouts(Family()).empty()) << "it computes floats";
}

TEST(IntegerOperationsRefused, NameLayerAndReason) {
  IntegerNode test("type: 'Eltwise'", {{1, 4}, {1, 4}});
  test.AddOutputs();
  const auto error = [&] {
    return ErrorOf([&] { IntegerParameters(test.graph, test.node, kernels::Rounding::DOUBLE); });
  };
  const auto expect = [&](const std::string& part) {
    const std::string text = error();
    EXPECT_NE(text.find("layer 'node' (Eltwise)"), std::string::npos) << text;
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  test.output().affine.scale = 1e-9f;
  expect("its sum would be multiplied by");
  test.output().affine.scale = 0;
  expect("value 'y0' has scale 0");
  test.output().affine = {1, 256};
  expect("zero point 256");
  test.output().affine = {1, 0};
  test.input(1).type = ElementType::FLOAT;
  expect("value 'x1' lies in FLOAT");
  IntegerNode pool("type: 'Pooling' pooling_param { kernel_size: 2 }", {{1, 1, 4, 4}});
  pool.AddOutputs();
  pool.output().affine.zero_point = 3;
  EXPECT_NE(ErrorOf([&] {
              IntegerParameters(pool.graph, pool.node, kernels::Rounding::DOUBLE);
            }).find("another type, scale or zero point"),
            std::string::npos);
}

}  // namespace
}  // namespace caffe::inference
