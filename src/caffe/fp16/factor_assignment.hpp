#ifndef CAFFE_FP16_FACTOR_ASSIGNMENT_HPP_
#define CAFFE_FP16_FACTOR_ASSIGNMENT_HPP_

#include <map>
#include <tuple>
#include <vector>

#include "caffe/fp16/factor_rules.hpp"
#include "caffe/fp16/range_inspector.hpp"
#include "caffe/fp16/range_rewriting.hpp"

namespace caffe {

/// Chooses the power of two by which each value of a net is divided.
///
/// Values that layers carry a factor between (FactorSlot::CARRIED) are one class with one exponent:
/// the least with which all of them keep the headroom. Between classes lie layers whose parameters
/// absorb any two exponents, or rigid ones, which read and write values as they are. Where weights
/// are, or by what they absorb become, too small to keep their digits in FP16 (too large for it),
/// what is before (behind) the layer is divided by more, if that costs nothing there; else the
/// layer stays FLOAT. A branch of a sum that would become subnormal by the other branch's factor
/// gets one of its own (FactorSlot::LOOSE).
class FactorAssignment {
 public:
  FactorAssignment(const RangeInspector& inspector, const RangeRewritingOptions& options);

  const FactorRule& rule(int layer) const { return rules_[layer]; }
  /// The exponent of the value's class: e of 2^-e, for all layers that carry or absorb factors.
  int exponent(int value) const { return exponents_[classes_[value]]; }
  /// As the producer writes it: 0 if that is rigid.
  int raw_exponent(int value) const;
  /// As this reader takes it; an UNREAD one takes what there is.
  int read_exponent(int layer, int bottom) const;
  /// The exponent of the layer's FREE (else CARRIED) bottoms and tops; 0 if it has none.
  int bottom_exponent(int layer) const;
  int top_exponent(int layer) const;
  /// True if the layer has to compute with FLOAT values.
  bool stays_float(int layer) const { return stays_float_[layer]; }
  /// True if the layer's sums may leave the range on the way.
  bool sums_in_float(int layer) const { return sums_in_float_[layer]; }
  /// For a layer with LOOSE bottoms: what each bottom's coefficient has to make up for; else empty.
  std::vector<int> coefficient_exponents(int layer) const;
  int class_of(int value) const { return classes_[value]; }

 private:
  void MakeClasses();
  void TieSharedParameters();
  void Join(const std::vector<int>& values, const std::vector<FactorSlot>& slots, FactorSlot which,
            int* first);
  void JoinValues(int a, int b);
  void ChooseExponents();
  bool LoosenJoins();
  enum class Weights { FIT, TOO_SMALL, TOO_LARGE };
  void FitWeights();
  bool RaiseAdjacent(int layer, Weights weights);
  bool Raise(int value);
  Weights WeightsOf(int layer);
  double WeightError(int layer, size_t blob, int exponent);
  void FindFloatLayers();

  Layer<float>& LayerAt(int layer) const;
  bool ReadBy(int value, FactorSlot slot) const;
  bool IsAnchored(int value) const;
  bool BeyondRange(int value) const;

  const RangeInspector& inspector_;
  const ValueGraph& graph_;
  const RangeRewritingOptions& options_;
  std::vector<FactorRule> rules_;
  std::vector<int> classes_;    // per value: the least value of its class
  std::vector<int> exponents_;  // per class
  std::vector<bool> stays_float_, sums_in_float_;
  std::map<std::tuple<int, size_t, int>, double> weight_errors_;
};

}  // namespace caffe

#endif  // CAFFE_FP16_FACTOR_ASSIGNMENT_HPP_
