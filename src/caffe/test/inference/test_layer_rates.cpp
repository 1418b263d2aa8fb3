// Multiplications of layers, and how fast they are.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "caffe/inference/builder.hpp"
#include "caffe/inference/evaluation/layer_rates.hpp"
#include "caffe/inference/graph/regions.hpp"
#include "caffe/inference/graph/weighted_node.hpp"
#include "caffe/inference/network_definition.hpp"
#include "caffe/test/support/inference_test.hpp"

namespace caffe::inference {
namespace {

/// A pass of a layer on blobs of these shapes.
double ProductsOfLayer(const std::string& layer, const Shape& x, const Shape& y) {
  Node node;
  node.layer = ParseLayer(layer);
  node.inputs = {0};
  node.outputs = {1};
  node.parameters = {Constant()};
  return ProductsOf(node, x, y);
}

TEST(ProductsOf, CountEachWeightAtEachPosition) {
  // 5 x 3 kernels of 4 channels for 6 outputs, at 7 x 9 positions of 2 images.
  EXPECT_EQ(ProductsOfLayer("name: 'a' type: 'Convolution' convolution_param { num_output: 6 "
                            "kernel_h: 5 kernel_w: 3 }",
                            {2, 4, 11, 11}, {2, 6, 7, 9}),
            2. * 6 * 4 * 5 * 3 * 7 * 9);
  EXPECT_EQ(ProductsOfLayer("name: 'a' type: 'Convolution' convolution_param { num_output: 6 "
                            "kernel_size: 3 group: 2 stride: 2 }",
                            {1, 4, 11, 11}, {1, 6, 5, 5}),
            6. * 2 * 9 * 25);
  EXPECT_EQ(ProductsOfLayer("name: 'a' type: 'DepthwiseConvolution' convolution_param { "
                            "num_output: 4 kernel_size: 3 }",
                            {3, 4, 8, 8}, {3, 4, 6, 6}),
            3. * 4 * 9 * 36);
  // Of a Deconvolution the positions are those of the input.
  EXPECT_EQ(ProductsOfLayer("name: 'a' type: 'Deconvolution' convolution_param { num_output: 6 "
                            "kernel_size: 4 stride: 2 }",
                            {2, 5, 3, 3}, {2, 6, 8, 8}),
            2. * 5 * 6 * 16 * 9);
  EXPECT_EQ(ProductsOfLayer("name: 'a' type: 'InnerProduct' inner_product_param { num_output: 7 }",
                            {3, 4, 5, 1}, {3, 7}),
            3. * 20 * 7);
  EXPECT_EQ(ProductsOfLayer("name: 'a' type: 'Pooling' pooling_param { kernel_size: 2 }",
                            {1, 4, 8, 8}, {1, 4, 4, 4}),
            0);
}

LayerInfo LayerNamed(const std::string& name, ElementType math) {
  LayerInfo layer;
  layer.name = name;
  layer.type_of_math = math;
  return layer;
}

/// Two layers with weights, 2 ms in FLOAT and 1 ms in INT8, and a pooling of 1 ms.
LoadResult Profiled() {
  LoadResult profiled;
  profiled.layers.ReportLayerTime("conv", 2);
  profiled.layers.ReportLayerTime("pool", 1);
  profiled.layers.ReportLayerTime("fc", 1);
  profiled.products = {{"conv", 1e9}, {"fc", 3e9}};
  return profiled;
}
std::vector<LayerInfo> TheLayers() {
  return {LayerNamed("conv", ElementType::FLOAT), LayerNamed("pool", ElementType::FLOAT),
          LayerNamed("fc", ElementType::INT8)};
}

TEST(LayerRates, AreOperationsInTheMedianTime) {
  const LayerRates rates = RatesOf(
      Profiled(), TheLayers(),
      {{ElementType::FLOAT, "vectors", false, 2e12}, {ElementType::INT8, "tiles", true, 4e12}});
  ASSERT_EQ(rates.layers.size(), 3u);
  EXPECT_DOUBLE_EQ(rates.layers[0].per_second, 1e12);
  EXPECT_DOUBLE_EQ(rates.layers[0].share_of_peak, 0.25);
  EXPECT_FALSE(rates.layers[0].integers);
  EXPECT_EQ(rates.layers[1].per_second, 0);
  EXPECT_EQ(rates.layers[1].share_of_peak, 0);
  EXPECT_DOUBLE_EQ(rates.layers[2].per_second, 6e12);
  EXPECT_DOUBLE_EQ(rates.layers[2].share_of_peak, 0.75);
  EXPECT_TRUE(rates.layers[2].integers);
  // 8e9 operations in 4 ms, which would take 0.5 and 0.75 ms.
  EXPECT_DOUBLE_EQ(rates.total.per_second, 2e12);
  EXPECT_DOUBLE_EQ(rates.total.share_of_peak, 1.25 / 4);
  EXPECT_FALSE(rates.total.integers) << "not all of them";
}

TEST(LayerRates, HaveNoShareOfAnUnknownPeak) {
  const LayerRates rates =
      RatesOf(Profiled(), TheLayers(), {{ElementType::FLOAT, "vectors", false, 2e12}});
  EXPECT_DOUBLE_EQ(rates.layers[0].share_of_peak, 0.25);
  EXPECT_EQ(rates.layers[2].share_of_peak, 0);
  EXPECT_EQ(rates.total.share_of_peak, 0);
  EXPECT_DOUBLE_EQ(rates.total.per_second, 2e12);
}

TEST(LayerRates, HaveNoTotalWithoutWeights) {
  LoadResult profiled = Profiled();
  profiled.products.clear();
  EXPECT_EQ(RatesOf(profiled, TheLayers(), {}).total.per_second, 0);
  EXPECT_EQ(RatesOf(LoadResult(), {}, {}).total.per_second, 0);
}

TEST(LayerRates, AreShownInFloatingPointOrIntegerOperations) {
  EXPECT_EQ(RateText(1.234e12, false), "1.23 TFLOP/s");
  EXPECT_EQ(RateText(4.56e11, false), "456 GFLOP/s");
  EXPECT_EQ(RateText(9.994e11, false), "999 GFLOP/s");
  EXPECT_EQ(RateText(9.996e11, false), "1 TFLOP/s");
  EXPECT_EQ(RateText(2e12, true), "2 TOP/s");
  EXPECT_EQ(RateText(3e8, true), "0.3 GOP/s");
  EXPECT_EQ(RateText(0, true), "-");
}

// Of engines, whose weights are packed, the products are those of the shapes that run.
TEST(ProductsOf, AreThoseOfAllBottoms) {
  const std::string shape = "input_param { shape { dim: 2 dim: 3 dim: 5 dim: 5 } } } ";
  const NetParameter net =
      ParseNet("layer { name: 'a' type: 'Input' top: 'a' " + shape +
               "layer { name: 'b' type: 'Input' top: 'b' " + shape +
               "layer { name: 'c' type: 'Convolution' bottom: 'a' bottom: 'b' top: 'ca' top: 'cb' "
               "convolution_param { num_output: 4 kernel_size: 1 } }");
  Graph graph = NetworkDefinition::FromCaffe(net, {}).graph();
  graph.nodes[0].parameters = {Constant::Of({4, 3, 1, 1}, std::vector<float>(12, 1.f))};
  EXPECT_EQ(ProductsByLayer(graph, ShapesOf(graph)).at("c"), 2 * (2 * 25 * 3 * 4));
}

TEST(LayerRates, CountTheProductsOfTheShapesThatRun) {
  const NetParameter net = ParseNet(R"(
      layer { name: 'data' type: 'Input' top: 'data'
              input_param { shape { dim: 4 dim: 3 dim: 8 dim: 8 } } }
      layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv'
              convolution_param { num_output: 5 kernel_size: 3 weight_filler { type: 'xavier' } } }
      layer { name: 'relu' type: 'ReLU' bottom: 'conv' top: 'conv' }
      layer { name: 'fc' type: 'InnerProduct' bottom: 'conv' top: 'fc'
              inner_product_param { num_output: 7 weight_filler { type: 'xavier' } } })");
  const auto engine = Builder(BuilderConfig()).Build(NetworkDefinition::FromCaffe(net, {}));
  const double conv = 5 * 27 * 36, fc = 7 * 180;
  for (const LayerInfo& layer : engine->layers()) {
    EXPECT_EQ(layer.products, layer.name == "conv" ? 4 * conv
                              : layer.name == "fc" ? 4 * fc
                                                   : 0)
        << layer.name;
  }
  LoadOptions options;
  options.profile = true;
  options.batch = 3;
  const LoadResult result = MeasureLoad(engine, options);
  EXPECT_EQ(result.products, (std::map<std::string, double>{{"conv", 3 * conv}, {"fc", 3 * fc}}));
  const LayerRates rates = RatesOf(result, engine->layers(), {});
  EXPECT_EQ(rates.total.operations, 6 * (conv + fc));
  options.profile = false;
  EXPECT_TRUE(MeasureLoad(engine, options).products.empty());
}

}  // namespace
}  // namespace caffe::inference
