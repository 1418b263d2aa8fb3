#ifndef CAFFE_TEST_LAYER_HARNESS_HPP_
#define CAFFE_TEST_LAYER_HARNESS_HPP_

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "caffe/types.hpp"

namespace caffe {

/// What a bottom blob of a case is filled with.
enum class Fill {
  GAUSSIAN,  ///< N(0, 1)
  POSITIVE,  ///< U(0.5, 1.5)
  DISTINCT,  ///< a random order of different values, far enough apart for numeric gradients
  LABELS     ///< whole numbers in [0, labels)
};

struct Bottom {
  std::vector<int> shape;
  Fill fill = Fill::GAUSSIAN;
  bool gradient = true;  ///< the layer has a gradient for it
  int labels = 0;
};

/// One configuration of a layer. A layer enters the harness by listing its cases:
///
///     INSTANTIATE_TEST_SUITE_P(ReLU, LayerCases, ::testing::ValuesIn(std::vector<LayerCase>{
///         {"Plain", "type: 'ReLU'", {{{2, 3}, Fill::DISTINCT}}}}));
///
/// and is then checked, in every type and mix of types and on every instruction set, against itself
/// in double on the REFERENCE engine; its gradients numerically; that gradients of parameters
/// are added and those not asked for left alone; that working in place, reshaping to and fro and
/// the operation table's shapes give the same.
struct LayerCase {
  std::string name;
  std::string prototxt;  ///< a LayerParameter without name, bottoms and tops
  std::vector<Bottom> bottoms;
  int tops = 1;
  bool in_place = false;  ///< may be in place: checked against not in place
  bool gradients = true;  ///< has any
  double tolerance = 1;   ///< multiplies the bounds of all types
};
std::ostream& operator<<(std::ostream& stream, const LayerCase& layer_case);

class LayerCases : public ::testing::TestWithParam<LayerCase> {};

/// A configuration that has to be refused with a message that `wanted`, a regular expression,
/// finds.
struct BadLayerCase {
  std::string name;
  std::string prototxt;
  std::vector<Bottom> bottoms;
  std::string wanted;
  int tops = 1;
  bool forward = false;  ///< refused when it computes, not when it is set up
};
std::ostream& operator<<(std::ostream& stream, const BadLayerCase& layer_case);

class BadLayerCases : public ::testing::TestWithParam<BadLayerCase> {};

/// Names the cases in test listings.
struct CaseName {
  template <typename Info>
  std::string operator()(const Info& info) const {
    return info.param.name;
  }
};

/// Fresh in every run, or CAFFE_TEST_SEED; failures print it.
unsigned TestSeed();

}  // namespace caffe

#endif  // CAFFE_TEST_LAYER_HARNESS_HPP_
