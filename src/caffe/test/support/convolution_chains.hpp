#ifndef CAFFE_TEST_CONVOLUTION_CHAINS_HPP_
#define CAFFE_TEST_CONVOLUTION_CHAINS_HPP_

#include <vector>

#include "caffe/kernels/convolution.hpp"
#include "caffe/test/support/blocked_convolutions.hpp"

// Convolutions one behind another, which kernels compute some rows at a time.
namespace caffe::kernels {

/// The next layer of a chain.
struct NextLayer {
  int outputs;
  Extents rows, columns;  // the inputs' extents follow from the layer before
  bool is_depthwise = false;
};
inline NextLayer NextPointwise(int outputs) { return {outputs, {0, 1}, {0, 1}}; }
inline NextLayer NextDepthwise(int kernel, int stride, int pad) {
  const Extents axis = {0, kernel, stride, pad};
  return {0, axis, axis, true};
}
inline NextLayer NextDense(int outputs, int kernel, int stride, int pad, int dilation = 1) {
  const Extents axis = {0, kernel, stride, pad, dilation};
  return {outputs, axis, axis};
}

inline std::vector<ConvolutionShape> ChainOf(int channels, int rows, int columns,
                                             const std::vector<NextLayer>& layers) {
  std::vector<ConvolutionShape> shapes;
  for (NextLayer layer : layers) {
    layer.rows.input = rows;
    layer.columns.input = columns;
    const int outputs = layer.is_depthwise ? channels : layer.outputs;
    shapes.push_back(
        Shape(channels, outputs, layer.is_depthwise ? channels : 1, {layer.rows, layer.columns}));
    channels = outputs;
    rows = shapes.back().output[0];
    columns = shapes.back().output[1];
  }
  return shapes;
}

struct NamedChain {
  const char* name;
  std::vector<ConvolutionShape> shapes;
  int num;
};

/// Chains that reach every part of the geometry.
inline std::vector<NamedChain> AllChains() {
  return {
      {"an inverted residual",
       ChainOf(24, 14, 14, {NextPointwise(144), NextDepthwise(3, 1, 1), NextPointwise(32)}), 1},
      {"a stride",
       ChainOf(16, 15, 12, {NextPointwise(96), NextDepthwise(3, 2, 1), NextPointwise(24)}), 2},
      {"kernels of 5",
       ChainOf(16, 13, 13, {NextPointwise(64), NextDepthwise(5, 2, 2), NextPointwise(24)}), 1},
      {"a bottleneck",
       ChainOf(64, 9, 10, {NextPointwise(16), NextDense(16, 3, 1, 1), NextPointwise(64)}), 1},
      {"windows that reach far",
       ChainOf(8, 17, 11,
               {NextDense(16, 3, 2, 1), NextDense(24, 3, 1, 4, 4), NextDense(8, 5, 1, 2)}),
       3},
      {"rows that only padding lies under",
       ChainOf(8, 4, 5, {NextDense(16, 2, 1, 4), NextDepthwise(3, 2, 3), NextPointwise(8)}), 1},
      {"an untypical depthwise kernel",
       ChainOf(21, 9, 9, {NextDepthwise(4, 3, 2), NextPointwise(5)}), 2},
      {"a 1x1 convolution with padding above and below",
       ChainOf(16, 10, 9, {{24, {0, 1, 1, 1}, {0, 1}}, NextDepthwise(3, 1, 1)}), 1},
      {"a 1x1 convolution with padding behind another one",
       ChainOf(16, 10, 9, {NextPointwise(24), {40, {0, 1, 1, 2}, {0, 1}}, NextPointwise(8)}), 2},
      {"a 1x1 convolution with padding on both sides alone",
       ChainOf(16, 10, 9, {{24, {0, 1}, {0, 1, 1, 1}}, NextPointwise(8)}), 1},
      {"a 1x1 convolution with a stride",
       ChainOf(16, 9, 9, {NextDense(24, 1, 2, 0), NextDepthwise(3, 1, 1)}), 1},
      {"six of them",
       ChainOf(19, 13, 13,
               {NextDepthwise(3, 1, 1), NextPointwise(40), NextDepthwise(3, 2, 1),
                NextPointwise(56), NextDepthwise(3, 1, 1), NextPointwise(33)}),
       2},
      {"more than a cache holds",
       ChainOf(16, 61, 120, {NextPointwise(208), NextDepthwise(3, 1, 1), NextPointwise(16)}), 1},
      {"fewer rows than threads", ChainOf(16, 2, 19, {NextPointwise(32), NextDepthwise(3, 1, 1)}),
       1},
      {"one pixel",
       ChainOf(16, 1, 1, {NextPointwise(32), NextDepthwise(3, 1, 1), NextPointwise(16)}), 3},
      {"no image", ChainOf(16, 7, 7, {NextPointwise(32), NextDepthwise(3, 1, 1)}), 0},
  };
}

}  // namespace caffe::kernels

#endif  // CAFFE_TEST_CONVOLUTION_CHAINS_HPP_
