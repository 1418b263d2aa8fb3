// What the overflow inspector says of nets whose numbers are known.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "caffe/fp16/range_inspector.hpp"
#include "caffe/fp16/range_report.hpp"
#include "caffe/test/support/net_fixture.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

Magnitudes Of(const std::vector<float>& values) {
  Magnitudes magnitudes;
  magnitudes.Add(values.data(), values.size());
  return magnitudes;
}

TEST(Magnitudes, TellTheLargestAndTheSmallestThatIsNotZero) {
  const Magnitudes magnitudes = Of({0, -3, 0.5f, 0});
  EXPECT_EQ(magnitudes.largest(), 3);
  EXPECT_EQ(magnitudes.smallest_nonzero(), 0.5);
  EXPECT_EQ(magnitudes.count(), 4);
  EXPECT_EQ(magnitudes.zeros(), 2);
}

TEST(Magnitudes, CountWhatIsAbove65504AlsoAfterADivision) {
  const float above = std::nextafter(65504.f, 1e9f);
  const Magnitudes magnitudes = Of({65504, -above, 131008, 1});
  EXPECT_EQ(magnitudes.ShareAbove(), 0.5);
  EXPECT_EQ(magnitudes.ShareAbove(1), 0);
  EXPECT_EQ(Of({131009}).ShareAbove(1), 1);
  EXPECT_EQ(Of({131009}).ShareAbove(2), 0);
  EXPECT_EQ(Of({std::numeric_limits<float>::infinity()}).ShareAbove(10), 1);
}

TEST(Magnitudes, CountWhatBecomesSubnormalOrZeroInFloat16) {
  const float normal = std::ldexp(1.f, -14);
  const float half_of_smallest = std::ldexp(1.f, -25);  // a tie: rounds to even, 0
  const Magnitudes magnitudes = Of({normal, std::nextafter(normal, 0.f), half_of_smallest,
                                    std::nextafter(half_of_smallest, 1.f), 0});
  EXPECT_DOUBLE_EQ(magnitudes.ShareSubnormal(), 0.6);
  EXPECT_DOUBLE_EQ(magnitudes.ShareFlushed(), 0.2);
  EXPECT_DOUBLE_EQ(magnitudes.ShareSubnormal(1), 0.8);
  EXPECT_DOUBLE_EQ(magnitudes.ShareFlushed(1), 0.4);
}

TEST(Magnitudes, AgreeWithTheConversion) {
  std::vector<float> values;
  for (int exponent = -30; exponent <= 20; ++exponent) {
    for (int step = 0; step < 64; ++step) {
      values.push_back(std::ldexp(1 + step / 64.f, exponent));
    }
  }
  for (int exponent : {0, 3, 7}) {
    int subnormal = 0, flushed = 0, above = 0;
    for (float value : values) {
      const float scaled = std::ldexp(value, -exponent);
      flushed += float(float16(scaled)) == 0;
      subnormal += scaled < kSmallestNormalFloat16;
      above += scaled > kLargestFloat16;
    }
    const double count = double(values.size());
    EXPECT_DOUBLE_EQ(Of(values).ShareFlushed(exponent), flushed / count);
    EXPECT_DOUBLE_EQ(Of(values).ShareSubnormal(exponent), subnormal / count);
    EXPECT_DOUBLE_EQ(Of(values).ShareAbove(exponent), above / count);
  }
}

TEST(Magnitudes, GiveTheLeastPowerOfTwoThatLeavesTheHeadroom) {
  EXPECT_EQ(Of({65504}).ExponentFor(1), 0);
  EXPECT_EQ(Of({65505}).ExponentFor(1), 1);
  EXPECT_EQ(Of({65504}).ExponentFor(2), 1);
  EXPECT_EQ(Of({262016}).ExponentFor(4), 4);
  EXPECT_EQ(Of({}).ExponentFor(4), 0);
}

TEST(Magnitudes, LeaveNanAndInfinityOutOfTheExtremes) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Magnitudes magnitudes = Of({NAN, -infinity, 2});
  EXPECT_EQ(magnitudes.largest(), 2);
  EXPECT_EQ(magnitudes.infinite(), 1);
  EXPECT_EQ(magnitudes.not_a_number(), 1);
}

constexpr char kInput[] =
    "layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 1 dim: 2 dim: 1 "
    "dim: 2 } } } ";

