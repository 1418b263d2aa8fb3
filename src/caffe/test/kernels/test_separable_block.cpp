// Separable blocks against the definitions of their convolutions in double, on every instruction
// set that this machine runs, shared by rows and by channels.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "caffe/kernels/ceil_div.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/kernels/separable_block.hpp"
#include "caffe/test/support/blocked_convolutions.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe::kernels {
namespace {

using Split = SeparableBlock::Split;

class SeparableBlocks : public OnInstructionSet {};

/// Channels 0 of `inputs`: nothing expands.
SeparableBlock::Shapes BlockOf(int inputs, int middle, int outputs, const Extents& rows,
                               const Extents& columns) {
  SeparableBlock::Shapes shapes;
  shapes.depthwise = Shape(middle, middle, middle, {rows, columns});
  const auto pointwise = [](int from, int to, const std::vector<int>& extents) {
    return Shape(from, to, 1, {{extents[0], 1}, {extents[1], 1}});
  };
  if (inputs > 0) shapes.expand = pointwise(inputs, middle, shapes.depthwise.input);
  shapes.project = pointwise(middle, outputs, shapes.depthwise.output);
  return shapes;
}
SeparableBlock::Shapes SquareBlock(int inputs, int middle, int outputs, const Extents& extents) {
  return BlockOf(inputs, middle, outputs, extents, extents);
}

struct BlockTest {
  SeparableBlock::Shapes shapes;
  int num = 1;
  Activation expanded{Activation::CLIP, 0., 6.}, convolved{Activation::RELU, 0.1, 0.};
  Activation projected = {};
  bool residual = false;
  size_t gap = 0;         // behind each image of x, twice that in y, three times in the residual
  bool infinite = false;  // the first numbers of x: infinities of both signs
};

/// A layer in double and as the kernel takes it.
template <typename W>
struct TestedLayer {
  TestedLayer(const ConvolutionShape& shape, const Activation& activation, std::mt19937* random)
      : shape(shape), activation(activation) {
    std::normal_distribution<float> value;
    const float scale = 1 / std::sqrt(static_cast<float>(shape.column_rows()));
    for (size_t i = 0; i < shape.weight_count(); ++i) {
      stored.push_back(static_cast<W>(scale * value(*random)));
      weights.push_back(static_cast<float>(stored.back()));
    }
    for (int i = 0; i < shape.outputs; ++i) bias.push_back(value(*random));
  }

  std::vector<double> Forward(int num, const std::vector<double>& x) const {
    std::vector<double> y(num * shape.output_size());
    const std::vector<double> wide(bias.begin(), bias.end());
    ReferenceConvolutionForward(shape, num, x.data(), weights.data(), wide.data(), y.data());
    return y;
  }
  std::vector<double> Activate(std::vector<double> x) const {
    for (double& value : x) value = ActivatedValue(activation, value);
    return x;
  }
  SeparableBlock::Layer Packed(const SeparableBlock::Packing& packing) {
    packed.assign(packing.size, static_cast<W>(0.f));
    packing.for_each([&](size_t to, size_t from) { packed.at(to) = stored.at(from); });
    return {packed.data(), PostOps(bias.data(), {}, activation)};
  }

