#include "caffe/inference/quantize/integer_weights.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "caffe/test/support/net_fixture.hpp"

namespace caffe::inference {
namespace {

// Outputs of up to 0.01 know a bias in steps of half of theirs, 1 / 200 of a weight of 1.
TEST(IntegerWeights, ThatFollowTheBiasStayWithinTheirBits) {
  for (const int bits : {2, 4, 8}) {
    Graph graph;
    graph.values.resize(2);
    graph.values[0].shape = {1, 2, 1, 1};
    graph.values[0].affine.scale = 1.f / 255;
    graph.values[1].shape = {1, 1, 1, 1};
    graph.values[1].affine.scale = 0.01f / 255;
    Node node;
    node.layer = ParseNet(
                     "layer { name: 'conv' type: 'Convolution' "
                     "  convolution_param { num_output: 1 kernel_size: 1 } }")
                     .layer(0);
    node.inputs = {0};
    node.outputs = {1};
    node.parameters = {Constant::Of({1, 2, 1, 1}, {1, -1}), Constant::Of({1}, {0.004f})};
    WeightRounding rounding;
    rounding.bits = bits;
    rounding.to_nearest = true;
    int zero_point = -1;
    const std::vector<Constant> parameters =
        WeightedIntegerParameters(graph, node, rounding, &zero_point);
    const int most = (1 << (bits - 1)) - 1;
    const auto* values = static_cast<const int8_t*>(parameters[0].data.get());
    EXPECT_EQ(values[0], most) << bits << " bits";
    EXPECT_EQ(values[1], -most) << bits << " bits";
    EXPECT_EQ(zero_point, 0);
  }
}

}  // namespace
}  // namespace caffe::inference