/// A net on an input of two channels with two pixels each.
struct Inspected {
  explicit Inspected(const std::string& layers, const std::vector<double>& input)
      : net(MakeNet(kInput + layers)), input(input) {}
  RangeInspector& Run() {
    inspector = std::make_unique<RangeInspector>(net.get());
    SetValues(net->input_blobs()[0], input);
    inspector->Forward();
    return *inspector;
  }
  const LayerRange& Layer(const std::string& name) {
    for (const LayerRange& layer : inspector->layers()) {
      if (layer.name == name) return layer;
    }
    throw Error("no layer " + name);
  }
  void SetBlob(const std::string& layer, int blob, const std::vector<double>& values) {
    SetValues(net->layer_by_name(layer)->blobs()[blob].get(), values);
  }

  std::unique_ptr<Net<float>> net;
  std::vector<double> input;
  std::unique_ptr<RangeInspector> inspector;
};

TEST(RangeInspector, GivesARangeForEachLayerAlsoInPlaceAndWithoutSplits) {
  Inspected it(
      "layer { name: 'relu' type: 'ReLU' bottom: 'data' top: 'data' }"
      "layer { name: 'a' type: 'Power' bottom: 'data' top: 'a' power_param { scale: 10 } }"
      "layer { name: 'b' type: 'Power' bottom: 'data' top: 'b' power_param { scale: 100 } }",
      {-7, 1, 2, 3});
  const RangeInspector& inspector = it.Run();
  ASSERT_EQ(inspector.layers().size(), 4u);
  EXPECT_EQ(it.Layer("data").tops[0].magnitudes.largest(), 7);
  EXPECT_EQ(it.Layer("relu").tops[0].magnitudes.largest(), 3);
  EXPECT_EQ(it.Layer("a").tops[0].magnitudes.largest(), 30);
  EXPECT_EQ(it.Layer("b").tops[0].magnitudes.smallest_nonzero(), 100);
  EXPECT_EQ(it.Layer("b").bottoms[0], "data");
}

TEST(RangeInspector, AddsUpBatches) {
  Inspected it("", {1, 2, 3, 4});
  it.Run();
  SetValues(it.net->input_blobs()[0], {-50, 0.25, 0, 0});
  it.inspector->Forward();
  const Magnitudes& magnitudes = it.Layer("data").tops[0].magnitudes;
  EXPECT_EQ(it.inspector->batches(), 2);
  EXPECT_EQ(magnitudes.count(), 8);
  EXPECT_EQ(magnitudes.largest(), 50);
  EXPECT_EQ(magnitudes.smallest_nonzero(), 0.25);
}

std::string Power(const std::string& name, const std::string& bottom, double scale) {
  return Join("layer { name: '", name, "' type: 'Power' bottom: '", bottom, "' top: '", name,
              "' power_param { scale: ", scale, " } } ");
}

TEST(RangeInspector, MarksFromWhereToWhereValuesLeaveTheRange) {
  Inspected it(Power("a", "data", 1) + Power("b", "a", 1e5) +
                   "layer { name: 'relu' type: 'ReLU' bottom: 'b' top: 'b' }" +
                   Power("c", "b", 1e-5) + Power("d", "c", 1e6),
               {1, 2, 3, 4});
  const std::vector<OverflowRegion> regions = it.Run().Regions();
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_EQ(regions[0].from, "b");
  EXPECT_EQ(regions[0].to, "c");
  EXPECT_EQ(regions[0].blobs, std::vector<std::string>{"b"});
  EXPECT_FLOAT_EQ(regions[0].largest, 4e5);
  EXPECT_EQ(regions[1].from, "d");
  EXPECT_EQ(regions[1].to, "");  // the net's output
}

TEST(RangeInspector, JoinsBranchesToOneRegion) {
  Inspected it(Power("a", "data", 1e5) + Power("b", "a", 2) +
                   "layer { name: 'sum' type: 'Eltwise' bottom: 'a' bottom: 'b' top: 'sum' }" +
                   Power("c", "sum", 1e-6),
               {1, 2, 3, 4});
  const std::vector<OverflowRegion> regions = it.Run().Regions();
  ASSERT_EQ(regions.size(), 1u);
  EXPECT_EQ(regions[0].from, "a");
  EXPECT_EQ(regions[0].to, "c");
  EXPECT_EQ(regions[0].blobs, (std::vector<std::string>{"a", "b", "sum"}));
}

