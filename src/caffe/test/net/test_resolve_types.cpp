#include <gtest/gtest.h>

#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/test_files.hpp"
#include "caffe/types.hpp"
#include "caffe/util/insert_splits.hpp"

namespace caffe {
namespace {

constexpr ElementType F = ElementType::FLOAT;
constexpr ElementType D = ElementType::DOUBLE;
constexpr ElementType H = ElementType::FLOAT16;

constexpr char kTypedInput[] = R"( layer { name: "in" type: "Input" top: "x" } )";

std::vector<LayerTypes> Resolve(const std::string& text, ElementType net_type = F) {
  NetParameter net;
  InsertSplits(ParseNet(text), &net);
  return ResolveTypes(net, net_type);
}

/// The types of a convolution with the given fields in a net with the given defaults.
LayerTypes TypesOfConvolution(const std::string& defaults, const std::string& fields,
                              ElementType net_type = F) {
  return Resolve(defaults + kTypedInput +
                     "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'y' " + fields + " }",
                 net_type)
      .back();
}

std::ostream& operator<<(std::ostream& stream, const LayerTypes& t) {
  return stream << Name(t.forward_type) << " " << Name(t.backward_type) << " "
                << Name(t.forward_math) << " " << Name(t.backward_math);
}

/// Four types, storage forward and backward, then math, as text to compare and print.
std::string Text(const LayerTypes& types) {
  std::ostringstream stream;
  stream << types;
  return stream.str();
}
std::string Text(ElementType forward, ElementType backward, ElementType forward_math,
                 ElementType backward_math) {
  return Text(LayerTypes{forward, backward, forward_math, backward_math});
}

TEST(ResolveTypes, UnsetMeansTheNetsOwnType) {
  EXPECT_EQ(Text(TypesOfConvolution("", "", F)), Text(F, F, F, F));
  EXPECT_EQ(Text(TypesOfConvolution("", "", D)), Text(D, D, D, D));
}

TEST(ResolveTypes, TakesTheNetsDefaults) {
  EXPECT_EQ(Text(TypesOfConvolution("default_forward_type: FLOAT16", "")), Text(H, F, H, F));
  EXPECT_EQ(Text(TypesOfConvolution("default_backward_type: FLOAT16", "")), Text(F, H, F, H));
}

// "Pseudo" FP16: stored in half precision, multiplied in float.
TEST(ResolveTypes, DefaultMathIsApartFromDefaultStorage) {
  EXPECT_EQ(Text(TypesOfConvolution("default_forward_type: FLOAT16 default_forward_math: FLOAT "
                                    "default_backward_type: FLOAT16 default_backward_math: FLOAT",
                                    "")),
            Text(H, H, F, F));
}

TEST(ResolveTypes, AnExplicitFloatIsNotUnset) {
  EXPECT_EQ(Text(TypesOfConvolution("default_forward_type: FLOAT", "", D)), Text(F, D, F, D));
  EXPECT_EQ(Text(TypesOfConvolution("default_forward_type: FLOAT16", "forward_type: FLOAT")),
            Text(F, F, F, F));
}

TEST(ResolveTypes, TheLayersOwnFieldsComeFirst) {
  EXPECT_EQ(Text(TypesOfConvolution("", "forward_type: FLOAT16 backward_type: DOUBLE")),
            Text(H, D, H, D));
  EXPECT_EQ(Text(TypesOfConvolution("default_forward_type: FLOAT16 default_forward_math: FLOAT16",
                                    "forward_math: FLOAT")),
            Text(H, F, F, F));
}

// NVCaffe's order: own math, own storage, default math, default storage.
TEST(ResolveTypes, OwnStorageBeatsDefaultMath) {
  EXPECT_EQ(Text(TypesOfConvolution("default_forward_type: FLOAT default_forward_math: FLOAT",
                                    "forward_type: FLOAT16")),
            Text(H, F, H, F));
  EXPECT_EQ(Text(TypesOfConvolution("default_backward_math: FLOAT16", "backward_type: FLOAT")),
            Text(F, F, F, F));
}

TEST(ResolveTypes, GradientsOfDataLayersAreTheNetsType) {
  const std::vector<LayerTypes> types = Resolve(
      std::string("default_forward_type: FLOAT16 default_backward_type: FLOAT16") + kTypedInput);
  EXPECT_EQ(types[0].forward_type, H);
  EXPECT_EQ(types[0].backward_type, F);
}

TEST(ResolveTypes, AnInsertedSplitTakesItsProducersTypes) {
  const std::vector<LayerTypes> types = Resolve(std::string(kTypedInput) + R"(
      layer { name: "c" type: "Convolution" bottom: "x" top: "y" forward_type: FLOAT16
              backward_math: DOUBLE }
      layer { name: "s" type: "Silence" bottom: "y" bottom: "y" })");
  ASSERT_EQ(types.size(), 4u);
  EXPECT_EQ(Text(types[2]), Text(types[1]));
  EXPECT_EQ(Text(types[2]), Text(H, F, H, D));
}

TEST(ResolveTypes, AnInsertedSplitOfADataLayerToo) {
  const std::vector<LayerTypes> types = Resolve(R"(default_backward_type: FLOAT16
      layer { name: "in" type: "Input" top: "x" }
      layer { name: "s" type: "Silence" bottom: "x" bottom: "x" })");
  EXPECT_EQ(types[1].backward_type, F);
}

TEST(ResolveTypes, ASplitOfTheUsersTakesTheDefaults) {
  const std::vector<LayerTypes> types = Resolve(std::string("default_forward_type: FLOAT16 ") + R"(
      layer { name: "in" type: "Input" top: "x" }
      layer { name: "c" type: "Convolution" bottom: "x" top: "y" forward_type: FLOAT }
      layer { name: "mine" type: "Split" bottom: "y" top: "a" top: "b" })");
  EXPECT_EQ(types[2].forward_type, H);
}

/// The storage type of the last layer of a FLOAT16 net with labels "l", an image "x", and what a
/// convolution makes of it, "y".
ElementType StorageBehindLabels(const std::string& layers) {
  return Resolve(std::string("default_forward_type: FLOAT16 ") + R"(
      layer { name: "data" type: "Data" top: "x" top: "l" }
      layer { name: "c" type: "Convolution" bottom: "x" top: "y" } )" +
                 layers)
      .back()
      .forward_type;
}

// A class 2049 is none in FLOAT16.
TEST(ResolveTypes, LayersThatMoveLabelsKeepThemInTheNetsType) {
  for (const std::string type : {"Slice", "Concat", "Tile", "Permute", "Reshape", "Flatten", "Crop",
                                 "Split", "BatchReindex"}) {
    SCOPED_TRACE(type);
    const std::string layer = "layer { name: 'm' type: '" + type + "' top: 'm' ";
    EXPECT_EQ(StorageBehindLabels(layer + "bottom: 'l' }"), F);
    EXPECT_EQ(StorageBehindLabels(layer + "bottom: 'y' }"), H);
    EXPECT_EQ(StorageBehindLabels(layer + "bottom: 'l' } layer { name: 'n' type: 'Slice' "
                                          "bottom: 'm' top: 'n' }"),
              F);
    EXPECT_EQ(StorageBehindLabels(layer + "bottom: 'l' forward_type: FLOAT16 }"), H);
  }
}

// Crop takes a shape from its second bottom, BatchReindex indices.
TEST(ResolveTypes, WhatSaysHowToMoveIsNotMoved) {
  EXPECT_EQ(
      StorageBehindLabels("layer { name: 'm' type: 'Crop' bottom: 'y' bottom: 'x' top: 'm' }"), H);
  EXPECT_EQ(StorageBehindLabels(
                "layer { name: 'm' type: 'BatchReindex' bottom: 'y' bottom: 'l' top: 'm' }"),
            H);
  EXPECT_EQ(StorageBehindLabels(
                "layer { name: 'm' type: 'BatchReindex' bottom: 'l' bottom: 'l' top: 'm' }"),
            F);
}

TEST(ResolveTypes, CoordinatesAndPositionsAreMovedLikewise) {
  EXPECT_EQ(StorageBehindLabels(R"(
      layer { name: "p" type: "PriorBox" bottom: "y" bottom: "x" top: "p" }
      layer { name: "q" type: "PriorBox" bottom: "y" bottom: "x" top: "q" }
      layer { name: "m" type: "Concat" bottom: "p" bottom: "q" top: "m" })"),
            F);
  const std::string pooling =
      "layer { name: 'p' type: 'Pooling' bottom: 'y' top: 'p' top: 'positions' } ";
  EXPECT_EQ(StorageBehindLabels(pooling +
                                "layer { name: 'm' type: 'Flatten' bottom: 'positions' top: 'm' }"),
            F);
  EXPECT_EQ(
      StorageBehindLabels(pooling + "layer { name: 'm' type: 'Flatten' bottom: 'p' top: 'm' }"), H);
}

// Numbers that are computed are in the net's type of storage.
TEST(ResolveTypes, ArithmeticOnLabelsTakesTheDefaults) {
  EXPECT_EQ(StorageBehindLabels("layer { name: 'm' type: 'Power' bottom: 'l' top: 'm' }"), H);
  EXPECT_EQ(StorageBehindLabels("layer { name: 'm' type: 'Power' bottom: 'l' top: 'm' } "
                                "layer { name: 'n' type: 'Slice' bottom: 'm' top: 'n' }"),
            H);
}

TEST(ResolveTypes, AnInPlaceLayerTakesItsProducersStorage) {
  const std::string convolution =
      std::string(kTypedInput) +
      "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'y' forward_type: FLOAT16 } ";
  EXPECT_EQ(Resolve(convolution + "layer { name: 'r' type: 'ReLU' bottom: 'y' top: 'y' }")[2]
                .forward_type,
            H);
  EXPECT_EQ(Resolve(convolution + "layer { name: 'r' type: 'ReLU' bottom: 'y' top: 'z' }")[2]
                .forward_type,
            F);
  EXPECT_EQ(Resolve(convolution + "layer { name: 'r' type: 'ReLU' bottom: 'y' top: 'y' "
                                  "forward_type: FLOAT }")[2]
                .forward_type,
            F);
}

TEST(ResolveTypes, LayersWithoutKernelsOfThatTypeKeepTheNetsType) {
  const std::vector<LayerTypes> types = Resolve(R"(
      default_forward_type: FLOAT16 default_backward_type: FLOAT16
      layer { name: "a" type: "SomebodysOwn" top: "x" }
      layer { name: "b" type: "SomebodysOwn" bottom: "x" top: "y" forward_type: FLOAT16 })",
                                                D);
  EXPECT_EQ(Text(types[0]), Text(D, D, D, D));
  EXPECT_EQ(Text(types[1]), Text(D, D, D, D));
}

