#include <numeric>

#include "caffe/io/proto_binary.hpp"
#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"
#include "caffe/test/support/test_files.hpp"

namespace caffe {
namespace {

// A file with the matrix whose rows are 1 2 3, 4 5 6, 7 8 9.
std::string MatrixFile() {
  BlobProto matrix;
  for (int extent : {1, 1, 3, 3}) matrix.mutable_shape()->add_dim(extent);
  for (int i = 1; i <= 9; ++i) matrix.add_data(i);
  const std::string name = NewFileName();
  WriteProtoBinary(matrix, name);
  return name;
}

std::vector<LayerCase> Cases() {
  const Bottom matrix = {{1, 1, 3, 3}, Fill::POSITIVE, false};
  const Bottom labels = {{kOddN, kOddH}, Fill::LABELS, false, 3};
  const std::vector<std::vector<int>> detour = {{kOddN, 3, kOddH}, {kOddN, kOddH}, {1, 1, 3, 3}};
  const std::vector<std::vector<int>> last = {{kOddN, kOddH, 3}, {kOddN, kOddH}, {1, 1, 3, 3}};
  return {
      {"Matrix",
       "type: 'InfogainLoss'",
       {{{kOddN, 3, kOddH}}, labels, matrix},
       1,
       false,
       true,
       1,
       -1,
       detour},
      {"LastAxisIgnored",
       "type: 'InfogainLoss' infogain_loss_param { axis: -1 } loss_param { ignore_label: 1 }",
       {{{kOddN, kOddH, 3}}, labels, matrix},
       1,
       false,
       true,
       1,
       -1,
       last},
      {"BatchSize",
       "type: 'InfogainLoss' loss_param { normalize: false }",
       {{{kOddN, 3, kOddH}}, labels, matrix},
       1,
       false,
       true,
       1,
       -1,
       detour},
      {"File",
       "type: 'InfogainLoss' infogain_loss_param { source: '" + MatrixFile() + "' }",
       {{{kOddN, 3}}, {{kOddN}, Fill::LABELS, false, 3}}},
  };
}
INSTANTIATE_TEST_SUITE_P(InfogainLoss, LayerCases, ::testing::ValuesIn(Cases()), CaseName());

const std::vector<BadLayerCase> kBadCases = {
    {"NoMatrix",
     "type: 'InfogainLoss'",
     {{{2, 3}}, {{2}, Fill::LABELS, false, 3}},
     "infogain_loss_param: give the infogain matrix as a third bottom, or .* source"},
    {"NoFile",
     "type: 'InfogainLoss' infogain_loss_param { source: '/nowhere' }",
     {{{2, 3}}, {{2}, Fill::LABELS, false, 3}},
     "/nowhere"},
    {"MatrixShape",
     "type: 'InfogainLoss'",
     {{{2, 3}}, {{2}, Fill::LABELS, false, 3}, {{3, 2}}},
     "matrix of shape 3 2 .* must have 3 x 3 values"},
    {"Axis",
     "type: 'InfogainLoss' infogain_loss_param { axis: 2 }",
     {{{2, 3}}, {{2}, Fill::LABELS, false, 3}, {{3, 3}}},
     "axis 2 is out of range"},
};
INSTANTIATE_TEST_SUITE_P(InfogainLoss, BadLayerCases, ::testing::ValuesIn(kBadCases), CaseName());

TEST(InfogainLossValues, WeighsLogarithms) {
  Example example("type: 'InfogainLoss'", 2);
  example.Bottom({1, 2}, {0, std::log(3.f)}).Bottom({1}, {1});
  example.Bottom({2, 2}, {9, 9, 2, 5}).SetUp();
  EXPECT_NEAR(example.loss(), -2 * std::log(0.25) - 5 * std::log(0.75), 1e-6);
  EXPECT_NEAR(example.Forward(1)[1], 0.75, 1e-6);
  const Floats gradient = example.Backward({1});
  EXPECT_NEAR(gradient[0], 0.25 * 7 - 2, 1e-6);
  EXPECT_NEAR(gradient[1], 0.75 * 7 - 5, 1e-6);
}

TEST(InfogainLossValues, ReadsTheMatrixFromAFile) {
  Example example("type: 'InfogainLoss' infogain_loss_param { source: '" + MatrixFile() + "' }");
  example.Bottom({1, 3}, {0, 0, 0}).Bottom({1}, {2}).SetUp();
  EXPECT_NEAR(example.loss(), 24 * std::log(3.), 1e-5);
}

}  // namespace
}  // namespace caffe
