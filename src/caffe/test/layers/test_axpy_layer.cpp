#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kAxpyCases = {
    LayerCase("Images", "type: 'Axpy'")
        .Bottom({kOddN, kOddC, 1, 1})
        .Bottom({kOddN, kOddC, kOddH, kOddW})
        .Bottom({kOddN, kOddC, kOddH, kOddW}),
    LayerCase("Factors", "type: 'Axpy'")
        .Bottom({kOddN, kOddC})
        .Bottom({kOddN, kOddC, kOddH, kOddW})
        .Bottom({kOddN, kOddC, kOddH, kOddW}),
    LayerCase("Rows", "type: 'Axpy'")
        .Bottom({kOddN, kOddC})
        .Bottom({kOddN, kOddC})
        .Bottom({kOddN, kOddC}),
};
INSTANTIATE_TEST_SUITE_P(Axpy, LayerCases, ::testing::ValuesIn(kAxpyCases), CaseName());

const std::vector<BadLayerCase> kAxpyBadCases = {
    BadLayerCase("Channels", "type: 'Axpy'")
        .Bottom({2, 4})
        .Bottom({2, 3, 2, 2})
        .Bottom({2, 3, 2, 2})
        .Says("one factor for each image and channel: bottom 0 is 2 4"),
    BadLayerCase("Places", "type: 'Axpy'")
        .Bottom({2, 3, 2, 2})
        .Bottom({2, 3, 2, 2})
        .Bottom({2, 3, 2, 2})
        .Says("one factor for each image and channel"),
    BadLayerCase("Summand", "type: 'Axpy'")
        .Bottom({2, 3})
        .Bottom({2, 3, 2, 2})
        .Bottom({2, 3, 4})
        .Says("bottoms 1 and 2 of one shape"),
    BadLayerCase("TwoBottoms", "type: 'Axpy'")
        .Bottom({2, 3})
        .Bottom({2, 3})
        .Says("exactly 3 bottom"),
};
INSTANTIATE_TEST_SUITE_P(Axpy, BadLayerCases, ::testing::ValuesIn(kAxpyBadCases), CaseName());

TEST(AxpyValues, ScalesChannelsAndAdds) {
  Example example("type: 'Axpy'");
  example.Bottom({1, 2}, {10, -1}).Bottom({1, 2, 2}, {1, 2, 3, 4}).Bottom({1, 2, 2}, {5, 6, 7, 8});
  example.SetUp();
  EXPECT_EQ(example.Forward(), (Floats{15, 26, 4, 4}));
  EXPECT_EQ(example.Backward({1, 2, 3, 4}, 0), (Floats{5, 25}));
  EXPECT_EQ(example.Backward({1, 2, 3, 4}, 1), (Floats{10, 20, -3, -4}));
  EXPECT_EQ(example.Backward({1, 2, 3, 4}, 2), (Floats{1, 2, 3, 4}));
}

}  // namespace
}  // namespace caffe
