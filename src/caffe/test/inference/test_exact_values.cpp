// Labels, indices and coordinates, which 16 bits do not hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "caffe/inference/builder.hpp"
#include "caffe/inference/engine.hpp"
#include "caffe/inference/graph/node_facts.hpp"
#include "caffe/test/support/inference_test.hpp"

namespace caffe::inference {
namespace {

NetworkDefinition NetOf(const std::vector<std::string>& layers,
                        const std::vector<std::string>& outputs) {
  NetworkDefinition net("exact");
  net.AddInput("x", {2, 3, 4, 4});
  for (const std::string& layer : layers) net.AddLayer(ParseLayer(layer));
  for (const std::string& output : outputs) net.MarkOutput(output);
  return net;
}

std::set<std::string> ExactOf(const std::vector<std::string>& layers,
                              const std::vector<std::string>& outputs) {
  const Graph graph = NetOf(layers, outputs).graph();
  const std::vector<bool> exact = ExactValues(graph);
  std::set<std::string> names;
  for (size_t i = 0; i < exact.size(); ++i) {
    if (exact[i]) names.insert(graph.values[i].name);
  }
  return names;
}

using BlobNames = std::set<std::string>;

const std::string kTurned =
    "name: 'turned' type: 'Permute' bottom: 'x' top: 'turned' permute_param { order: 0 order: 1 "
    "order: 3 order: 2 }";
const std::string kCut = "name: 'cut' type: 'Slice' bottom: 'turned' top: 'cut' top: 'rest'";

std::string Unary(const std::string& type, const std::string& bottom) {
  return "name: 'y' type: '" + type + "' bottom: '" + bottom + "' top: 'y'";
}

TEST(ExactValues, AreMovedFromInputsToWhereIndicesAreRead) {
  const std::string reindex = "name: 'y' type: 'BatchReindex' bottom: 'x' bottom: 'flat' top: 'y'";
  const std::string flat =
      "name: 'flat' type: 'Reshape' bottom: 'turned' top: 'flat' "
      "reshape_param { shape { dim: -1 } }";
  EXPECT_EQ(ExactOf({kTurned, flat, reindex}, {"y"}), (BlobNames{"x", "turned", "flat"}));
}

TEST(ExactValues, AreNotImages) {
  EXPECT_EQ(ExactOf({kTurned, Unary("TanH", "turned")}, {"y"}), BlobNames());
  EXPECT_EQ(ExactOf({kTurned}, {"turned"}), BlobNames());
}

TEST(ExactValues, ArePositionsUpToTheOutputs) {
  const std::string positions =
      "name: 'p' type: 'Pooling' bottom: 'x' top: 'p' top: 'positions' pooling_param { "
      "kernel_size: 2 stride: 2 }";
  const std::string flat = "name: 'flat' type: 'Flatten' bottom: 'positions' top: 'flat'";
  EXPECT_EQ(ExactOf({positions, flat}, {"p", "flat"}), (BlobNames{"positions", "flat"}));
  EXPECT_EQ(ExactOf({positions, Unary("TanH", "positions")}, {"p", "y"}), BlobNames());
}

// Row 4097 is none of FLOAT16, and in BFLOAT16 257 is none.
TEST(ExactValues, AreNotRoundedByEngines) {
  for (const Precision precision : {Precision::FP16, Precision::BF16}) {
    NetworkDefinition net("embed");
    net.AddInput("ids", {2, 2});
    net.AddLayer(
        ParseLayer("name: 'turned' type: 'Permute' bottom: 'ids' top: 'turned' permute_param { "
                   "order: 1 order: 0 }"));
    std::vector<float> rows(5000);
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i % 7);
    net.AddLayer(ParseLayer("name: 'e' type: 'Embed' bottom: 'turned' top: 'e' embed_param { "
                            "input_dim: 5000 num_output: 1 bias_term: false }"),
                 {Constant::Of({5000, 1}, rows)});
    net.MarkOutput("e");
    BuilderConfig config;
    config.precision = precision;
    ExecutionContext context(Builder(config).Build(net));
    const float ids[] = {4097, 257, 2049, 3};
    std::copy_n(ids, 4, context.Input("ids"));
    context.Run();
    const float* e = context.Output("e");
    EXPECT_EQ(std::vector<float>(e, e + 4), (std::vector<float>{4097 % 7, 2049 % 7, 257 % 7, 3}));
  }
}

}  // namespace
}  // namespace caffe::inference