  const ConvolutionShape shape;
  const Activation activation;
  std::vector<W> stored, packed;
  std::vector<double> weights;
  std::vector<float> bias;
};

/// The error is at most that of sums of that many terms of unit variance, and one rounding of y.
template <typename X, typename W, typename Y>
void CheckBlock(const BlockTest& test, Split split) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message()
               << "CAFFE_TEST_SEED=" << seed << ", split " << static_cast<int>(split));
  std::mt19937 random(seed);
  const SeparableBlock::Shapes& shapes = test.shapes;
  const auto kernel = SeparableBlock::Make(shapes, split);
  ASSERT_NE(kernel, nullptr);
  const ConvolutionShape& first = shapes.expand ? *shapes.expand : shapes.depthwise;
  std::normal_distribution<float> value;
  const auto operand = [&](size_t n, auto type) {
    std::vector<decltype(type)> values;
    for (size_t i = 0; i < n; ++i) values.push_back(static_cast<decltype(type)>(value(random)));
    return values;
  };
  const int num = test.num;
  std::vector<X> x = operand(num * first.input_size(), X());
  if (test.infinite) {
    x[0] = static_cast<X>(std::numeric_limits<float>::infinity());
    x[1] = static_cast<X>(-std::numeric_limits<float>::infinity());
  }
  const std::vector<Y> residual = operand(num * shapes.project.output_size(), Y());
  TestedLayer<W> depthwise(shapes.depthwise, test.convolved, &random);
  TestedLayer<W> project(shapes.project, test.projected, &random);
  std::vector<double> exact;
  for (const X& number : x) exact.push_back(static_cast<float>(number));
  SeparableBlock::Layers layers;
  std::optional<TestedLayer<W>> expand;
  if (shapes.expand) {
    expand.emplace(*shapes.expand, test.expanded, &random);
    exact = expand->Activate(expand->Forward(num, exact));
    layers.expand = expand->Packed(kernel->expand_packing());
  }
  exact = project.Forward(num, depthwise.Activate(depthwise.Forward(num, exact)));
  for (size_t i = 0; test.residual && i < exact.size(); ++i) {
    exact[i] += static_cast<float>(residual[i]);
  }
  exact = project.Activate(exact);
  layers.depthwise = depthwise.Packed(kernel->depthwise_packing());
  layers.project = project.Packed(kernel->project_packing());

  const size_t block = kernel->block(), spatial = shapes.project.output_spatial();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<X> blocked =
      WithGaps(ToBlocks(x, num, first.channels, first.input_spatial(), block), num, test.gap,
               static_cast<X>(nan));
  const int outputs = shapes.project.outputs;
  const size_t image = RoundUp(outputs, block) * spatial, pitch = image + 2 * test.gap;
  std::vector<Y> y(num * pitch, static_cast<Y>(nan));
  const std::vector<Y> added = WithGaps(ToBlocks(residual, num, outputs, spatial, block), num,
                                        3 * test.gap, static_cast<Y>(nan));
  if (test.residual) layers.project.post.residual = added.data();
  ImageStrides strides;
  if (test.gap > 0) strides = {blocked.size() / num, pitch, image + 3 * test.gap};
  std::vector<float> scratch(kernel->scratch_size(num), nan);
  kernel->Forward(num, blocked.data(), layers, scratch.data(), {y.data(), strides});

  const double rounding = RoundingOf<Y>();
  const std::vector<double> expected = ToBlocks(exact, num, outputs, spatial, block);
  const std::vector<int> real =
      ToBlocks(std::vector<int>(exact.size(), 1), num, outputs, spatial, block);
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t n = i / pitch, at = i % pitch;
    const double result = static_cast<float>(y[i]);
    if (at >= image) {
      ASSERT_TRUE(std::isnan(result)) << "between images at " << i;
    } else if (!real[n * image + at]) {
      ASSERT_EQ(result, 0) << "fills up a block at " << i;
    } else {
      const double goal = expected[n * image + at];
      ASSERT_NEAR(result, goal, 3e-5 + rounding * std::fabs(goal)) << i;
    }
  }
}

template <typename X, typename W, typename Y>
void CheckBothSplits(const BlockTest& test) {
  for (const Split split : {Split::ROWS, Split::CHANNELS}) {
    for (const int threads : {1, 2, 3}) {
      SCOPED_TRACE(::testing::Message() << threads << " threads");
      const TeamSize team(threads);
      CheckBlock<X, W, Y>(test, split);
    }
  }
}

TEST_P(SeparableBlocks, AreTheirConvolutionsOneBehindAnother) {
  struct Case {
    const char* name;
    SeparableBlock::Shapes shapes;
    int num;
  };
  const Case cases[] = {
      {"an inverted residual", SquareBlock(24, 144, 32, {14, 3, 1, 1}), 1},
      {"with a stride", SquareBlock(16, 96, 24, {15, 3, 2, 1}), 1},
      {"with a stride, an even image", SquareBlock(16, 48, 24, {12, 3, 2, 1}), 2},
      {"rows of seven", SquareBlock(40, 240, 40, {7, 3, 1, 1}), 1},
      {"kernels of 5", SquareBlock(16, 64, 24, {13, 5, 1, 2}), 1},
      {"kernels of 5 with a stride", SquareBlock(16, 64, 24, {13, 5, 2, 2}), 1},
      {"without padding", SquareBlock(16, 64, 24, {12, 3}), 1},
      {"more padding than a kernel needs", SquareBlock(16, 64, 24, {9, 3, 1, 4}), 1},
      {"strips of one row", BlockOf(8, 64, 8, {9, 3, 1, 1}, {300, 3, 1, 1}), 1},
      {"a row", BlockOf(16, 32, 16, {1, 1}, {40, 3, 1, 1}), 1},
      {"one pixel", SquareBlock(16, 96, 24, {1, 3, 1, 1}), 3},
      {"fewer rows than threads", BlockOf(16, 32, 16, {2, 3, 1, 1}, {19, 3, 1, 1}), 1},
      {"channels that fill no block", SquareBlock(5, 21, 13, {11, 3, 1, 1}), 2},
      {"many outputs", SquareBlock(8, 40, 300, {5, 3, 1, 1}), 1},
      {"nothing expands", SquareBlock(0, 96, 64, {14, 3, 1, 1}), 1},
      {"nothing expands, with a stride", SquareBlock(0, 40, 72, {15, 3, 2, 1}), 3},
      {"no image", SquareBlock(16, 32, 16, {7, 3, 1, 1}), 0},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    BlockTest test{c.shapes};
    test.num = c.num;
    CheckBothSplits<float, float, float>(test);
  }
}

