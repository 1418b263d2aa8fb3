// Chains of convolutions of 8-bit integers against the same convolutions one behind another, to the
// bit, on every instruction set that this machine runs.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <random>
#include <type_traits>
#include <vector>

#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/int8_chain.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/test/support/blocked_convolutions.hpp"
#include "caffe/test/support/convolution_chains.hpp"
#include "caffe/test/support/int8_values.hpp"
#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/rescalings.hpp"

namespace caffe::kernels {
namespace {

class Int8Chains : public OnInstructionSet {};
class ChannelsLastChains : public OnInstructionSet {};  // in tiles

struct ChainTest {
  std::vector<ConvolutionShape> shapes;
  int num = 1;
  bool residual = false;
  bool small_pairs = false;
  std::optional<TileShape> channels_last = {};
  // Behind each image of x, with channels last each pixel; twice that in y, three times in the
  // residual.
  size_t gap = 0;
};

/// A layer's numbers. Outputs of all but the last are UINT8 and INT8 by turns, the former with a
/// zero point, as are the inputs.
struct ChainLayer {
  ChainLayer(const ConvolutionShape& shape, size_t number, bool small, std::mt19937* random)
      : type(number % 2 ? ElementType::INT8 : ElementType::UINT8),
        weights(Integers<int8_t>(shape.weight_count(), random)),
        scale(Floats(shape.outputs, 2e-2f / std::sqrt(float(shape.column_rows())), random)),
        bias(Floats(shape.outputs, 1, random)) {
    for (float& value : scale) value = std::abs(value);
    for (int8_t& weight : weights) weight = static_cast<int8_t>(small ? weight / 2 : weight);
    post.scale = scale.data();
    post.bias = bias.data();
    post.activation = {Activation::CLIP, -1., 5.};
    post.factor = 20;
    post.zero_point = type == ElementType::UINT8 ? 20 : 0;
  }

  ElementType type;
  std::vector<int8_t> weights, packed;
  std::vector<float> scale, bias;
  PostOps post;
};

/// A chain with weights and an input, both by chance.
class ChainRun {
 public:
  ChainRun(const ChainTest& test, std::mt19937* random) : test_(test) {
    std::vector<Int8Chain::Link> links;
    for (const ConvolutionShape& shape : test.shapes) {
      links.push_back({shape, test.small_pairs && !shape.is_depthwise(), test.channels_last});
    }
    chain_ = Int8Chain::Make(links);
    if (!chain_) return;
    const ConvolutionShape& first = test.shapes.front();
    const std::vector<int8_t> x = Integers<int8_t>(test.num * first.input_size(), random);
    input_ = Stored(x, first.channels, first.input_spatial());
    for (size_t i = 0; i < links.size(); ++i) {
      layers.emplace_back(test.shapes[i], i, test.small_pairs, random);
      layers[i].packed.resize(chain_->kernel(i).packed_size());
      chain_->kernel(i).PackWeights(layers[i].weights.data(), layers[i].packed.data());
    }
  }

  const Int8Chain* chain() const { return chain_.get(); }
  bool IsLast(size_t layer) const { return layer + 1 == layers.size(); }
  /// A residual, as outputs lie.
  template <typename R>
  std::vector<R> ResidualByChance(std::mt19937* random) const {
    const ConvolutionShape& s = test_.shapes.back();
    return Stored(Residuals<R>(test_.num * s.output_size(), random), s.outputs, s.output_spatial());
  }

