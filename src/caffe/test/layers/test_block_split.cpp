// How threads share an inverted residual, or that they had better not.
#include <gtest/gtest.h>

#include "caffe/layers/convolution/block_split.hpp"

namespace caffe {
namespace {

using Split = kernels::SeparableBlock::Split;

/// A block of square images with `kernel` x `kernel` depthwise weights, padded by half of that.
kernels::SeparableBlock::Shapes BlockShapes(int inputs, int middle, int outputs, int extent,
                                            int kernel = 3, int stride = 1) {
  const auto shape = [](int channels, int to, int group, int size, int kernel, int stride) {
    kernels::ConvolutionShape s;
    s.channels = channels;
    s.outputs = to;
    s.group = group;
    s.kernel = {kernel, kernel};
    s.stride = {stride, stride};
    s.pad = {kernel / 2, kernel / 2};
    s.dilation = {1, 1};
    s.input = {size, size};
    s.output = {(size - 1) / stride + 1, (size - 1) / stride + 1};
    return s;
  };
  kernels::SeparableBlock::Shapes shapes;
  shapes.expand = shape(inputs, middle, 1, extent, 1, 1);
  shapes.depthwise = shape(middle, middle, middle, extent, kernel, stride);
  shapes.project = shape(middle, outputs, 1, shapes.depthwise.output[0], 1, 1);
  return shapes;
}

TEST(BlockSplit, IsByImagesWhereEachThreadHasAsMany) {
  const auto shapes = BlockShapes(32, 192, 32, 7);
  for (const int threads : {1, 2, 3, 14}) {
    for (const int images : {1, 2}) {
      EXPECT_EQ(ChooseBlockSplit(shapes, images * threads, threads), Split::ROWS) << threads;
    }
  }
}

TEST(BlockSplit, IsByRowsOfLargeImages) {
  EXPECT_EQ(ChooseBlockSplit(BlockShapes(24, 144, 24, 56), 1, 2), Split::ROWS);
  EXPECT_EQ(ChooseBlockSplit(BlockShapes(24, 144, 32, 56, 3, 2), 1, 2), Split::ROWS);
  EXPECT_EQ(ChooseBlockSplit(BlockShapes(64, 384, 96, 14), 1, 2), Split::ROWS);
  EXPECT_EQ(ChooseBlockSplit(BlockShapes(24, 144, 24, 112), 1, 14), Split::ROWS);
}

TEST(BlockSplit, IsByChannelsOfSmallImagesOfMany) {
  EXPECT_EQ(ChooseBlockSplit(BlockShapes(160, 960, 320, 7), 1, 2), Split::CHANNELS);
  EXPECT_EQ(ChooseBlockSplit(BlockShapes(320, 1920, 320, 9), 1, 2), Split::CHANNELS);
  EXPECT_EQ(ChooseBlockSplit(BlockShapes(96, 576, 160, 14, 3, 2), 1, 2), Split::CHANNELS);
  EXPECT_EQ(ChooseBlockSplit(BlockShapes(160, 960, 160, 7), 1, 4), Split::CHANNELS);
}

// With 14 threads one row each, for which three are expanded, or one of six parts of the channels.
TEST(BlockSplit, IsNoneWhereTheSlowestThreadHasMuchMoreToDo) {
  for (const int threads : {4, 8, 14, 64}) {
    EXPECT_EQ(ChooseBlockSplit(BlockShapes(64, 384, 64, 14), 1, threads), std::nullopt) << threads;
  }
}

// Though an overlap of rows is 29 %, and three parts of the channels do not go evenly.
TEST(BlockSplit, IsNotNoneWhereAllIsDoneBeforeTwoMoreLayersStart) {
  EXPECT_EQ(ChooseBlockSplit(BlockShapes(32, 192, 32, 7), 1, 2), Split::ROWS);
}

}  // namespace
}  // namespace caffe
