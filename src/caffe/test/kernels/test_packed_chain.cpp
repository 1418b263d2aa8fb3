// Chains of convolutions of floating-point numbers against the same convolutions one behind
// another, to the bit, on every instruction set that this machine runs.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "caffe/core/dispatch_float.hpp"
#include "caffe/error.hpp"
#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/packed_chain.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/test/support/blocked_convolutions.hpp"
#include "caffe/test/support/convolution_chains.hpp"
#include "caffe/test/support/int8_values.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe::kernels {
namespace {

class PackedChains : public OnInstructionSet {};         // in tiles
class BlockedPackedChains : public OnInstructionSet {};  // of bfloat16 pairs

/// Of weights, inputs and outputs; between layers and of the output FLOAT where `wide`.
struct PackedChainTest {
  std::vector<ConvolutionShape> shapes;
  int num;
  ElementType type;
  std::optional<TileShape> channels_last = {};
  bool wide = false;
  bool residual = false;
  // Behind each image of x, with channels last each pixel; twice that in y, three times in the
  // residual.
  size_t gap = 0;
};

/// Numbers of a type, by their bits.
using NumberBytes = std::vector<char>;

template <typename T>
NumberBytes BytesOf(const std::vector<T>& x) {
  const char* const first = reinterpret_cast<const char*>(x.data());
  return {first, first + x.size() * sizeof(T)};
}

/// Of floats, as a chain reads and writes them.
NumberBytes StoredAs(const PackedChainTest& test, const std::vector<float>& x, ElementType type,
                     int channels, size_t spatial, size_t block, size_t gap) {
  NumberBytes bytes;
  DispatchFloat(type, [&](auto tag) {
    using T = decltype(tag);
    std::vector<T> numbers;
    for (const float value : x) numbers.push_back(static_cast<T>(value));
    bytes = BytesOf(test.channels_last
                        ? ToChannelsLast(numbers, test.num, channels, spatial, block, gap, T(99.f))
                        : WithGaps(ToBlocks(numbers, test.num, channels, spatial, block), test.num,
                                   gap, T(99.f)));
  });
  return bytes;
}

/// Where x, y and the residual of a convolution begin that are `gap`, twice and three times that
/// apart.
ImageStrides StridesOf(const PackedChainTest& test, const ConvolutionShape& first,
                       const ConvolutionShape& last, size_t block, size_t gap) {
  const size_t channels = RoundUp(first.channels, block), outputs = RoundUp(last.outputs, block);
  ImageStrides strides;
  if (test.channels_last) {
    strides.x_pixel = channels + gap;
    strides.y_pixel = outputs + 2 * gap;
    strides.residual_pixel = outputs + 3 * gap;
  } else if (gap > 0) {
    strides = {channels * first.input_spatial() + gap, outputs * last.output_spatial() + 2 * gap,
               outputs * last.output_spatial() + 3 * gap};
  }
  return strides;
}

void ExpectNumbersOfLinks(const PackedChainTest& test) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed);
  std::mt19937 random(seed);
  const std::vector<ConvolutionShape>& shapes = test.shapes;
  const ElementType made = test.wide ? ElementType::FLOAT : test.type;
  std::vector<PackedChain::Link> links;
  for (const ConvolutionShape& shape : shapes) {
    links.push_back({shape, test.type, made, test.channels_last});
  }
  const auto chain = PackedChain::Make(links);
  ASSERT_NE(chain, nullptr);
  const size_t block = chain->kernel(0).block(), last = shapes.size() - 1;
  const size_t size = SizeOf(made);

  std::vector<NumberBytes> weights;
  std::vector<std::vector<float>> biases;
  std::vector<PackedChain::Layer> layers;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const PackedConvolution& kernel = chain->kernel(i);
    const float spread = 1 / std::sqrt(float(shapes[i].column_rows()));
    const std::vector<float> values = Floats(shapes[i].weight_count(), spread, &random);
    weights.emplace_back(kernel.packed_size() * SizeOf(test.type));
    DispatchFloat(test.type, [&](auto tag) {
      using W = decltype(tag);
      kernel.PackWeights(values.data(), nullptr, reinterpret_cast<W*>(weights.back().data()));
    });
    biases.push_back(Floats(shapes[i].outputs, 1, &random));
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    layers.push_back({{weights[i].data(), test.type}, {}});
    layers[i].post.bias = biases[i].data();
    layers[i].post.activation = {i % 2 ? Activation::CLIP : Activation::RELU, i % 2 ? 0. : 0.1, 6.};
  }
  const auto stored = [&](const std::vector<float>& x, ElementType type, bool of_input,
                          size_t gap) {
    const ConvolutionShape& s = of_input ? shapes.front() : shapes.back();
    return StoredAs(test, x, type, of_input ? s.channels : s.outputs,
                    of_input ? s.input_spatial() : s.output_spatial(), block, gap);
  };
  const std::vector<float> x = Floats(test.num * shapes[0].input_size(), 1, &random);
  const std::vector<float> added = Floats(test.num * shapes[last].output_size(), 1, &random);

  // One behind another.
  std::vector<NumberBytes> values = {stored(x, test.type, true, 0)};
  const NumberBytes residual = stored(added, made, false, 0);
  for (size_t i = 0; i < shapes.size(); ++i) {
    const PackedConvolution& kernel = chain->kernel(i);
    const ConvolutionShape& s = shapes[i];
    const ImageStrides strides = StridesOf(test, s, s, block, 0);
    values.emplace_back(test.num * s.output_spatial() * RoundUp(s.outputs, block) * size);
    std::vector<float> scratch(kernel.scratch_size(test.num) + 1, NAN);
    PostOps post = layers[i].post;
    if (i == last && test.residual) post.residual = Numbers(residual.data(), made);
    kernel.Forward(test.num, {values[i].data(), i == 0 ? test.type : made}, layers[i].weights, post,
                   scratch.data(), {values.back().data(), made, strides});
  }

  const size_t to = test.num * (test.channels_last ? shapes[last].output_spatial() : 1);
  const NumberBytes expected = WithGaps(values.back(), to, 2 * test.gap * size, char(77));
  const NumberBytes from = stored(x, test.type, true, test.gap);
  const NumberBytes sums = stored(added, made, false, 3 * test.gap);
  if (test.residual) layers[last].post.residual = Numbers(sums.data(), made);
  const ImageStrides strides = StridesOf(test, shapes[0], shapes[last], block, test.gap);
  for (const int threads : {1, 2, 3}) {
    const TeamSize team(threads);
    NumberBytes y(expected.size(), char(77));
    std::vector<float> scratch(chain->scratch_bytes(test.num) / sizeof(float) + 16, NAN);
    chain->Forward(test.num, {from.data(), test.type}, layers, scratch.data(),
                   {y.data(), made, strides});
    EXPECT_TRUE(y == expected) << threads << " threads";
  }
}

