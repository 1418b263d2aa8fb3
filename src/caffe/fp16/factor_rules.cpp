#include "caffe/fp16/factor_rules.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "caffe/operation.hpp"

namespace caffe {
namespace {

constexpr FactorSlot RIGID = FactorSlot::RIGID;
constexpr FactorSlot CARRIED = FactorSlot::CARRIED;
constexpr FactorSlot FREE = FactorSlot::FREE;
constexpr FactorSlot UNREAD = FactorSlot::UNREAD;

/// What is to be done for the factors 2^-in and 2^-out.
struct Change {
  int in, out;
  size_t blobs;  ///< of parameters
  LayerParameter* param;
};

float Times(float value, int exponent) { return std::ldexp(value, exponent); }

/// What the table below says about a type.
struct Kind {
  /// Changes the rule, in which everything is RIGID. `carrier`: see FactorRuleOf.
  std::function<void(const Layer<float>&, int carrier, FactorRule*)> slots;
  /// Changes fields; returns the exponents of the parameter blobs.
  std::function<std::vector<int>(const Change&)> absorb;
};

size_t BlobCount(const Layer<float>& layer) {
  return const_cast<Layer<float>&>(layer).blobs().size();
}

void AllCarried(const Layer<float>&, int, FactorRule* rule) {
  std::fill(rule->bottoms.begin(), rule->bottoms.end(), CARRIED);
  std::fill(rule->tops.begin(), rule->tops.end(), CARRIED);
}

void AllFree(const Layer<float>&, int, FactorRule* rule) {
  std::fill(rule->bottoms.begin(), rule->bottoms.end(), FREE);
  std::fill(rule->tops.begin(), rule->tops.end(), FREE);
}

std::vector<int> NoBlobs(const Change&) { return {}; }

/// y = w x + b, as blobs {w} or {w, b}.
Kind Affine() {
  return {AllFree, [](const Change& change) {
            return std::vector<int>{change.in - change.out, -change.out};
          }};
}

/// y = x * s + b with s a parameter, or another bottom, which then stays as it is.
Kind ScaleKind() {
  return {[](const Layer<float>& layer, int carrier, FactorRule* rule) {
            if (rule->bottoms.size() == 1) return AllFree(layer, carrier, rule);
            rule->bottoms[0] = CARRIED;
            rule->tops[0] = CARRIED;
          },
          [](const Change& change) {
            const bool own_scale = change.param->bottom_size() < 2;
            if (!own_scale) return std::vector<int>{-change.out};
            return std::vector<int>{change.in - change.out, -change.out};
          }};
}

Kind BiasKind() {
  return {AllCarried, [](const Change& change) { return std::vector<int>{-change.out}; }};
}

Kind BatchNormKind() {
  return {[](const Layer<float>& layer, int, FactorRule* rule) {
            const BatchNormParameter& param = layer.layer_param().batch_norm_param();
            const bool stored = !param.has_use_global_stats() || param.use_global_stats();
            rule->bottoms[0] = FREE;
            // The batch's own statistics take any factor out again.
            if (stored || BlobCount(layer) == 5) rule->tops[0] = FREE;
          },
          [](const Change& change) {
            const bool scale_bias = change.blobs == 5;
            const int variance = 2 * (scale_bias ? 0 : change.out) - 2 * change.in;
            BatchNormParameter* param = change.param->mutable_batch_norm_param();
            if (variance != 0) param->set_eps(Times(param->eps(), variance));
            std::vector<int> exponents = {-change.in, variance, 0};
            if (scale_bias) exponents.insert(exponents.end(), {-change.out, -change.out});
            return exponents;
          }};
}

// Four blobs: scale, bias, mean, variance. Two: scale and bias, alone or after the batch's
// statistics with an eps that no field changes.
Kind BnKind() {
  return {[](const Layer<float>& layer, int, FactorRule* rule) {
            const bool statistics =
                BlobCount(layer) == 2 &&
                layer.layer_param().bn_param().bn_mode() == BNParameter_BnMode_LEARN;
            if (!statistics) rule->bottoms[0] = FREE;
            rule->tops[0] = FREE;
          },
          [](const Change& change) {
            if (change.blobs == 2) return std::vector<int>{change.in - change.out, -change.out};
            BNParameter* param = change.param->mutable_bn_param();
            if (change.in != 0) param->set_eps(Times(param->eps(), -2 * change.in));
            return std::vector<int>{-change.out, -change.out, -change.in, -2 * change.in};
          }};
}

// (shift + scale x)^power: linear for the power 1.
Kind PowerKind() {
  return {[](const Layer<float>& layer, int carrier, FactorRule* rule) {
            if (layer.layer_param().power_param().power() == 1) AllFree(layer, carrier, rule);
          },
          [](const Change& change) {
            PowerParameter* param = change.param->mutable_power_param();
            param->set_scale(Times(param->scale(), change.in - change.out));
            param->set_shift(Times(param->shift(), -change.out));
            return std::vector<int>();
          }};
}

Kind ClipKind() {
  return {AllCarried, [](const Change& change) {
            ClipParameter* param = change.param->mutable_clip_param();
            param->set_min(Times(param->min(), -change.out));
            param->set_max(Times(param->max(), -change.out));
            return std::vector<int>();
          }};
}

Kind Relu6Kind() {
  return {AllCarried, [](const Change& change) {
            ReLU6Parameter* param = change.param->mutable_relu6_param();
            param->set_threshold(Times(param->threshold(), -change.out));
            return std::vector<int>();
          }};
}

Kind ReductionKind() {
  return {AllFree, [](const Change& change) {
            ReductionParameter* param = change.param->mutable_reduction_param();
            const bool squares = param->operation() == ReductionParameter_ReductionOp_SUMSQ;
            param->set_coeff(Times(param->coeff(), (squares ? 2 : 1) * change.in - change.out));
            return std::vector<int>();
          }};
}

Kind EltwiseKind() {
  return {
      [](const Layer<float>& layer, int carrier, FactorRule* rule) {
        if (layer.layer_param().eltwise_param().operation() != EltwiseParameter_EltwiseOp_PROD) {
          return AllCarried(layer, carrier, rule);
        }
        rule->bottoms[carrier] = CARRIED;
        rule->tops[0] = CARRIED;
      },
      NoBlobs};
}

/// The given bottoms and all tops carry factors; bottoms behind them are read for their shapes.
Kind Carried(std::vector<int> bottoms, FactorSlot others) {
  return {[bottoms, others](const Layer<float>&, int, FactorRule* rule) {
            for (size_t i = 0; i < rule->bottoms.size(); ++i) {
              const bool listed = std::count(bottoms.begin(), bottoms.end(), int(i)) > 0;
              rule->bottoms[i] = listed ? CARRIED : others;
            }
            std::fill(rule->tops.begin(), rule->tops.end(), CARRIED);
          },
          NoBlobs};
}

/// Nothing of the bottoms but the shapes (or the order of the values) is used.
Kind Unread() {
  return {[](const Layer<float>&, int, FactorRule* rule) {
            std::fill(rule->bottoms.begin(), rule->bottoms.end(), UNREAD);
          },
          NoBlobs};
}

/// All parameters are multiplied with the tops; bottoms (indices) are left alone.
Kind TopsOnly() {
  return {[](const Layer<float>&, int, FactorRule* rule) {
            std::fill(rule->tops.begin(), rule->tops.end(), FREE);
          },
          [](const Change& change) {
            return std::vector<int>{-change.out, -change.out};
          }};
}

Kind MvnKind() {
  return {[](const Layer<float>& layer, int carrier, FactorRule* rule) {
            if (!layer.layer_param().mvn_param().normalize_variance()) {
              AllCarried(layer, carrier, rule);
            }
          },
          NoBlobs};
}

Kind ArgMaxKind() {
  return {[](const Layer<float>& layer, int, FactorRule* rule) {
            if (!layer.layer_param().argmax_param().out_max_val()) rule->bottoms[0] = UNREAD;
          },
          NoBlobs};
}

/// Types that the operation table's flag does not describe.
const Kind* FindKind(const std::string& type) {
  static const std::map<std::string, Kind> kinds = {
      {"Convolution", Affine()},
      {"DepthwiseConvolution", Affine()},
      {"ConvolutionDepthwise", Affine()},
      {"Deconvolution", Affine()},
      {"InnerProduct", Affine()},
      {"Scale", ScaleKind()},
      {"Bias", BiasKind()},
      {"BatchNorm", BatchNormKind()},
      {"BN", BnKind()},
      {"Power", PowerKind()},
      {"Clip", ClipKind()},
      {"ReLU6", Relu6Kind()},
      {"Reduction", ReductionKind()},
      {"Eltwise", EltwiseKind()},
      {"Axpy", Carried({1, 2}, RIGID)},  // a x + b, a a factor for each channel
      {"Crop", Carried({0}, UNREAD)},
      {"Interp", Carried({0}, UNREAD)},
      {"Resample", Carried({0}, UNREAD)},
      {"Embed", TopsOnly()},
      {"Parameter", TopsOnly()},
      {"MVN", MvnKind()},
      {"ArgMax", ArgMaxKind()},
      {"Silence", Unread()},
      {"PriorBox", Unread()},
      {"PriorBoxClustered", Unread()}};
  const auto found = kinds.find(type);
  const bool unknown = found == kinds.end() || LayerRegistry<float>::IsReplaced(type);
  return unknown ? nullptr : &found->second;
}

}  // namespace

bool FactorRule::Has(FactorSlot slot) const {
  return std::count(bottoms.begin(), bottoms.end(), slot) > 0 ||
         std::count(tops.begin(), tops.end(), slot) > 0;
}

FactorRule FactorRuleOf(const Layer<float>& layer, int bottoms, int tops, int carrier) {
  FactorRule rule;
  rule.bottoms.assign(bottoms, RIGID);
  rule.tops.assign(tops, RIGID);
  const std::string& type = layer.layer_param().type();
  if (const Kind* kind = FindKind(type)) {
    kind->slots(layer, carrier, &rule);
    return rule;
  }
  const Operation* operation = OperationTable::Find(type);
  if (!operation || !operation->homogeneous) return rule;
  for (int i = 0; i < bottoms; ++i) {
    if (!operation->IsFloatBottom(i)) rule.bottoms[i] = CARRIED;
  }
  for (int i = 0; i < tops; ++i) {
    if (!operation->IsFloatTop(i)) rule.tops[i] = CARRIED;
  }
  return rule;
}

bool MayBeLoose(const LayerParameter& layer) {
  return layer.type() == "Eltwise" &&
         layer.eltwise_param().operation() == EltwiseParameter_EltwiseOp_SUM;
}

void AbsorbInCoefficients(const std::vector<int>& exponents, LayerParameter* layer) {
  if (exponents.empty()) return;
  EltwiseParameter* param = layer->mutable_eltwise_param();
  for (size_t i = 0; i < exponents.size(); ++i) {
    if (param->coeff_size() <= static_cast<int>(i)) param->add_coeff(1);
    param->set_coeff(i, Times(param->coeff(i), exponents[i]));
  }
}

std::vector<int> AbsorbFactors(const Layer<float>& layer, int bottom_exponent, int top_exponent,
                               LayerParameter* param) {
  std::vector<int> exponents;
  const Kind* kind = FindKind(layer.layer_param().type());
  if (kind && (bottom_exponent != 0 || top_exponent != 0)) {
    exponents = kind->absorb({bottom_exponent, top_exponent, BlobCount(layer), param});
  }
  exponents.resize(BlobCount(layer), 0);
  return exponents;
}

}  // namespace caffe
