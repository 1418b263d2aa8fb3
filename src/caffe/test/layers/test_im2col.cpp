#include "caffe/util/im2col.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "caffe/test/support/seeds.hpp"

namespace caffe {
namespace {

template <typename Dtype>
class Im2colTest : public ::testing::Test {};
using RealTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Im2colTest, RealTypes);

TYPED_TEST(Im2colTest, HasARowForEachKernelPosition) {
  const std::vector<TypeParam> image = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<TypeParam> column(16), back(9);
  im2col_cpu(image.data(), 1, 3, 3, 2, 2, 0, 0, 1, 1, 1, 1, column.data());
  EXPECT_EQ(column, (std::vector<TypeParam>{1, 2, 4, 5, 2, 3, 5, 6, 4, 5, 7, 8, 5, 6, 8, 9}));
  col2im_cpu(column.data(), 1, 3, 3, 2, 2, 0, 0, 1, 1, 1, 1, back.data());
  EXPECT_EQ(back, (std::vector<TypeParam>{1, 4, 3, 8, 20, 12, 7, 16, 9}));
}

TYPED_TEST(Im2colTest, KnowsPaddingStrideAndDilation) {
  const std::vector<TypeParam> image = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<TypeParam> column(16);
  // Kernel positions 2 apart, from -1 on.
  im2col_cpu(image.data(), 1, 3, 3, 2, 2, 1, 1, 2, 2, 2, 2, column.data());
  EXPECT_EQ(std::vector<TypeParam>(column.begin(), column.begin() + 4),
            (std::vector<TypeParam>{0, 0, 0, 5}));
}

// For any axes: the same as for planes, and the sums of products agree both ways.
TYPED_TEST(Im2colTest, WorksOnAnyNumberOfAxes) {
  const int im_shape[] = {2, 5, 4}, kernel[] = {3, 2}, pad[] = {1, 0}, stride[] = {2, 1};
  const int dilation[] = {1, 2}, col_shape[] = {12, 3, 2};
  std::mt19937 random(TestSeed());
  std::vector<TypeParam> image(40), column(72), other(72), plane(72), back(40);
  for (TypeParam& value : image) value = static_cast<int>(random() % 9) - 4;
  for (TypeParam& value : other) value = static_cast<int>(random() % 9) - 4;
  im2col_nd_cpu(image.data(), 2, im_shape, col_shape, kernel, pad, stride, dilation, column.data());
  im2col_cpu(image.data(), 2, 5, 4, 3, 2, 1, 0, 2, 1, 1, 2, plane.data());
  EXPECT_EQ(column, plane);
  col2im_nd_cpu(other.data(), 2, im_shape, col_shape, kernel, pad, stride, dilation, back.data());
  TypeParam forth = 0, and_back = 0;
  for (int i = 0; i < 72; ++i) forth += column[i] * other[i];
  for (int i = 0; i < 40; ++i) and_back += image[i] * back[i];
  EXPECT_EQ(forth, and_back);
}

}  // namespace
}  // namespace caffe