constexpr ElementType kTypes[] = {ElementType::BFLOAT16, ElementType::FLOAT16, ElementType::FLOAT};

TEST_P(PackedChains, AreTheirConvolutionsOneBehindAnother) {
  for (const NamedChain& c : AllChains()) {
    SCOPED_TRACE(c.name);
    for (const ElementType type : kTypes) {
      SCOPED_TRACE(::testing::Message() << Name(type));
      ExpectNumbersOfLinks({c.shapes, c.num, type, TileShape::TWO_BY_TWO});
    }
    ExpectNumbersOfLinks({c.shapes, c.num, ElementType::BFLOAT16, TileShape::FOUR_BY_ONE});
  }
}

TEST_P(BlockedPackedChains, AreTheirConvolutionsOneBehindAnother) {
  for (const NamedChain& c : AllChains()) {
    SCOPED_TRACE(c.name);
    ExpectNumbersOfLinks({c.shapes, c.num, ElementType::BFLOAT16});
  }
}

void ExpectSumsWithAResidual(ElementType type, std::optional<TileShape> channels_last) {
  SCOPED_TRACE(::testing::Message() << Name(type));
  PackedChainTest test{
      ChainOf(24, 11, 9, {NextPointwise(96), NextDepthwise(3, 1, 1), NextPointwise(24)}), 3, type,
      channels_last};
  test.residual = true;
  ExpectNumbersOfLinks(test);
  test.gap = 32;
  test.wide = true;
  ExpectNumbersOfLinks(test);
}

TEST_P(PackedChains, AddAResidual) {
  for (const ElementType type : kTypes) ExpectSumsWithAResidual(type, TileShape::FOUR_BY_ONE);
}

TEST_P(BlockedPackedChains, AddAResidual) { ExpectSumsWithAResidual(ElementType::BFLOAT16, {}); }

TEST_P(BlockedPackedChains, AreOfBFloat16Alone) {
  const std::vector<ConvolutionShape> shapes =
      ChainOf(16, 9, 9, {NextPointwise(32), NextDepthwise(3, 1, 1)});
  for (const ElementType type : kTypes) {
    const auto chain = PackedChain::Make({{shapes[0], type, type}, {shapes[1], type, type}});
    EXPECT_EQ(chain != nullptr, type == ElementType::BFLOAT16) << Name(type);
  }
}

TEST_P(PackedChains, AreNotMadeOfWhatDoesNotFollow) {
  const std::vector<ConvolutionShape> good =
      ChainOf(16, 9, 9, {NextPointwise(32), NextDepthwise(3, 1, 1), NextPointwise(8)});
  const auto make = [](const std::vector<ConvolutionShape>& shapes) {
    std::vector<PackedChain::Link> links;
    for (const ConvolutionShape& shape : shapes) {
      links.push_back({shape, ElementType::BFLOAT16, ElementType::BFLOAT16, TileShape()});
    }
    return PackedChain::Make(links);
  };
  EXPECT_NE(make(good), nullptr);
  EXPECT_EQ(make({}), nullptr) << "nothing";
  constexpr ElementType kType = ElementType::BFLOAT16;
  EXPECT_EQ(PackedChain::Make({{good[0], kType, kType, TileShape()}, {good[1], kType, kType}}),
            nullptr)
      << "two layouts";
  EXPECT_EQ(make({good[0]}), nullptr) << "one";
  EXPECT_EQ(make({good[2], good[0]}), nullptr) << "other channels";
  EXPECT_EQ(make({good[0], Square(32, 32, 8, {9, 3, 1, 1})}), nullptr)
      << "groups of parts of a panel";
  std::vector<PackedChain::Layer> layers(2);
  EXPECT_THROW(make(good)->Forward(1, {nullptr, ElementType::BFLOAT16}, layers, nullptr,
                                   {nullptr, ElementType::BFLOAT16}),
               Error)
      << "too few layers";
}

INSTANTIATE_TEST_SUITE_P(Sets, BlockedPackedChains, ::testing::ValuesIn(SetsWithPairs()),
                         [](const auto& info) { return std::string(Name(info.param)); });

INSTANTIATE_TEST_SUITE_P(Sets, PackedChains, ::testing::ValuesIn(SetsWithTiles()),
                         [](const auto& info) { return std::string(Name(info.param)); });

}  // namespace
}  // namespace caffe::kernels