  /// The outputs of run(layer, kernel, x, scratch, destination) of each layer.
  template <typename Y, typename Function>
  std::vector<Y> OneBehindAnother(Function&& run) const {
    std::vector<std::vector<uint8_t>> made;
    const auto size = [&](const ConvolutionShape& shape) {
      return test_.num * RoundUp(shape.outputs, block()) * shape.output_spatial();
    };
    std::vector<Y> y(size(test_.shapes.back()));
    for (size_t i = 0; i < layers.size(); ++i) {
      const Int8Convolution& kernel = chain_->kernel(i);
      made.emplace_back(size(test_.shapes[i]));
      std::vector<double> scratch(kernel.scratch_bytes(test_.num) / sizeof(double) + 1, NAN);
      const Numbers x =
          i == 0 ? Numbers(input_.data()) : Numbers(made[i - 1].data(), layers[i - 1].type);
      ImageStrides strides;
      if (test_.channels_last) {
        strides.x_pixel = RoundUp(test_.shapes[i].channels, block());
        strides.y_pixel = strides.residual_pixel = RoundUp(test_.shapes[i].outputs, block());
      }
      const Destination to = IsLast(i) ? Destination(y.data(), strides)
                                       : Destination(made[i].data(), layers[i].type, strides);
      run(i, kernel, x, scratch.data(), to);
    }
    return y;
  }

  /// Expects these outputs of run(residual, x, scratch, destination), with gaps between images.
  template <typename Y, typename R, typename Function>
  void Expect(const std::vector<Y>& expected, const std::vector<R>& residual,
              Function&& run) const {
    const int num = test_.num;
    const size_t from = num * (test_.channels_last ? test_.shapes.front().input_spatial() : 1);
    const size_t to = num * (test_.channels_last ? test_.shapes.back().output_spatial() : 1);
    const std::vector<int8_t> x = WithGaps(input_, from, test_.gap, int8_t(99));
    const std::vector<R> added = WithGaps(residual, to, 3 * test_.gap, R(99));
    const std::vector<Y> goal = WithGaps(expected, to, 2 * test_.gap, Y(77));
    ImageStrides strides;
    if (test_.channels_last && num > 0) {
      strides.x_pixel = x.size() / from;
      strides.y_pixel = goal.size() / to;
      strides.residual_pixel = added.size() / to;
    } else if (test_.gap > 0) {
      strides = {x.size() / num, goal.size() / num, added.size() / num};
    }
    for (const int threads : {1, 2, 3}) {
      SCOPED_TRACE(::testing::Message() << threads << " threads");
      const TeamSize team(threads);
      std::vector<Y> y(goal.size(), Y(77));
      std::vector<double> scratch(chain_->scratch_bytes(num) / sizeof(double) + 1, NAN);
      run(added.data(), x.data(), scratch.data(), Destination(y.data(), strides));
      EXPECT_EQ(y, goal);
    }
  }

  std::vector<ChainLayer> layers;

 private:
  size_t block() const { return chain_->kernel(0).block(); }
  /// As the chain reads and writes it.
  template <typename T>
  std::vector<T> Stored(const std::vector<T>& x, int channels, size_t spatial) const {
    return test_.channels_last ? ToChannelsLast(x, test_.num, channels, spatial, block(), 0, T())
                               : ToBlocks(x, test_.num, channels, spatial, block());
  }

  const ChainTest& test_;
  std::shared_ptr<const Int8Chain> chain_;
  std::vector<int8_t> input_;
};

/// Y: the type of the output, R of the residual.
template <typename Y, typename R>
void ExpectBitsOfLinks(const ChainTest& test) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed);
  std::mt19937 random(seed);
  const ChainRun run(test, &random);
  ASSERT_NE(run.chain(), nullptr);
  const std::vector<R> residual = run.ResidualByChance<R>(&random);
  const auto zero_point = [&](size_t i) { return i == 0 ? 3 : run.layers[i - 1].post.zero_point; };
  std::vector<Int8Chain::Layer> all;
  for (size_t i = 0; i < run.layers.size(); ++i) {
    const ChainLayer& layer = run.layers[i];
    all.push_back({layer.packed.data(), layer.post, zero_point(i), layer.type});
  }
  const auto expected =
      run.OneBehindAnother<Y>([&](size_t i, const Int8Convolution& kernel, const Numbers& x,
                                  void* scratch, const Destination& to) {
        PostOps post = all[i].post;
        if (run.IsLast(i) && test.residual) post.residual = residual.data();
        kernel.Forward(test.num, x, all[i].packed, post, scratch, to, zero_point(i));
      });
  run.Expect(expected, residual,
             [&](const R* added, const int8_t* x, void* scratch, const Destination& y) {
               if (test.residual) all.back().post.residual = added;
               run.chain()->Forward(test.num, x, all, scratch, y);
             });
}

