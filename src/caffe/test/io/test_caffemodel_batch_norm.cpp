#include <gtest/gtest.h>

#include <vector>

#include "caffe/error.hpp"
#include "caffe/io/batch_norm_forms.hpp"

namespace caffe {
namespace {

using Floats = std::vector<float>;

TEST(BatchNormForms, DividesBvlcStatisticsByTheFactor) {
  const BatchNormBlobs blobs = FromBvlcBatchNorm({2, 4}, {8, 16}, 2, {3, 5}, {7, 9});
  EXPECT_EQ((Floats{1, 2}), blobs.mean);
  EXPECT_EQ((Floats{4, 8}), blobs.variance);
  EXPECT_EQ((Floats{3, 5}), blobs.scale);
  EXPECT_EQ((Floats{7, 9}), blobs.bias);
}

TEST(BatchNormForms, TakesFactorZeroAsNoStatistics) {
  const BatchNormBlobs blobs = FromBvlcBatchNorm({2, 4}, {8, 16}, 0);
  EXPECT_EQ((Floats{0, 0}), blobs.mean);
  EXPECT_EQ((Floats{0, 0}), blobs.variance);
  EXPECT_EQ((Floats{1, 1}), blobs.scale);
  EXPECT_EQ((Floats{0, 0}), blobs.bias);
}

TEST(BatchNormForms, WritesFiveBlobsThatReadBack) {
  const BatchNormBlobs blobs{{1, 2}, {4, 8}, {3, 5}, {7, 9}};
  const auto five = ToNvcaffeBatchNorm(blobs);
  EXPECT_EQ((Floats{1, 2}), five[0]);
  EXPECT_EQ((Floats{4, 8}), five[1]);
  EXPECT_EQ(Floats{1}, five[2]);
  EXPECT_EQ((Floats{3, 5}), five[3]);
  EXPECT_EQ((Floats{7, 9}), five[4]);
  const BatchNormBlobs again = FromNvcaffeBatchNorm(five);
  EXPECT_EQ(blobs.mean, again.mean);
  EXPECT_EQ(blobs.bias, again.bias);
}

TEST(BatchNormForms, DividesNvcaffesStatisticsByTheThirdBlob) {
  const BatchNormBlobs blobs = FromNvcaffeBatchNorm({{{2, 4}, {8, 16}, {2}, {3, 5}, {7, 9}}});
  EXPECT_EQ((Floats{1, 2}), blobs.mean);
  EXPECT_EQ((Floats{4, 8}), blobs.variance);
  EXPECT_EQ((Floats{3, 5}), blobs.scale);
  EXPECT_EQ((Floats{8, 16}),
            FromNvcaffeBatchNorm({{{2, 4}, {8, 16}, {0}, {3, 5}, {7, 9}}}).variance)
      << "0 is reserved, as in files of NVCaffe before 0.16.5";
}

TEST(BatchNormForms, PermutesDigitsOrder) {
  EXPECT_TRUE(IsDigitsOrder({2, 2, 2, 2, 1}));
  EXPECT_FALSE(IsDigitsOrder({2, 2, 1, 2, 2}));
  EXPECT_FALSE(IsDigitsOrder({1, 1, 1, 1, 1}));
  EXPECT_FALSE(IsDigitsOrder({2, 2, 1}));
  const BatchNormBlobs blobs = FromNvcaffeBatchNorm({{{3, 5}, {7, 9}, {1, 2}, {4, 8}, {0}}});
  EXPECT_EQ((Floats{1, 2}), blobs.mean);
  EXPECT_EQ((Floats{4, 8}), blobs.variance);
  EXPECT_EQ((Floats{3, 5}), blobs.scale);
  EXPECT_EQ((Floats{7, 9}), blobs.bias);
}

TEST(BatchNormForms, RejectsLengthsThatDoNotFit) {
  EXPECT_THROW(FromBvlcBatchNorm({1, 2}, {1}, 1), Error);
  EXPECT_THROW(FromBvlcBatchNorm({1, 2}, {1, 2}, 1, {1}), Error);
  EXPECT_THROW(FromNvcaffeBatchNorm({{{1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 2}}}), Error);
}

}  // namespace
}  // namespace caffe