TEST(ResolveTypes, RefusesTypesThatNoLayerComputesIn) {
  for (const std::string type : {"INT", "UINT", "BOOL"}) {
    const std::string message = ErrorOf([&] { TypesOfConvolution("", "forward_type: " + type); });
    ExpectContains(message, "layer 'c' (Convolution)");
    ExpectContains(message, "forward_type is " + type);
    ExpectContains(ErrorOf([&] { TypesOfConvolution("default_backward_math: " + type, ""); }),
                   "default_backward_math is " + type);
  }
}

// Values are stored in FLOAT or FLOAT16; what the message says to write is taken.
TEST(ResolveTypes, BFloat16IsATypeOfMathOnly) {
  const LayerTypes types =
      TypesOfConvolution("default_forward_math: BFLOAT16 default_backward_math: BFLOAT16", "");
  EXPECT_EQ(types.forward_math, ElementType::BFLOAT16);
  EXPECT_EQ(types.backward_math, ElementType::BFLOAT16);
  EXPECT_EQ(types.forward_type, ElementType::FLOAT);
  EXPECT_EQ(TypesOfConvolution("", "forward_math: BFLOAT16").forward_math, ElementType::BFLOAT16);
  ExpectContains(ErrorOf([] { TypesOfConvolution("", "forward_type: BFLOAT16"); }),
                 "store FLOAT or FLOAT16, and say default_forward_math: BFLOAT16");
  ExpectContains(ErrorOf([] { TypesOfConvolution("default_backward_type: BFLOAT16", ""); }),
                 "default_backward_type is BFLOAT16, which is a type of math");
  ExpectContains(ErrorOf([] { TypesOfConvolution("", "forward_math: INT"); }),
                 "valid are FLOAT, FLOAT16 and DOUBLE, and BFLOAT16");
}

// Their products stand for those of integers.
TEST(ResolveTypes, NetsThatSimulateIntegersMultiplyInTheirStoredTypes) {
  const std::string defaults = "default_forward_math: BFLOAT16 default_forward_type: FLOAT16";
  const std::string rounding =
      "layer { name: 'round' type: 'FakeQuantization' bottom: 'x' top: 'x' }";
  const auto types = Resolve(defaults + kTypedInput + rounding +
                             "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'y' "
                             "backward_math: BFLOAT16 }");
  EXPECT_EQ(Text(types.back()), Text(H, F, H, F));
}

TEST(OwnTypes, LooksAtTheLayerAlone) {
  LayerParameter layer;
  EXPECT_EQ(Text(OwnTypes(layer, D)), Text(D, D, D, D));
  layer.set_forward_type(FLOAT16);
  layer.set_backward_math(FLOAT);
  EXPECT_EQ(Text(OwnTypes(layer, D)), Text(H, D, H, F));
}

}  // namespace
}  // namespace caffe