TEST_P(SeparableBlocks, TakeNarrowerNumbers) {
  for (const int inputs : {0, 24}) {
    BlockTest test{SquareBlock(inputs, 56, 24, {11, 3, 1, 1})};
    CheckBothSplits<float16, float16, float16>(test);
    CheckBothSplits<bfloat16, bfloat16, bfloat16>(test);
    CheckBothSplits<float, float16, bfloat16>(test);
    CheckBothSplits<float16, float, float>(test);
  }
}

TEST_P(SeparableBlocks, AddAResidualAndActivate) {
  for (const Activation& activation :
       {Activation(), Activation{Activation::CLIP, -0.5, 0.75},
        Activation{Activation::RELU, 0., 0.}, Activation{Activation::RELU, 0.25, 0.}}) {
    BlockTest test{SquareBlock(24, 96, 24, {10, 3, 1, 1})};
    test.num = 3;
    test.projected = activation;
    test.residual = true;
    CheckBothSplits<float, float, float>(test);
    CheckBothSplits<float16, float16, float16>(test);
  }
}

// What fills up the last block of channels is no part of a sum: zeros times infinity are NaN.
TEST_P(SeparableBlocks, KeepWhatFillsUpABlockOutOfSums) {
  BlockTest test{SquareBlock(5, 21, 13, {11, 3, 1, 1})};
  test.infinite = true;
  test.convolved = {Activation::CLIP, -1., 3.};
  CheckBothSplits<float, float, float>(test);
  CheckBothSplits<float16, float, float>(test);
}

TEST_P(SeparableBlocks, ReadAndWritePartsOfLargerImages) {
  BlockTest test{SquareBlock(24, 96, 40, {10, 3, 1, 1})};
  test.num = 3;
  test.residual = true;
  test.gap = 32;
  CheckBothSplits<float, float, float>(test);
  test.shapes = SquareBlock(0, 24, 21, {10, 3, 2, 1});
  CheckBothSplits<float16, float16, float>(test);
}

TEST_P(SeparableBlocks, TakeImagesWithoutColumns) {
  BlockTest test{BlockOf(0, 32, 16, {8, 3, 1, 2}, {0, 3, 1, 2})};
  CheckBothSplits<float, float, float>(test);
}

TEST_P(SeparableBlocks, AreNotMadeOfOtherConvolutions) {
  const auto makes = [](const SeparableBlock::Shapes& shapes) {
    return SeparableBlock::Make(shapes, Split::ROWS) != nullptr;
  };
  const SeparableBlock::Shapes good = SquareBlock(16, 32, 24, {9, 3, 1, 1});
  EXPECT_TRUE(makes(good));
  EXPECT_FALSE(makes(SquareBlock(16, 32, 24, {9, 3, 1, 2, 2}))) << "dilated";
  EXPECT_FALSE(makes(SquareBlock(16, 32, 24, {9, 3, 3, 1}))) << "a stride of 3";
  EXPECT_FALSE(makes(SquareBlock(16, 32, 24, {9, 4, 1, 1}))) << "kernels of 4";
  SeparableBlock::Shapes bad = good;
  bad.depthwise.group = 16;
  EXPECT_FALSE(makes(bad)) << "not depthwise";
  bad = good;
  bad.project.channels = 16;
  EXPECT_FALSE(makes(bad)) << "other channels";
  bad = good;
  bad.expand = Square(16, 32, 2, {9, 1});
  EXPECT_FALSE(makes(bad)) << "groups";
  bad = good;
  bad.project = Square(32, 24, 1, {9, 3, 1, 1});
  EXPECT_FALSE(makes(bad)) << "not 1x1";
}

INSTANTIATE_ON_EVERY_SET(SeparableBlocks);

}  // namespace
}  // namespace caffe::kernels
