#include "learning_rate.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "caffe/common.hpp"

namespace caffe {
namespace {

bool IsOneOf(const std::string& value, std::initializer_list<const char*> valid) {
  return std::find(valid.begin(), valid.end(), value) != valid.end();
}

void Need(bool given, const SolverParameter& param, const char* field) {
  Require(given, Error::Field{"lr_policy"}, " '", param.lr_policy(), "' needs ", field);
}

void CheckRatePolicy(const SolverParameter& param) {
  const std::string& policy = param.lr_policy();
  const Error::Field field{"lr_policy"};
  const Error::Remedy valid{
      "valid are fixed, step, exp, inv, multistep, poly, sigmoid and plateau"};
  Require(!policy.empty(), field, " is missing", valid);
  Require(
      IsOneOf(policy, {"fixed", "step", "exp", "inv", "multistep", "poly", "sigmoid", "plateau"}),
      "unknown ", field, " '", policy, "'", valid);
  if (IsOneOf(policy, {"step", "sigmoid"})) {
    Need(param.stepsize() > 0, param, "a positive stepsize");
  }
  if (policy == "poly") Need(param.max_iter() > 0, param, "a positive max_iter");
  if (policy == "plateau") {
    const auto& sizes = param.plateau_winsize();
    const bool positive = std::all_of(sizes.begin(), sizes.end(), [](int n) { return n > 0; });
    Need(!sizes.empty() && positive, param, "positive numbers as plateau_winsize");
  }
}

/// Of what Caffe trains with without a word: fields that are missing, and 0 or nothing then, and
/// steps out of order.
void WarnOfOddFields(const SolverParameter& param) {
  const std::string& policy = param.lr_policy();
  const auto warn = [&](bool missing, const char* field) {
    LOG_IF(WARNING, missing && Caffe::root_solver())
        << "lr_policy '" << policy << "' is given no " << field << ", which is taken for "
        << (field == std::string("stepvalue") ? "none" : "0")
        << ": base_lr may stay what it is, or become 0";
  };
  if (IsOneOf(policy, {"step", "exp", "inv", "multistep", "sigmoid", "plateau"})) {
    warn(!param.has_gamma(), "gamma");
  }
  if (IsOneOf(policy, {"inv", "poly"})) warn(!param.has_power(), "power");
  if (policy == "multistep") warn(param.stepvalue_size() == 0, "stepvalue");
  for (int i = 1; policy == "multistep" && i < param.stepvalue_size(); ++i) {
    const int before = param.stepvalue(i - 1), value = param.stepvalue(i);
    LOG_IF(WARNING, value < before && Caffe::root_solver())
        << "stepvalue " << value << " stands behind " << before
        << ": steps are taken in the order in which they stand, so that both come at iteration "
        << before;
  }
}

void CheckOtherPolicy(const SolverParameter& param, const char* field, const std::string& policy,
                      std::initializer_list<const char*> valid, const char* list) {
  Require(IsOneOf(policy, valid), "unknown ", Error::Field{field}, " '", policy, "'",
          Error::Remedy{Join("valid are ", list)});
  Require(policy != "poly" || param.max_iter() > 0, Error::Field{field},
          " 'poly' needs a positive max_iter");
}

double MultiStep(const SolverParameter& param, int iter, int* step) {
  while (*step < param.stepvalue_size() && iter >= param.stepvalue(*step)) {
    ++*step;
    LOG_IF(INFO, Caffe::root_solver())
        << "MultiStep Status: Iteration " << iter << ", step = " << *step;
  }
  return param.base_lr() * std::pow(param.gamma(), *step);
}

double PolicyRate(const SolverParameter& param, int iter, int* step) {
  CheckRatePolicy(param);
  const std::string& policy = param.lr_policy();
  const double base = param.base_lr();
  const double gamma = param.gamma();
  if (policy == "step") {
    *step = iter / param.stepsize();
    return base * std::pow(gamma, *step);
  }
  if (policy == "exp") return base * std::pow(gamma, iter);
  if (policy == "inv") return base * std::pow(1 + gamma * iter, -double(param.power()));
  if (policy == "multistep") return MultiStep(param, iter, step);
  if (policy == "plateau") return base * std::pow(gamma, *step);
  if (policy == "poly") {
    const double left = std::max(0., 1 - double(iter) / param.max_iter());
    return (base - param.min_lr()) * std::pow(left, param.power()) + param.min_lr();
  }
  if (policy == "sigmoid") {
    return base / (1 + std::exp(-gamma * (double(iter) - param.stepsize())));
  }
  return base;  // fixed
}

// How far the iterations have come: 0 at the first, 1 at max_iter.
double Share(const SolverParameter& param, int iter, double power) {
  return std::pow(std::min(1., double(iter) / param.max_iter()), power);
}

void CheckMomentumPolicy(const SolverParameter& param) {
  CheckOtherPolicy(param, "momentum_policy", param.momentum_policy(), {"fixed", "poly", "opt"},
                   "fixed, poly and opt");
}

void CheckDecayPolicy(const SolverParameter& param) {
  CheckOtherPolicy(param, "weight_decay_policy", param.weight_decay_policy(), {"fixed", "poly"},
                   "fixed and poly");
}

}  // namespace

void CheckPolicies(const SolverParameter& param) {
  CheckRatePolicy(param);
  WarnOfOddFields(param);
  CheckMomentumPolicy(param);
  CheckDecayPolicy(param);
  Require(param.rampup_interval() >= 0, Error::Field{"rampup_interval"},
          " must not be negative, got ", param.rampup_interval());
}

double LearningRate(const SolverParameter& param, int iter, int* step) {
  if (iter < param.rampup_interval()) {
    const double share = double(iter) / param.rampup_interval();
    return param.rampup_lr() + (param.base_lr() - param.rampup_lr()) * share * share;
  }
  return std::max(PolicyRate(param, iter, step), double(param.min_lr()));
}

void FollowPlateau(const SolverParameter& param, int iter, double loss, float* minimum_loss,
                   int* iter_last_event, int* step) {
  if (param.lr_policy() != "plateau") return;
  const auto rounded = static_cast<float>(loss);  // else a double could stay below it for ever
  if (rounded < *minimum_loss) {
    *minimum_loss = rounded;
    *iter_last_event = iter;
  }
  if (*step < param.plateau_winsize_size() &&
      iter >= *iter_last_event + param.plateau_winsize(*step)) {
    ++*step;
    *iter_last_event = iter;
    LOG_IF(INFO, Caffe::root_solver())
        << "Plateau Status: Iteration " << iter << ", step = " << *step;
  }
}

double Momentum(const SolverParameter& param, int iter, double rate) {
  CheckMomentumPolicy(param);
  const std::string& policy = param.momentum_policy();
  const double momentum = param.momentum();
  if (policy == "fixed") return momentum;
  if (policy == "poly") {
    return momentum +
           (param.max_momentum() - momentum) * Share(param, iter, param.momentum_power());
  }
  const double root = 1 - 0.5 * std::sqrt(rate);
  const double optimum = root * root;
  return param.has_max_momentum() ? std::min(optimum, double(param.max_momentum())) : optimum;
}

double WeightDecay(const SolverParameter& param, int iter) {
  CheckDecayPolicy(param);
  const double decay = param.weight_decay();
  if (param.weight_decay_policy() == "fixed") return decay;
  return decay +
         (param.max_weight_decay() - decay) * Share(param, iter, param.weight_decay_power());
}

}  // namespace caffe
