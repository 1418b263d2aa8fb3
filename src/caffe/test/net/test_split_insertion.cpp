#include <gtest/gtest.h>

#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/test_files.hpp"
#include "caffe/util/insert_splits.hpp"

namespace caffe {
namespace {

/// Inserting splits into `input` gives `expected`, and into that changes nothing.
void ExpectSplits(const std::string& input, const std::string& expected) {
  NetParameter actual, again;
  InsertSplits(ParseNet(input), &actual);
  EXPECT_EQ(actual.DebugString(), ParseNet(expected).DebugString());
  InsertSplits(actual, &again);
  EXPECT_EQ(again.DebugString(), actual.DebugString());
}

void ExpectUnchanged(const std::string& input) { ExpectSplits(input, input); }

constexpr char kDataAndLabel[] =
    R"(layer { name: "data" type: "Input" top: "data" top: "label" } )";

TEST(SplitInsertion, LeavesAChainAlone) {
  ExpectUnchanged(std::string(kDataAndLabel) + R"(
      layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" }
      layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" })");
}

TEST(SplitInsertion, LeavesInPlaceLayersAlone) {
  ExpectUnchanged(std::string(kDataAndLabel) + R"(
      layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" }
      layer { name: "relu" type: "ReLU" bottom: "ip" top: "ip" }
      layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" })");
}

TEST(SplitInsertion, NamesSplitAfterBlobLayerAndTop) {
  EXPECT_EQ(SplitLayerName("conv", "blob", 2), "blob_conv_2_split");
  EXPECT_EQ(SplitBlobName("conv", "blob", 2, 1), "blob_conv_2_split_1");
}

TEST(SplitInsertion, GivesEachReaderATopOfItsOwn) {
  ExpectSplits(R"(
      layer { name: "data" type: "Input" top: "data" }
      layer { name: "a" type: "InnerProduct" bottom: "data" top: "a" }
      layer { name: "b" type: "InnerProduct" bottom: "data" top: "b" }
      layer { name: "c" type: "Eltwise" bottom: "data" bottom: "a" top: "c" })",
               R"(
      layer { name: "data" type: "Input" top: "data" }
      layer { name: "data_data_0_split" type: "Split" bottom: "data" top: "data_data_0_split_0"
              top: "data_data_0_split_1" top: "data_data_0_split_2" }
      layer { name: "a" type: "InnerProduct" bottom: "data_data_0_split_0" top: "a" }
      layer { name: "b" type: "InnerProduct" bottom: "data_data_0_split_1" top: "b" }
      layer { name: "c" type: "Eltwise" bottom: "data_data_0_split_2" bottom: "a" top: "c" })");
}

TEST(SplitInsertion, CountsOneLayerReadingTwice) {
  ExpectSplits(R"(
      layer { name: "data" type: "Input" top: "x" top: "data" }
      layer { name: "sum" type: "Eltwise" bottom: "data" bottom: "data" top: "sum" })",
               R"(
      layer { name: "data" type: "Input" top: "x" top: "data" }
      layer { name: "data_data_1_split" type: "Split" bottom: "data" top: "data_data_1_split_0"
              top: "data_data_1_split_1" }
      layer { name: "sum" type: "Eltwise" bottom: "data_data_1_split_0"
              bottom: "data_data_1_split_1" top: "sum" })");
}

TEST(SplitInsertion, SplitsAfterTheInPlaceLayer) {
  ExpectSplits(R"(
      layer { name: "data" type: "Input" top: "data" }
      layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" }
      layer { name: "relu" type: "ReLU" bottom: "ip" top: "ip" }
      layer { name: "a" type: "InnerProduct" bottom: "ip" top: "a" }
      layer { name: "b" type: "InnerProduct" bottom: "ip" top: "b" })",
               R"(
      layer { name: "data" type: "Input" top: "data" }
      layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" }
      layer { name: "relu" type: "ReLU" bottom: "ip" top: "ip" }
      layer { name: "ip_relu_0_split" type: "Split" bottom: "ip" top: "ip_relu_0_split_0"
              top: "ip_relu_0_split_1" }
      layer { name: "a" type: "InnerProduct" bottom: "ip_relu_0_split_0" top: "a" }
      layer { name: "b" type: "InnerProduct" bottom: "ip_relu_0_split_1" top: "b" })");
}

TEST(SplitInsertion, CountsALossWeightAsAReader) {
  ExpectSplits(R"(
      layer { name: "data" type: "Input" top: "data" }
      layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" loss_weight: 2.5 }
      layer { name: "next" type: "InnerProduct" bottom: "ip" top: "next" })",
               R"(
      layer { name: "data" type: "Input" top: "data" }
      layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" }
      layer { name: "ip_ip_0_split" type: "Split" bottom: "ip" top: "ip_ip_0_split_0"
              top: "ip_ip_0_split_1" loss_weight: 2.5 loss_weight: 0 }
      layer { name: "next" type: "InnerProduct" bottom: "ip_ip_0_split_1" top: "next" })");
}

TEST(SplitInsertion, LeavesALossThatNobodyReadsAlone) {
  ExpectUnchanged(R"(
      layer { name: "data" type: "Input" top: "data" }
      layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" loss_weight: 2.5 })");
}

// A loss layer without a weight would take the default 1 and count twice.
TEST(SplitInsertion, LeavesALossLayerAnExplicitZero) {
  NetParameter net;
  InsertSplits(ParseNet(std::string(kDataAndLabel) + R"(
      layer { name: "loss" type: "SoftmaxWithLoss" bottom: "data" bottom: "label" top: "loss"
              loss_weight: 3 }
      layer { name: "silence" type: "Silence" bottom: "loss" })"),
               &net);
  ASSERT_EQ(net.layer_size(), 4);
  ASSERT_EQ(net.layer(1).loss_weight_size(), 1);
  EXPECT_EQ(net.layer(1).loss_weight(0), 0);
  EXPECT_EQ(net.layer(2).loss_weight(0), 3);
}

TEST(SplitInsertion, KeepsTheOtherLossWeights) {
  NetParameter net;
  InsertSplits(ParseNet(R"(
      layer { name: "data" type: "Input" top: "data" }
      layer { name: "two" type: "Slice" bottom: "data" top: "a" top: "b"
              loss_weight: 1 loss_weight: 0.5 }
      layer { name: "next" type: "Silence" bottom: "a" })"),
               &net);
  EXPECT_EQ(net.layer(1).loss_weight(0), 0);
  EXPECT_EQ(net.layer(1).loss_weight(1), 0.5);
}

TEST(SplitInsertion, AddsNoTypes) {
  NetParameter net;
  InsertSplits(ParseNet(R"(
      layer { name: "data" type: "Input" top: "data" forward_type: FLOAT16 }
      layer { name: "s" type: "Silence" bottom: "data" bottom: "data" })"),
               &net);
  EXPECT_FALSE(net.layer(1).has_forward_type());
}

TEST(SplitInsertion, RefusesAnUnknownBottom) {
  NetParameter out;
  ExpectContains(ErrorOf([&] {
                   InsertSplits(
                       ParseNet(R"(layer { name: "a" type: "ReLU" bottom: "x" top: "y" })"), &out);
                 }),
                 "Unknown bottom blob 'x' (layer 'a', bottom index 0)");
}

}  // namespace
}  // namespace caffe
