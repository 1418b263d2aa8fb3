#include "caffe/blob.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "caffe/core/blob_payload.hpp"

namespace caffe {
namespace {

template <typename Dtype>
class BlobTest : public ::testing::Test {};
using RealTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(BlobTest, RealTypes);

template <typename Dtype>
void Count(Blob<Dtype>* blob) {
  std::iota(blob->mutable_cpu_data(), blob->mutable_cpu_data() + blob->count(), Dtype(1));
}

template <typename Dtype>
std::string ErrorOfReshape(Blob<Dtype>* blob, const std::vector<int>& shape) {
  try {
    blob->Reshape(shape);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TYPED_TEST(BlobTest, StartsEmpty) {
  Blob<TypeParam> blob;
  EXPECT_EQ(blob.num_axes(), 0);
  EXPECT_EQ(blob.count(), 0);
}

TYPED_TEST(BlobTest, HasItsShape) {
  Blob<TypeParam> blob(2, 3, 4, 5);
  EXPECT_EQ(blob.num(), 2);
  EXPECT_EQ(blob.channels(), 3);
  EXPECT_EQ(blob.height(), 4);
  EXPECT_EQ(blob.width(), 5);
  EXPECT_EQ(blob.count(), 120);
  EXPECT_EQ(blob.shape_string(), "2 3 4 5 (120)");
  const int large = 1 << 16;
  EXPECT_EQ(Join(ShapeString({large, large, large, large})),
            "65536 65536 65536 65536 (2^63 or more)");
  EXPECT_EQ(Join(ShapeString({large, large, large, large, 0})), "65536 65536 65536 65536 0 (0)");
  EXPECT_EQ(blob.shape(-1), 5);
  EXPECT_EQ(blob.count(1, 3), 12);
  EXPECT_EQ(blob.count(2), 20);
  EXPECT_EQ(blob.offset(1, 2, 3, 4), 119);
  EXPECT_EQ(blob.offset({1, 2}), 100);
  EXPECT_EQ(blob.offset(2), 120);  // the end
  EXPECT_THROW(blob.offset(3), Error);
  EXPECT_THROW(blob.offset(0, -1), Error);
  EXPECT_EQ(blob.offset(0, 3), 60);
  EXPECT_THROW(blob.data_at(0, 3, 0, 0), Error);
  EXPECT_THROW(blob.diff_at(2, 0, 0, 0), Error);
  EXPECT_THROW(blob.offset({2, 0}), Error);
  EXPECT_THROW(blob.offset({0, 0, 0, 0, 0}), Error);
}

TYPED_TEST(BlobTest, AScalarHasNoAxesAndOneElement) {
  Blob<TypeParam> blob{std::vector<int>()};
  blob.Reshape(std::vector<int>());
  EXPECT_EQ(blob.num_axes(), 0);
  EXPECT_EQ(blob.count(), 1);
  EXPECT_EQ(blob.num(), 1);
}

TYPED_TEST(BlobTest, ZeroExtentsAreAllowed) {
  Blob<TypeParam> blob(std::vector<int>{0, 5});
  EXPECT_EQ(blob.count(), 0);
  EXPECT_EQ(blob.asum_data(), 0);
}

TYPED_TEST(BlobTest, ReshapeKeepsMemoryUntilItIsOutgrown) {
  Blob<TypeParam> blob(std::vector<int>{4, 3});
  const TypeParam* before = blob.cpu_data();
  blob.Reshape({2, 3});
  EXPECT_EQ(blob.cpu_data(), before);
  blob.Reshape({3, 4});
  EXPECT_EQ(blob.cpu_data(), before);
  blob.Reshape({100, 4});
  EXPECT_EQ(blob.count(), 400);
}

TYPED_TEST(BlobTest, RefusesShapesThatCannotBe) {
  Blob<TypeParam> blob;
  EXPECT_NE(ErrorOfReshape(&blob, {2, -3}).find("2 x -3"), std::string::npos);
  EXPECT_NE(ErrorOfReshape(&blob, {65536, 65536}).find("2^31 - 1"), std::string::npos);
  EXPECT_NE(ErrorOfReshape(&blob, {1 << 30, 1 << 30, 1 << 30}).find("2^31 - 1"), std::string::npos);
  EXPECT_NE(ErrorOfReshape(&blob, {0, 9, 1 << 30}).find("2^31 - 1"), std::string::npos);
  EXPECT_NE(ErrorOfReshape(&blob, std::vector<int>(33, 1)).find("at most 32 axes"),
            std::string::npos);
}

TYPED_TEST(BlobTest, AxesCountFromBothEnds) {
  Blob<TypeParam> blob(std::vector<int>{2, 3, 4});
  EXPECT_EQ(blob.CanonicalAxisIndex(-3), 0);
  EXPECT_EQ(blob.CanonicalAxisIndex(2), 2);
  EXPECT_THROW(blob.CanonicalAxisIndex(3), Error);
  EXPECT_THROW(blob.CanonicalAxisIndex(-4), Error);
}

TYPED_TEST(BlobTest, SumsAndScales) {
  Blob<TypeParam> blob(std::vector<int>{4});
  Count(&blob);
  blob.mutable_cpu_data()[1] = -2;
  EXPECT_EQ(blob.asum_data(), 10);
  EXPECT_EQ(blob.sumsq_data(), 30);
  blob.scale_data(2);
  EXPECT_EQ(blob.asum_data(), 20);
  blob.scale_data(0);
  EXPECT_EQ(blob.asum_data(), 0);
  EXPECT_EQ(blob.asum_diff(), 0);
}

TYPED_TEST(BlobTest, UpdateSubtractsTheGradient) {
  Blob<TypeParam> blob(std::vector<int>{2});
  Count(&blob);
  blob.mutable_cpu_diff()[1] = 0.5;
  blob.Update();
  EXPECT_EQ(blob.cpu_data()[0], 1);
  EXPECT_EQ(blob.cpu_data()[1], 1.5);
}

TYPED_TEST(BlobTest, CopiesAnotherBlob) {
  Blob<TypeParam> source(std::vector<int>{2, 2}), target(std::vector<int>{4});
  Count(&source);
  EXPECT_THROW(target.CopyFrom(source), Error);
  target.CopyFrom(source, false, true);
  EXPECT_EQ(target.shape(), source.shape());
  EXPECT_EQ(target.cpu_data()[3], 4);
  target.CopyFrom(source, true);
  EXPECT_EQ(target.cpu_diff()[3], 0);
}

TYPED_TEST(BlobTest, SharesData) {
  Blob<TypeParam> owner(std::vector<int>{3}), viewer(std::vector<int>{1, 3});
  viewer.ShareData(owner);
  owner.mutable_cpu_data()[2] = 8;
  EXPECT_EQ(viewer.cpu_data()[2], 8);
  EXPECT_EQ(viewer.cpu_data(), owner.cpu_data());
  viewer.ShareDiff(owner);
  viewer.mutable_cpu_diff()[0] = 1;
  EXPECT_EQ(owner.cpu_diff()[0], 1);
  const Blob<TypeParam> larger(std::vector<int>{4});
  EXPECT_THROW(viewer.ShareData(larger), Error);
  EXPECT_THROW(viewer.ShareDiff(larger), Error);
}

TYPED_TEST(BlobTest, UsesMemoryOfTheCallers) {
  TypeParam memory[4] = {1, 2, 3, 4};
  Blob<TypeParam> blob(std::vector<int>{2, 2});
  blob.set_cpu_data(memory);
  EXPECT_EQ(blob.cpu_data(), memory);
  blob.mutable_cpu_data()[0] = 9;
  EXPECT_EQ(memory[0], 9);
}

TYPED_TEST(BlobTest, SurvivesItsProtoForm) {
  Blob<TypeParam> blob(std::vector<int>{2, 3});
  Count(&blob);
  blob.mutable_cpu_diff()[5] = 7;
  BlobProto proto;
  blob.ToProto(&proto, true);
  Blob<TypeParam> back;
  back.FromProto(proto);
  EXPECT_EQ(back.shape(), blob.shape());
  EXPECT_EQ(back.cpu_data()[5], 6);
  EXPECT_EQ(back.cpu_diff()[5], 7);
}

TYPED_TEST(BlobTest, ReadsEveryPayload) {
  const float16 half[2] = {float16(1.5f), float16(-2.f)};
  BlobProto proto;
  proto.mutable_shape()->add_dim(2);
  proto.set_raw_data_type(FLOAT16);
  proto.set_raw_data(half, sizeof(half));
  Blob<TypeParam> blob;
  blob.FromProto(proto);
  EXPECT_EQ(blob.cpu_data()[1], -2);
  proto.add_data(3);
  proto.add_data(4);
  blob.FromProto(proto);
  EXPECT_EQ(blob.cpu_data()[1], 4) << "data comes before raw_data";
  proto.add_double_data(5);
  proto.add_double_data(6);
  blob.FromProto(proto);
  EXPECT_EQ(blob.cpu_data()[1], 6) << "double_data comes before data";
}

// Files of C3D, of which nothing else is known.
TYPED_TEST(BlobTest, TakesADiffForDataWhereThereIsNone) {
  BlobProto proto;
  proto.mutable_shape()->add_dim(2);
  proto.add_diff(3);
  proto.add_diff(4);
  Blob<TypeParam> blob;
  blob.FromProto(proto);
  EXPECT_EQ(blob.cpu_data()[0], 3);
  EXPECT_EQ(blob.cpu_data()[1], 4);
}

TYPED_TEST(BlobTest, ReadsTheOldShape) {
  BlobProto proto;
  proto.set_num(1);
  proto.set_channels(1);
  proto.set_height(2);
  proto.set_width(3);
  for (int i = 0; i < 6; ++i) proto.add_data(i);
  Blob<TypeParam> blob(std::vector<int>{2, 3});
  EXPECT_TRUE(blob.ShapeEquals(proto));
  blob.FromProto(proto, false);
  EXPECT_EQ(blob.cpu_data()[5], 5);
  Blob<TypeParam> other(std::vector<int>{3, 2});
  EXPECT_FALSE(other.ShapeEquals(proto));
  EXPECT_THROW(other.FromProto(proto, false), Error);
}

TYPED_TEST(BlobTest, RefusesAPayloadOfAnotherLength) {
  BlobProto proto;
  proto.mutable_shape()->add_dim(3);
  proto.add_data(1);
  Blob<TypeParam> blob;
  EXPECT_THROW(blob.FromProto(proto), Error);
  proto.clear_data();
  proto.set_raw_data("12345");
  EXPECT_THROW(blob.FromProto(proto), Error) << "no raw_data_type";
  proto.set_raw_data_type(FLOAT16);
  EXPECT_THROW(blob.FromProto(proto), Error) << "half an element";
  proto.mutable_shape()->set_dim(0, int64_t(1) << 40);
  EXPECT_THROW(blob.FromProto(proto), Error);
}

TEST(BlobTypes, StorageTypesAreDeclaredApartFromDtype) {
  Blob<float> blob(std::vector<int>{2});
  EXPECT_EQ(blob.data_type(), ElementType::FLOAT);
  blob.set_data_type(ElementType::FLOAT16);
  blob.overwrite_cpu_data_as<float16>()[0] = float16(0.5f);
  EXPECT_EQ(blob.cpu_data()[0], 0.5f);
  blob.Reshape({100});
  EXPECT_EQ(blob.data_type(), ElementType::FLOAT16) << "a growing Reshape keeps the type";
}

TEST(BlobTypes, SumsMakeNoNewRepresentation) {
  Blob<float> blob(std::vector<int>{100});
  blob.set_data_type(ElementType::FLOAT16);
  std::fill_n(blob.overwrite_cpu_data_as<float16>(), 100, float16(1000.f));
  EXPECT_EQ(blob.asum_data(), 1e5f);
  EXPECT_EQ(blob.sumsq_data(), 1e8f) << "summed in float: FLOAT16 ends at 65504";
  EXPECT_FALSE(blob.data_tensor().has_slot(ElementType::FLOAT));
}

TEST(BlobTypes, CopyingRoundsNothing) {
  Blob<float> source(std::vector<int>{1}), target(std::vector<int>{1});
  source.overwrite_cpu_data_as<double>()[0] = 1. + 1e-12;
  target.CopyFrom(source);
  EXPECT_EQ(target.cpu_data_as<double>()[0], 1. + 1e-12);
}

TEST(BlobTypes, IntegersAreTypesOfTheirOwn) {
  Blob<int> blob(std::vector<int>{2});
  blob.mutable_cpu_data()[1] = 1 << 30;
  EXPECT_EQ(blob.cpu_data()[1], 1 << 30);
  Blob<unsigned int> positive(std::vector<int>{1});
  positive.mutable_cpu_data()[0] = 4000000000u;
  EXPECT_EQ(positive.cpu_data()[0], 4000000000u);
}

}  // namespace
}  // namespace caffe
