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

std::vector<LayerCase> InfogainLossCases() {
  const Bottom matrix = Bottom({1, 1, 3, 3}, Fill::POSITIVE).WithoutGradient();
  const Bottom labels = Bottom({kOddN, kOddH}).Labels(3).WithoutGradient();
  const std::vector<std::vector<int>> detour = {{kOddN, 3, kOddH}, {kOddN, kOddH}, {1, 1, 3, 3}};
  const std::vector<std::vector<int>> last = {{kOddN, kOddH, 3}, {kOddN, kOddH}, {1, 1, 3, 3}};
  return {
      LayerCase("Matrix", "type: 'InfogainLoss'")
          .Bottom({kOddN, 3, kOddH})
          .Bottom(labels)
          .Bottom(matrix)
          .Detour(detour),
      LayerCase(
          "LastAxisIgnored",
          "type: 'InfogainLoss' infogain_loss_param { axis: -1 } loss_param { ignore_label: 1 }")
          .Bottom({kOddN, kOddH, 3})
          .Bottom(labels)
          .Bottom(matrix)
          .Detour(last),
      LayerCase("BatchSize", "type: 'InfogainLoss' loss_param { normalize: false }")
          .Bottom({kOddN, 3, kOddH})
          .Bottom(labels)
          .Bottom(matrix)
          .Detour(detour),
      LayerCase("File",
                "type: 'InfogainLoss' infogain_loss_param { source: '" + MatrixFile() + "' }")
          .Bottom({kOddN, 3})
          .Labels({kOddN}, 3),
  };
}
INSTANTIATE_TEST_SUITE_P(InfogainLoss, LayerCases, ::testing::ValuesIn(InfogainLossCases()),
                         CaseName());

const std::vector<BadLayerCase> kInfogainLossBadCases = {
    BadLayerCase("NoMatrix", "type: 'InfogainLoss'")
        .Bottom({2, 3})
        .Labels({2}, 3)
        .Says("infogain_loss_param: give the infogain matrix as a third bottom, or .* source"),
    BadLayerCase("NoFile", "type: 'InfogainLoss' infogain_loss_param { source: '/nowhere' }")
        .Bottom({2, 3})
        .Labels({2}, 3)
        .Says("/nowhere"),
    BadLayerCase("MatrixShape", "type: 'InfogainLoss'")
        .Bottom({2, 3})
        .Labels({2}, 3)
        .Bottom({3, 2})
        .Says("matrix of shape 3 2 .* must have 3 x 3 values"),
    BadLayerCase("Axis", "type: 'InfogainLoss' infogain_loss_param { axis: 2 }")
        .Bottom({2, 3})
        .Labels({2}, 3)
        .Bottom({3, 3})
        .Says("axis 2 is out of range"),
};
INSTANTIATE_TEST_SUITE_P(InfogainLoss, BadLayerCases, ::testing::ValuesIn(kInfogainLossBadCases),
                         CaseName());

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
