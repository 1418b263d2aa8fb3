#include "caffe/test/support/layer_harness.hpp"

namespace caffe {
namespace {

const std::vector<LayerCase> kSliceCases = {
    LayerCase("EqualParts", "type: 'Slice'")
        .Bottom({kOddN, 6, kOddH})
        .Tops(3)
        .Terms(1)
        .Detour({{kOddN, 6, kOddH}}),
    LayerCase("Points", "type: 'Slice' slice_param { slice_point: 1 slice_point: 4 }")
        .Bottom({kOddN, 6, kOddH, kOddW})
        .Tops(3)
        .Terms(1)
        .Detour({{kOddN, 9, kOddH, kOddW}}),
    LayerCase("Batch", "type: 'Slice' slice_param { axis: 0 slice_point: 2 }")
        .Bottom({5, kOddC})
        .Tops(2)
        .Terms(1),
    LayerCase("LastAxis", "type: 'Slice' slice_param { axis: -1 }")
        .Bottom({3, kOddC, 4})
        .Tops(2)
        .Terms(1),
    LayerCase("OldName", "type: 'Slice' slice_param { slice_dim: 1 }")
        .Bottom({2, 4})
        .Tops(2)
        .Terms(1),
    LayerCase("OneTop", "type: 'Slice'").Bottom({2, kOddC}).Terms(1),
};
INSTANTIATE_TEST_SUITE_P(Slice, LayerCases, ::testing::ValuesIn(kSliceCases), CaseName());

const std::vector<BadLayerCase> kSliceBadCases = {
    BadLayerCase("UnequalParts", "type: 'Slice'")
        .Bottom({2, 5})
        .Tops(2)
        .Says("extent 5 of axis 1 cannot be cut into 2 equal parts: give slice_point 1 times"),
    BadLayerCase("NumberOfPoints", "type: 'Slice' slice_param { slice_point: 1 slice_point: 2 }")
        .Bottom({2, 5})
        .Tops(2)
        .Says("slice_point is given 2 times for 2 tops: give it 1 times"),
    BadLayerCase("Order", "type: 'Slice' slice_param { slice_point: 3 slice_point: 3 }")
        .Bottom({2, 5})
        .Tops(3)
        .Says("slice_point 3 must be greater than 3 and less than the extent 5"),
    BadLayerCase("Zero", "type: 'Slice' slice_param { slice_point: 0 }")
        .Bottom({2, 5})
        .Tops(2)
        .Says("slice_point 0 must be greater than 0"),
    BadLayerCase("Behind", "type: 'Slice' slice_param { slice_point: 5 }")
        .Bottom({2, 5})
        .Tops(2)
        .Says("slice_point 5 must be .*less than the extent 5 of axis 1"),
    BadLayerCase("Huge", "type: 'Slice' slice_param { slice_point: 4294967295 }")
        .Bottom({2, 5})
        .Tops(2)
        .Says("slice_point 4294967295 must be .*less than the extent 5"),
    BadLayerCase("Axis", "type: 'Slice' slice_param { axis: -3 }")
        .Bottom({2, 5})
        .Tops(2)
        .Says("axis -3 is out of range for a bottom of shape 2 5"),
    BadLayerCase("BothNames", "type: 'Slice' slice_param { axis: 1 slice_dim: 1 }")
        .Bottom({2, 4})
        .Tops(2)
        .Says("give axis or slice_dim .*not both"),
};
INSTANTIATE_TEST_SUITE_P(Slice, BadLayerCases, ::testing::ValuesIn(kSliceBadCases), CaseName());
}  // namespace
}  // namespace caffe