/// How the sums of layers become bytes with integers alone: by multipliers of all kinds.
std::vector<RescalingOf> RescalingsOf(const ChainTest& test, const ChainRun& run, bool is_unsigned,
                                      std::mt19937* random) {
  std::vector<RescalingOf> all;
  for (size_t i = 0; i < run.layers.size(); ++i) {
    const ConvolutionShape& s = test.shapes[i];
    const bool to_unsigned = run.IsLast(i) ? is_unsigned : run.layers[i].type == ElementType::UINT8;
    const Rounding rounding = i % 2 ? Rounding::SINGLE : Rounding::DOUBLE;
    const auto numbers = static_cast<Multipliers>((*random)() % 3);
    all.push_back(to_unsigned ? RandomRescaling<int8_t, uint8_t>(s.outputs, s.column_rows(),
                                                                 rounding, numbers, random)
                              : RandomRescaling<int8_t, int8_t>(s.outputs, s.column_rows(),
                                                                rounding, numbers, random));
    all[i].by.input_zero_point = i == 0 ? 3 : all[i - 1].by.zero_point;
  }
  return all;
}

/// With integers alone. Y, R: int8_t or uint8_t.
template <typename Y, typename R>
void ExpectBitsOfIntegerLinks(const ChainTest& test) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "integers, CAFFE_TEST_SEED=" << seed);
  std::mt19937 random(seed);
  const ChainRun run(test, &random);
  ASSERT_NE(run.chain(), nullptr);
  const auto rescalings = RescalingsOf(test, run, std::is_unsigned<Y>::value, &random);
  const std::vector<R> bytes = run.ResidualByChance<R>(&random);
  const Rescaling last = At(rescalings.back());
  Residual residual;
  residual.is_unsigned = std::is_unsigned<R>::value;
  residual.sum = RandomSum<Y>(last, residual.is_unsigned, /*steep=*/false, &random);
  const FoundByteSum sum(residual.sum, last.least, last.most, residual.is_unsigned,
                         std::is_unsigned<Y>::value);
  residual.form = &sum.form();
  const auto added_by = [&](size_t i) {
    return run.IsLast(i) && test.residual ? &residual : nullptr;
  };

  residual.data = bytes.data();
  const auto expected =
      run.OneBehindAnother<Y>([&](size_t i, const Int8Convolution& kernel, const Numbers& x,
                                  void* scratch, const Destination& to) {
        kernel.Forward(test.num, x, run.layers[i].packed.data(), At(rescalings[i]), scratch, to,
                       added_by(i));
      });
  std::vector<Rescaling> by;
  for (const RescalingOf& numbers : rescalings) by.push_back(At(numbers));
  std::vector<std::shared_ptr<const RescalingRows>> rows;
  std::vector<Int8Chain::IntegerLayer> all;
  for (size_t i = 0; i < by.size(); ++i) {
    const ElementType type = run.IsLast(i) ? kElementType<Y> : run.layers[i].type;
    rows.push_back(run.chain()->kernel(i).Prepare(by[i], type, added_by(i)));
    all.push_back({run.layers[i].packed.data(), &by[i], rows[i].get(), added_by(i), type});
  }
  run.Expect(expected, bytes,
             [&](const R* added, const int8_t* x, void* scratch, const Destination& y) {
               residual.data = added;
               run.chain()->Forward(test.num, x, all, scratch, y);
             });
}

