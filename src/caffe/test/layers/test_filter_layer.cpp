#include "caffe/test/support/layer_example.hpp"
#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<BadLayerCase> kFilterBadCases = {
    BadLayerCase("Tops", "type: 'Filter'")
        .Bottom({2, 3})
        .Bottom({2})
        .Tops(2)
        .Says("one top for each bottom but the last.*: 1, not 2"),
    BadLayerCase("Selector", "type: 'Filter'")
        .Bottom({2, 3})
        .Bottom({2, 2})
        .Says("a selector with one value an item"),
    BadLayerCase("Batch", "type: 'Filter'")
        .Bottom({3, 3})
        .Bottom({2})
        .Says("bottoms of one batch: bottom 0 is 3 3"),
};
INSTANTIATE_TEST_SUITE_P(Filter, BadLayerCases, ::testing::ValuesIn(kFilterBadCases), CaseName());

TEST(FilterValues, SelectsItems) {
  Example example("type: 'Filter'", 2);
  example.Bottom({3, 2}, {1, 2, 3, 4, 5, 6}).Bottom({3}, {7, 8, 9}).Bottom({3, 1}, {1, 0, 2});
  example.SetUp();
  EXPECT_EQ(example.TopShape(), (std::vector<int>{3, 2})) << "not known before the first pass";
  EXPECT_EQ(example.Forward(), (Floats{1, 2, 5, 6}));
  EXPECT_EQ(example.Forward(1), (Floats{7, 9}));
  EXPECT_EQ(example.TopShape(), (std::vector<int>{2, 2}));
  EXPECT_EQ(example.Backward({10, 20, 30, 40}), (Floats{10, 20, 0, 0, 30, 40}));
  EXPECT_THROW(example.Backward({10, 20, 30, 40}, 2), Error);
}

TEST(FilterValues, MayLeaveNothing) {
  Example example("type: 'Filter'");
  example.Bottom({2, 2}, {1, 2, 3, 4}).Bottom({2}, {0, 0}).SetUp();
  EXPECT_EQ(example.Forward(), Floats());
  EXPECT_EQ(example.TopShape(), (std::vector<int>{0, 2}));
  EXPECT_EQ(example.Backward({}), (Floats{0, 0, 0, 0}));
}

}  // namespace
}  // namespace caffe
