#ifndef CAFFE_FP16_FACTOR_RULES_HPP_
#define CAFFE_FP16_FACTOR_RULES_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// How a layer takes and gives values that are 2^-e times what they were. Each bottom and top is
///
///   RIGID    e must be 0: the layer computes something else of scaled values
///            (Softmax, Sigmoid, LRN, ...), or they are indices or coordinates;
///   CARRIED  the layer is positively homogeneous: all its CARRIED bottoms and tops have one e
///            (ReLU, Pooling, Concat, Eltwise SUM; Bias, whose parameter is scaled by 2^-e;
///            Clip, whose bounds are);
///   FREE     the layer's parameters absorb any e: all its FREE bottoms have one e and all its FREE
///            tops another (Convolution, InnerProduct, Scale, BatchNorm, ...);
///   LOOSE    a bottom of Eltwise SUM with an e of its own, which its coefficient makes up for. No
///            layer begins with such bottoms: the coefficient costs time, so branches of a sum
///            carry one factor unless a small one would lose its digits by that;
///   UNREAD   only the shape is read, or the order of the values: any e.
enum class FactorSlot { RIGID, CARRIED, FREE, LOOSE, UNREAD };

struct FactorRule {
  std::vector<FactorSlot> bottoms, tops;

  bool Has(FactorSlot slot) const;
};

/// The rule of a layer that is set up with this many bottoms and tops. Homogeneous types are those
/// of the operation table; which others absorb factors is listed in factor_rules.cpp. In a product
/// of bottoms one of them carries the factor: number `carrier`.
FactorRule FactorRuleOf(const Layer<float>& layer, int bottoms, int tops, int carrier = 0);

/// True if CARRIED bottoms of the layer may become LOOSE.
bool MayBeLoose(const LayerParameter& layer);

/// Multiplies the coefficients of a layer with LOOSE bottoms, by 2^exponents[i]; none: nothing to
/// do.
void AbsorbInCoefficients(const std::vector<int>& exponents, LayerParameter* layer);

/// Changes the fields of `param` (a copy of the layer's) so that the layer takes FREE bottoms
/// scaled by 2^-bottom_exponent and gives FREE tops scaled by 2^-top_exponent; for a layer that
/// carries factors both are its CARRIED exponent. Returns, per blob of parameters, the e by which
/// it has to be multiplied: 2^e.
///
/// Convolution, Deconvolution, InnerProduct: weights 2^(i-o), bias 2^-o, with i and o the two
/// exponents. BatchNorm: mean 2^-i, variance and eps 2^(2o-2i), or with scale and bias inside the
/// layer variance and eps 2^-2i, scale and bias 2^-o. Every factor is a power of two, so that in
/// FLOAT nothing is rounded.
std::vector<int> AbsorbFactors(const Layer<float>& layer, int bottom_exponent, int top_exponent,
                               LayerParameter* param);

}  // namespace caffe

#endif  // CAFFE_FP16_FACTOR_RULES_HPP_
