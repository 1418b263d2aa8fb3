#ifndef CAFFE_TEST_LAYER_HARNESS_HPP_
#define CAFFE_TEST_LAYER_HARNESS_HPP_

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "caffe/types.hpp"
#include "seeds.hpp"

namespace caffe {

/// What a bottom blob of a case is filled with.
enum class Fill {
  GAUSSIAN,  ///< N(0, 1)
  POSITIVE,  ///< U(0.5, 1.5)
  DISTINCT,  ///< a random order of different values, far enough apart for numeric gradients
  LABELS     ///< whole numbers in [0, labels)
};

/// Extents that depend on the seed, 1 and primes among them; the same name is the same
/// number throughout a case.
enum OddExtent : int { kOddN = -1, kOddC = -2, kOddH = -3, kOddW = -4 };

struct Bottom {
  std::vector<int> shape;  ///< extents, or OddExtents
  Fill fill = Fill::GAUSSIAN;
  bool gradient = true;             ///< the layer has a gradient for it
  int labels = 0;                   ///< how many there are, or an OddExtent
  std::vector<double> values = {};  ///< instead of `fill`
};

/// One configuration of a layer. A layer enters the harness by listing its cases:
///
///     INSTANTIATE_TEST_SUITE_P(ReLU, LayerCases, ::testing::ValuesIn(std::vector<LayerCase>{
///         {"Plain", "type: 'ReLU'", {{{kOddN, 3}, Fill::DISTINCT}}}}), CaseName());
///
/// and is then checked, in every type and mix of types and on every instruction set, against itself
/// in double on the REFERENCE engine; its gradients numerically; that gradients of parameters
/// are added and those not asked for left alone; that working in place, on a device, reshaping to
/// and fro, setting up twice and the operation table's shapes give the same. What fails names the
/// case, its shapes and the seed that repeats it.
struct LayerCase {
  std::string name;
  std::string prototxt;  ///< a LayerParameter without name, bottoms and tops
  std::vector<Bottom> bottoms;
  int tops = 1;
  bool in_place = false;  ///< may be in place: checked against not in place
  bool gradients = true;  ///< has any
  double tolerance = 1;   ///< multiplies the bounds of all types
  /// The longest sum behind one result, by which rounding errors grow; -1: as many as the largest
  /// bottom has elements.
  int terms = -1;
  /// Shapes of the bottoms to go through and come back from (OddExtents are drawn again); empty:
  /// twice the batch.
  std::vector<std::vector<int>> detour = {};
};
std::ostream& operator<<(std::ostream& stream, const LayerCase& layer_case);

/// The case under test with its shapes drawn, and the seed of all that is random in it.
class LayerCases : public ::testing::TestWithParam<LayerCase> {
 protected:
  LayerCases();

  const unsigned seed_;
  const LayerCase case_;

 private:
  ::testing::ScopedTrace trace_;
};

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

}  // namespace caffe

#endif  // CAFFE_TEST_LAYER_HARNESS_HPP_
