#ifndef CAFFE_TEST_LAYER_HARNESS_HPP_
#define CAFFE_TEST_LAYER_HARNESS_HPP_

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <utility>
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

  explicit Bottom(std::vector<int> its_shape, Fill its_fill = Fill::GAUSSIAN)
      : shape(std::move(its_shape)), fill(its_fill) {}
  Bottom& Labels(int count) {
    fill = Fill::LABELS;
    labels = count;
    return *this;
  }
  Bottom& Values(std::vector<double> given) {
    values = std::move(given);
    return *this;
  }
  Bottom& WithoutGradient() {
    gradient = false;
    return *this;
  }
};

/// What all cases say: their name, their layer and, one after the other, its bottoms.
template <typename Case>
struct CaseOfALayer {
  std::string name;
  std::string prototxt;  ///< a LayerParameter without name, bottoms and tops
  std::vector<caffe::Bottom> bottoms;
  int tops = 1;

  explicit CaseOfALayer(std::string its_name = "", std::string its_prototxt = "")
      : name(std::move(its_name)), prototxt(std::move(its_prototxt)) {}
  Case& Bottom(caffe::Bottom bottom) {
    bottoms.push_back(std::move(bottom));
    return static_cast<Case&>(*this);
  }
  Case& Bottom(std::vector<int> shape, Fill fill = Fill::GAUSSIAN) {
    return Bottom(caffe::Bottom(std::move(shape), fill));
  }
  Case& Bottoms(const std::vector<caffe::Bottom>& more) {
    bottoms.insert(bottoms.end(), more.begin(), more.end());
    return static_cast<Case&>(*this);
  }
  // The layer has no gradient for these.
  Case& Constant(std::vector<int> shape, Fill fill = Fill::GAUSSIAN) {
    return Bottom(caffe::Bottom(std::move(shape), fill).WithoutGradient());
  }
  Case& Labels(std::vector<int> shape, int count, std::vector<double> values = {}) {
    return Bottom(
        caffe::Bottom(std::move(shape)).Labels(count).Values(std::move(values)).WithoutGradient());
  }
  Case& Values(std::vector<int> shape, std::vector<double> values) {
    return Bottom(caffe::Bottom(std::move(shape)).Values(std::move(values)).WithoutGradient());
  }
  Case& Tops(int count) {
    tops = count;
    return static_cast<Case&>(*this);
  }
};

/// One configuration of a layer. A layer enters the harness by listing its cases:
///
///     INSTANTIATE_TEST_SUITE_P(ReLU, LayerCases, ::testing::ValuesIn(std::vector<LayerCase>{
///         LayerCase("Plain", "type: 'ReLU'").Bottom({kOddN, 3}, Fill::DISTINCT).InPlace()}),
///         CaseName());
///
/// and is then checked, in every type and mix of types and on every instruction set, against itself
/// in double on the REFERENCE engine; its gradients numerically; that gradients of parameters
/// are added and those not asked for left alone; that working in place, on a device, reshaping to
/// and fro, setting up twice and the operation table's shapes give the same. What fails names the
/// case, its shapes and the seed that repeats it.
struct LayerCase : CaseOfALayer<LayerCase> {
  using CaseOfALayer::CaseOfALayer;

  bool in_place = false;
  bool gradients = true;
  double tolerance = 1;
  int terms = -1;
  std::vector<std::vector<int>> detour = {};

  /// It may work in place: checked against not in place.
  LayerCase& InPlace(bool may = true) {
    in_place = may;
    return *this;
  }
  LayerCase& WithoutGradients() {
    gradients = false;
    return *this;
  }
  /// Multiplies the bounds of all types.
  LayerCase& Tolerance(double factor) {
    tolerance = factor;
    return *this;
  }
  /// The longest sum behind one result, by which rounding errors grow; -1: as many as the largest
  /// bottom has elements.
  LayerCase& Terms(int count) {
    terms = count;
    return *this;
  }
  /// Shapes of the bottoms to go through and come back from (OddExtents are drawn again); otherwise
  /// twice the batch.
  LayerCase& Detour(std::vector<std::vector<int>> shapes) {
    detour = std::move(shapes);
    return *this;
  }
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
/// finds: BadLayerCase("Name", "type: 'Layer'").Bottom({2, 3}).Says("what is wrong").
struct BadLayerCase : CaseOfALayer<BadLayerCase> {
  using CaseOfALayer::CaseOfALayer;

  std::string wanted;
  bool forward = false;

  BadLayerCase& Says(std::string message) {
    wanted = std::move(message);
    return *this;
  }
  /// Refused when it computes, not when it is set up.
  BadLayerCase& InForward(bool is = true) {
    forward = is;
    return *this;
  }
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
