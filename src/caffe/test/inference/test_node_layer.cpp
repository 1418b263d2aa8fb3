// Layers that run a node on memory of others.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <vector>

#include "caffe/inference/graph/node_layer.hpp"

namespace caffe::inference {
namespace {

// Where a program may write them at any time, a layer packs its weights in every pass.
TEST(NodeLayers, KnowThatNothingWritesTheirParameters) {
  LayerParameter param;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "name: 'up' type: 'Deconvolution' convolution_param { num_output: 16 kernel_size: 4 stride: "
      "2 "
      "pad: 1 }",
      &param));
  NodeLayer layer(param,
                  {Constant::Of({8, 16, 4, 4}, std::vector<float>(8 * 16 * 16, 0.5f)),
                   Constant::Of({16}, std::vector<float>(16, 1.f))},
                  1, 1);
  const std::vector<Shape> tops = layer.Reshape({{1, 8, 5, 5}});
  std::vector<float> x(8 * 25, 1.f), y(CountOf(tops[0]));
  for (int pass = 0; pass < 2; ++pass) {
    layer.Run({x.data()}, {y.data()});
    for (const auto& blob : layer.layer().blobs()) {
      EXPECT_FALSE(blob->data_tensor().handed_out(ElementType::FLOAT));
    }
    EXPECT_EQ(1 + 8 * 0.5f, y[0]);
    EXPECT_EQ(1 + 8 * 4 * 0.5f, y[11]);
  }
}

}  // namespace
}  // namespace caffe::inference
