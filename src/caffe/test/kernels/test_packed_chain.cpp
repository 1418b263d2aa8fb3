// Chains of convolutions of floating-point numbers with channels last against the same convolutions
// one behind another, to the bit, on every instruction set that this machine runs.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
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

class PackedChains : public OnInstructionSet {};

/// Of weights, inputs and outputs; between layers and of the output FLOAT where `wide`.
struct PackedChainTest {
  std::vector<ConvolutionShape> shapes;
  int num;
  ElementType type;
  TileShape tile_shape;
  bool wide = false;
  bool residual = false;
  size_t gap = 0;  // behind each pixel of x, twice that in y, three times in the residual
};

/// Numbers of a type, by their bits.
using NumberBytes = std::vector<char>;

template <typename T>
NumberBytes BytesOf(const std::vector<T>& x) {
  const char* const first = reinterpret_cast<const char*>(x.data());
  return {first, first + x.size() * sizeof(T)};
}

/// Of floats, with channels last.
NumberBytes Pixels(const std::vector<float>& x, ElementType type, int num, int channels,
                   size_t spatial, size_t block, size_t gap) {
  NumberBytes bytes;
  DispatchFloat(type, [&](auto tag) {
    using T = decltype(tag);
    std::vector<T> numbers;
    for (const float value : x) numbers.push_back(static_cast<T>(value));
    bytes = BytesOf(ToChannelsLast(numbers, num, channels, spatial, block, gap, T(99.f)));
  });
  return bytes;
}

void ExpectNumbersOfLinks(const PackedChainTest& test) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "CAFFE_TEST_SEED=" << seed);
  std::mt19937 random(seed);
  const std::vector<ConvolutionShape>& shapes = test.shapes;
  const ElementType made = test.wide ? ElementType::FLOAT : test.type;
  std::vector<PackedChain::Link> links;
  for (const ConvolutionShape& shape : shapes) {
    links.push_back({shape, test.type, test.tile_shape, made});
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
  const auto pixels = [&](const std::vector<float>& x, ElementType type, bool of_input,
                          size_t gap) {
    const ConvolutionShape& s = of_input ? shapes.front() : shapes.back();
    return Pixels(x, type, test.num, of_input ? s.channels : s.outputs,
                  of_input ? s.input_spatial() : s.output_spatial(), block, gap);
  };
  const std::vector<float> x = Floats(test.num * shapes[0].input_size(), 1, &random);
  const std::vector<float> added = Floats(test.num * shapes[last].output_size(), 1, &random);

  // One behind another.
  std::vector<NumberBytes> values = {pixels(x, test.type, true, 0)};
  const NumberBytes residual = pixels(added, made, false, 0);
  for (size_t i = 0; i < shapes.size(); ++i) {
    const PackedConvolution& kernel = chain->kernel(i);
    const ConvolutionShape& s = shapes[i];
    ImageStrides strides;
    strides.x_pixel = RoundUp(s.channels, block);
    strides.y_pixel = strides.residual_pixel = RoundUp(s.outputs, block);
    values.emplace_back(test.num * s.output_spatial() * strides.y_pixel * size);
    std::vector<float> scratch(kernel.scratch_size(test.num) + 1, NAN);
    PostOps post = layers[i].post;
    if (i == last && test.residual) post.residual = Numbers(residual.data(), made);
    kernel.Forward(test.num, {values[i].data(), i == 0 ? test.type : made}, layers[i].weights, post,
                   scratch.data(), {values.back().data(), made, strides});
  }

  const size_t to = test.num * shapes[last].output_spatial();
  const NumberBytes expected = WithGaps(values.back(), to, 2 * test.gap * size, char(77));
  const NumberBytes from = pixels(x, test.type, true, test.gap);
  const NumberBytes sums = pixels(added, made, false, 3 * test.gap);
  if (test.residual) layers[last].post.residual = Numbers(sums.data(), made);
  ImageStrides strides;
  strides.x_pixel = RoundUp(shapes[0].channels, block) + test.gap;
  strides.y_pixel = RoundUp(shapes[last].outputs, block) + 2 * test.gap;
  strides.residual_pixel = RoundUp(shapes[last].outputs, block) + 3 * test.gap;
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

TEST_P(PackedChains, AddAResidual) {
  for (const ElementType type : kTypes) {
    SCOPED_TRACE(::testing::Message() << Name(type));
    PackedChainTest test{
        ChainOf(24, 11, 9, {NextPointwise(96), NextDepthwise(3, 1, 1), NextPointwise(24)}), 3, type,
        TileShape::FOUR_BY_ONE};
    test.residual = true;
    ExpectNumbersOfLinks(test);
    test.gap = 32;
    test.wide = true;
    ExpectNumbersOfLinks(test);
  }
}

TEST_P(PackedChains, AreNotMadeOfWhatDoesNotFollow) {
  const std::vector<ConvolutionShape> good =
      ChainOf(16, 9, 9, {NextPointwise(32), NextDepthwise(3, 1, 1), NextPointwise(8)});
  const auto make = [](const std::vector<ConvolutionShape>& shapes) {
    std::vector<PackedChain::Link> links;
    for (const ConvolutionShape& shape : shapes) {
      links.push_back({shape, ElementType::BFLOAT16, {}, ElementType::BFLOAT16});
    }
    return PackedChain::Make(links);
  };
  EXPECT_NE(make(good), nullptr);
  EXPECT_EQ(make({}), nullptr) << "nothing";
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

INSTANTIATE_TEST_SUITE_P(Sets, PackedChains, ::testing::ValuesIn(SetsWithTiles()),
                         [](const auto& info) { return std::string(Name(info.param)); });

}  // namespace
}  // namespace caffe::kernels