TEST(RangeInspector, FindsNoRegionWhereEverythingFits) {
  Inspected it(Power("a", "data", 10), {1, 2, 3, 4});
  EXPECT_TRUE(it.Run().Regions().empty());
  EXPECT_TRUE(it.inspector->OverflowsInside().empty());
}

/// Sums inside layers, of the input {300, -200, 100, 400}: channel 0 is {300, -200}, 1 {100, 400}.
struct Inside {
  const char* layer;  ///< of the name and top 'y', reading 'data'
  const char* what;
  double largest;
};
std::ostream& operator<<(std::ostream& stream, const Inside& inside) {
  return stream << inside.layer;
}

class InsideLayers : public testing::TestWithParam<Inside> {};

TEST_P(InsideLayers, SumsAreWatched) {
  Inspected it(Join("layer { name: 'y' bottom: 'data' top: 'y' ", GetParam().layer, " }"),
               {300, -200, 100, 400});
  it.Run();
  const InnerRanges& inside = it.Layer("y").inside;
  ASSERT_EQ(inside.count(GetParam().what), 1u);
  EXPECT_NEAR(inside.at(GetParam().what), GetParam().largest, 1e-6 * GetParam().largest);
}

const Inside kInside[] = {
    // 2 * 300 + 2 * 100 + 2 * 400 against 2 * 200
    {"type: 'InnerProduct' inner_product_param { num_output: 1 weight_filler { type: 'constant' "
     "value: 2 } bias_filler { type: 'constant' value: 1e6 } }",
     "partial sum", 1600},
    // The pixels of both channels: {300, 100} and {-200, 400}.
    {"type: 'Convolution' convolution_param { num_output: 1 kernel_size: 1 weight_filler { type: "
     "'constant' value: -1 } }",
     "partial sum", 400},
    {"type: 'Pooling' pooling_param { pool: AVE global_pooling: true }", "sum", 500},
    {"type: 'LRN' lrn_param { local_size: 3 }", "sum of squares", 200000},
    {"type: 'LRN' lrn_param { local_size: 3 norm_region: WITHIN_CHANNEL }", "sum of squares",
     170000},
    {"type: 'Normalize' norm_param { across_spatial: false }", "sum of squares", 200000},
    {"type: 'Normalize' norm_param { across_spatial: true }", "sum of squares", 300000},
    {"type: 'MVN'", "sum of squares", 170000},
    {"type: 'MVN' mvn_param { across_channels: true }", "sum", 800},
    {"type: 'Reduction' reduction_param { axis: 1 }", "sum", 800},
    {"type: 'Reduction' reduction_param { axis: 1 operation: ASUM }", "sum", 1000},
    {"type: 'Reduction' reduction_param { axis: 1 operation: SUMSQ }", "sum of squares", 300000},
    {"type: 'BatchNorm' batch_norm_param { use_global_stats: false }", "sum of squares", 170000},
    {"type: 'Softmax'", "x - max", 600},
    {"type: 'Power' power_param { scale: 3 shift: 5 }", "shift + scale x", 1205},
    {"type: 'Scale' scale_param { bias_term: true filler { type: 'constant' value: 7 } }",
     "product", 2800},
};
INSTANTIATE_TEST_SUITE_P(Types, InsideLayers, testing::ValuesIn(kInside));

TEST(RangeInspector, SeesThatALayerOverflowsInsideThoughItsBottomAndTopFit) {
  Inspected it("layer { name: 'norm' type: 'LRN' bottom: 'data' top: 'norm' }",
               {300, -200, 100, 400});
  const RangeInspector& inspector = it.Run();
  EXPECT_TRUE(inspector.Regions().empty());
  ASSERT_EQ(inspector.OverflowsInside().size(), 1u);
  EXPECT_EQ(inspector.layers()[inspector.OverflowsInside()[0]].name, "norm");
}

TEST(RangeInspector, SeesStatisticsStoredWithTheirFactor) {
  Inspected it("layer { name: 'bn' type: 'BatchNorm' bottom: 'data' top: 'bn' }",
               {300, -200, 100, 400});
  it.SetBlob("bn", 0, {100e3, -200e3});
  it.SetBlob("bn", 1, {4e6, 9e6});
  it.SetBlob("bn", 2, {1000});
  it.Run();
  const InnerRanges& inside = it.Layer("bn").inside;
  EXPECT_FLOAT_EQ(inside.at("stored mean"), 200e3);
  EXPECT_FLOAT_EQ(inside.at("stored variance"), 9e6);
  EXPECT_FLOAT_EQ(inside.at("x - mean"), 600);
  EXPECT_GT(it.Layer("bn").parameters[1].magnitudes.ShareAbove(), 0);
}