TEST_P(Int8Chains, AreTheirConvolutionsOneBehindAnother) {
  for (const NamedChain& c : AllChains()) {
    SCOPED_TRACE(c.name);
    ChainTest test{c.shapes, c.num};
    ExpectBitsOfLinks<int8_t, int8_t>(test);
    ExpectBitsOfLinks<float, float>(test);
    ExpectBitsOfIntegerLinks<uint8_t, uint8_t>(test);
  }
}

TEST_P(ChannelsLastChains, OfBytesAreTheirConvolutionsOneBehindAnother) {
  for (const NamedChain& c : AllChains()) {
    SCOPED_TRACE(c.name);
    for (const TileShape shape : {TileShape::FOUR_BY_ONE, TileShape::TWO_BY_TWO}) {
      ChainTest test{c.shapes, c.num};
      test.channels_last = shape;
      ExpectBitsOfLinks<int8_t, int8_t>(test);
      ExpectBitsOfIntegerLinks<uint8_t, uint8_t>(test);
    }
  }
}

void ExpectSumsWithResiduals(ChainTest test) {
  test.residual = true;
  ExpectBitsOfLinks<int8_t, int8_t>(test);
  ExpectBitsOfLinks<uint8_t, int8_t>(test);
  ExpectBitsOfLinks<int8_t, float>(test);
  ExpectBitsOfLinks<float, uint8_t>(test);
  ExpectBitsOfIntegerLinks<int8_t, uint8_t>(test);
  test.gap = 48;
  ExpectBitsOfIntegerLinks<uint8_t, int8_t>(test);
  ExpectBitsOfLinks<int8_t, uint8_t>(test);
  ExpectBitsOfLinks<float, float>(test);
}

TEST_P(Int8Chains, AddAResidual) {
  ExpectSumsWithResiduals(
      {ChainOf(24, 11, 9, {NextPointwise(96), NextDepthwise(3, 1, 1), NextPointwise(24)}), 3});
}

TEST_P(ChannelsLastChains, OfBytesAddAResidual) {
  ChainTest test{ChainOf(24, 11, 9, {NextPointwise(96), NextDepthwise(3, 1, 1), NextPointwise(24)}),
                 3};
  test.channels_last = TileShape::TWO_BY_TWO;
  ExpectSumsWithResiduals(test);
}

TEST_P(Int8Chains, MultiplyBytesWherePairsOfWeightsFit) {
  ChainTest test{ChainOf(40, 11, 9, {NextPointwise(96), NextDepthwise(3, 1, 1), NextPointwise(24)}),
                 1};
  test.small_pairs = true;
  const bool has_kernel = Int8Convolution::MakeForSmallPairs(test.shapes[0], false) != nullptr;
  if (has_kernel) {
    ExpectBitsOfLinks<int8_t, int8_t>(test);
    ExpectBitsOfIntegerLinks<int8_t, int8_t>(test);
  } else {
    EXPECT_EQ(Int8Chain::Make({{test.shapes[0], true}, {test.shapes[1]}}), nullptr);
  }
}

void ExpectBitsOfShapesOfAllKinds(int count, const std::vector<std::optional<TileShape>>& ways) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed);
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % n); };
  for (int i = 0; i < count; ++i) {
    std::vector<NextLayer> layers;
    const auto axis = [&](int kernel) -> Extents {
      return {0, kernel, 1 + below(2), below(kernel + 2), 1 + below(2)};
    };
    for (int count = 2 + below(3); count > 0; --count) {
      const int kind = below(3);
      if (kind == 0) layers.push_back(NextPointwise(1 + below(70)));
      if (kind == 1) layers.push_back({0, axis(1 + below(5)), axis(1 + below(5)), true});
      if (kind == 2) layers.push_back({1 + below(40), axis(1 + below(4)), axis(1 + below(4))});
    }
    ChainTest test{ChainOf(1 + below(40), 18 + below(16), 18 + below(16), layers), 1 + below(3)};
    bool is_empty = false;
    for (const ConvolutionShape& s : test.shapes) is_empty |= s.output[0] < 1 || s.output[1] < 1;
    if (is_empty) continue;
    test.residual = below(2) > 0;
    test.gap = below(2) * 32;
    test.channels_last = ways[i % ways.size()];
    SCOPED_TRACE(::testing::Message() << "shape " << i);
    ExpectBitsOfLinks<uint8_t, int8_t>(test);
    ExpectBitsOfIntegerLinks<int8_t, uint8_t>(test);
  }
}