TEST(RangeInspector, PartialSumsOfEltwiseFollowTheBottomsOrder) {
  Inspected it(Power("a", "data", 2) + Power("b", "data", -2.5) +
                   "layer { name: 'sum' type: 'Eltwise' bottom: 'data' bottom: 'a' bottom: 'b' "
                   "top: 'sum' eltwise_param { coeff: 1 coeff: 10 coeff: 8 } }",
               {1, 2, 3, 4});
  it.Run();
  EXPECT_FLOAT_EQ(it.Layer("sum").inside.at("partial sum"), 84);  // 4 + 80 before - 80
}

// ------------------------------------------------------------------ bad input

TEST(RangeInspector, RefusesNanAndInfinityInTheWeights) {
  Inspected it(
      "layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' "
      "inner_product_param { num_output: 2 } }",
      {1, 2, 3, 4});
  it.SetBlob("ip", 0, {NAN, 1, NAN, 2, 3, 4, INFINITY, 6});
  const std::string error = ErrorOf([&] { it.Run(); });
  ExpectContains(error, "layer 'ip' (InnerProduct)");
  ExpectContains(error, "weights has 2 NaN and 1 infinite of 8");
}

TEST(RangeInspector, NamesTheFirstLayerThatIsNotFinite) {
  Inspected it(Power("a", "data", 1e30) + Power("b", "a", 1e30) + Power("c", "b", 1), {1, 2, 3, 4});
  const RangeInspector& inspector = it.Run();
  const std::string error = ErrorOf([&] { inspector.RequireFinite(); });
  ExpectContains(error, "layer 'b' (Power)");
  ExpectContains(error, "4 NaN or infinite of 4");
}

// ------------------------------------------------------------------ reports

TEST(RangeReport, ATableRowPerBlobAndALinePerRegion) {
  Inspected it(Power("a", "data", 1e5) + Power("b", "a", 1e-13), {1, 2, 3, 4});
  std::ostringstream out;
  PrintRanges(it.Run(), out);
  ExpectContains(out.str(), "\n!  a      Power  a       4e+05        1e+05     100.00 % ");
  ExpectContains(out.str(), "from layer 'a' to layer 'b' values leave FP16's range, up to 4e+05");
  ExpectContains(out.str(), "4e-08");
}

TEST(RangeReport, NamesTheFirstBlobThatIsNotFinite) {
  Inspected it("layer { name: 'a' type: 'Log' bottom: 'data' top: 'a' } " + Power("b", "a", 1),
               {-1, 2, 3, 4});
  std::ostringstream out;
  PrintRanges(it.Run(), out);
  ExpectContains(out.str(), "blob 'a' of layer 'a' has 1 NaN or infinite values in FLOAT already");
  EXPECT_EQ(out.str().find("no blob leaves"), std::string::npos);
}

TEST(RangeReport, JsonHoldsWhatTheTableHolds) {
  Inspected it(Power("a", "data", 1e5) + Power("b", "a", 1e-5), {1, 2, 3, 4});
  const std::string json = RangesAsJson(it.Run());
  ExpectContains(json, "\"batches\": 1");
  ExpectContains(json, "\"share_above\": 1");
  ExpectContains(json, "\"from\": \"a\"");
  ExpectContains(json, "\"to\": \"b\"");
}

TEST(RangeReport, TheImageShowsEachBlobAndEscapesNames) {
  Inspected it(Power("a<b>&c", "data", 1e5), {1, 2, 3, 4});
  const std::string svg = RangesAsSvg(it.Run(), "net");
  ExpectContains(svg, "<svg xmlns");
  ExpectContains(svg, ">data</text>");
  ExpectContains(svg, ">a&lt;b&gt;&amp;c</text>");
  ExpectContains(svg, "</svg>");
}

TEST(RangeReport, TheImageHasAnAxisOnBothEnds) {
  Inspected it(Power("a", "data", 2), {1, 2, 3, 4});
  const std::string svg = RangesAsSvg(it.Run(), "net");
  const size_t first = svg.find(">1e0</text>");
  ASSERT_NE(first, std::string::npos);
  EXPECT_NE(svg.find(">1e0</text>", first + 1), std::string::npos);
  ExpectContains(svg, "|x|, logarithmic");
  ExpectContains(svg, "the middle 98 % of its values");
}

}  // namespace
}  // namespace caffe