TEST_P(Int8Chains, HaveTheSameBitsForShapesOfAllKinds) { ExpectBitsOfShapesOfAllKinds(25, {{}}); }

TEST_P(ChannelsLastChains, OfBytesHaveTheSameBitsForShapesOfAllKinds) {
  ExpectBitsOfShapesOfAllKinds(16, {TileShape::FOUR_BY_ONE, TileShape::TWO_BY_TWO});
}

TEST_P(Int8Chains, NeedNoMoreScratchMemoryForFewerImages) {
  const std::vector<ConvolutionShape> shapes =
      ChainOf(24, 31, 64, {NextPointwise(144), NextDepthwise(3, 1, 1), NextPointwise(24)});
  const auto chain = Int8Chain::Make({{shapes[0]}, {shapes[1]}, {shapes[2]}});
  for (const int threads : {1, 2, 3, 4, 6}) {
    const TeamSize team(threads);
    for (int num = 1; num < 9; ++num) {
      EXPECT_LE(chain->scratch_bytes(num), chain->scratch_bytes(num + 1))
          << num << " images, " << threads << " threads";
    }
  }
}

TEST_P(Int8Chains, AreNotMadeOfWhatDoesNotFollow) {
  const std::vector<ConvolutionShape> good =
      ChainOf(16, 9, 9, {NextPointwise(32), NextDepthwise(3, 1, 1), NextPointwise(8)});
  const auto makes = [](const std::vector<ConvolutionShape>& shapes) {
    std::vector<Int8Chain::Link> links;
    for (const ConvolutionShape& shape : shapes) links.push_back({shape});
    return Int8Chain::Make(links) != nullptr;
  };
  EXPECT_TRUE(makes(good));
  EXPECT_FALSE(makes({})) << "nothing";
  EXPECT_FALSE(makes({good[0]})) << "one";
  EXPECT_FALSE(makes({good[0], good[2], good[1]})) << "other channels";
  EXPECT_FALSE(makes({good[0], Square(32, 8, 1, {10, 1})})) << "other images";
  EXPECT_FALSE(makes({Shape(16, 32, 1, {{9, 1}}), Shape(32, 8, 1, {{9, 1}})})) << "no images";
  EXPECT_FALSE(makes({good[0], Square(32, 32, 8, {9, 3, 1, 1})})) << "groups of parts of a block";
  const std::optional<TileShape> last = TileShape::TWO_BY_TWO;
  EXPECT_EQ(Int8Chain::Make({{good[1], false, last}, {good[2]}}), nullptr) << "two layouts";
  const auto chain = Int8Chain::Make({{good[0]}, {good[1]}});
  std::vector<Int8Chain::Layer> layers;
  EXPECT_THROW(chain->Forward(1, static_cast<const int8_t*>(nullptr), layers, nullptr,
                              static_cast<int8_t*>(nullptr)),
               Error)
      << "no layers";
  layers.resize(2);
  layers[0].type = ElementType::FLOAT;
  EXPECT_THROW(chain->Forward(1, static_cast<const int8_t*>(nullptr), layers, nullptr,
                              static_cast<int8_t*>(nullptr)),
               Error)
      << "floats between";
}

INSTANTIATE_ON_EVERY_SET(Int8Chains);

INSTANTIATE_TEST_SUITE_P(Sets, ChannelsLastChains, ::testing::ValuesIn(SetsWithTiles()),
                         [](const auto& info) { return std::string(Name(info.param)); });

}  // namespace
}  // namespace caffe::kernels
