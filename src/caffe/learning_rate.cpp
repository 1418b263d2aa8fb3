#include "learning_rate.hpp"

#include <algorithm>
#include <cmath>

#include "caffe/common.hpp"

namespace caffe {
namespace {

void Need(bool given, const SolverParameter& param, const char* field) {
  Require(given, "lr_policy '", param.lr_policy(), "' needs ", field);
}

double MultiStep(const SolverParameter& param, int iter, int* step) {
  Need(param.stepvalue_size() > 0, param, "stepvalue");
  while (*step < param.stepvalue_size() && iter >= param.stepvalue(*step)) {
    ++*step;
    LOG(INFO) << "MultiStep Status: Iteration " << iter << ", step = " << *step;
  }
  return param.base_lr() * std::pow(param.gamma(), *step);
}

double PolicyRate(const SolverParameter& param, int iter, int* step) {
  const std::string& policy = param.lr_policy();
  const double base = param.base_lr();
  const bool uses_gamma = policy == "step" || policy == "exp" || policy == "inv" ||
                          policy == "multistep" || policy == "sigmoid";
  if (uses_gamma) Need(param.has_gamma(), param, "gamma");
  if (policy == "fixed") return base;
  if (policy == "step") {
    Need(param.stepsize() > 0, param, "a positive stepsize");
    *step = iter / param.stepsize();
    return base * std::pow(param.gamma(), *step);
  }
  if (policy == "exp") return base * std::pow(param.gamma(), iter);
  if (policy == "inv") {
    Need(param.has_power(), param, "power");
    return base * std::pow(1 + double(param.gamma()) * iter, -double(param.power()));
  }
  if (policy == "multistep") return MultiStep(param, iter, step);
  if (policy == "poly") {
    Need(param.max_iter() > 0, param, "a positive max_iter");
    const double left = std::max(0., 1 - double(iter) / param.max_iter());
    return (base - param.min_lr()) * std::pow(left, param.power()) + param.min_lr();
  }
  if (policy == "sigmoid") {
    Need(param.stepsize() > 0, param, "a positive stepsize");
    return base / (1 + std::exp(-double(param.gamma()) * (double(iter) - param.stepsize())));
  }
  Fail("unknown lr_policy '", policy,
       "': valid are fixed, step, exp, inv, multistep, poly and sigmoid");
}

double Share(const SolverParameter& param, int iter, double power, const char* field) {
  Require(param.max_iter() > 0, field, " 'poly' needs a positive max_iter");
  return std::pow(std::min(1., double(iter) / param.max_iter()), power);
}

}  // namespace

double LearningRate(const SolverParameter& param, int iter, int* step) {
  if (iter < param.rampup_interval()) {
    const double share = double(iter) / param.rampup_interval();
    return param.rampup_lr() + (param.base_lr() - param.rampup_lr()) * share * share;
  }
  return std::max(PolicyRate(param, iter, step), double(param.min_lr()));
}

double Momentum(const SolverParameter& param, int iter, double rate) {
  const std::string& policy = param.momentum_policy();
  const double momentum = param.momentum();
  if (policy == "fixed") return momentum;
  if (policy == "poly") {
    return momentum + (param.max_momentum() - momentum) *
                          Share(param, iter, param.momentum_power(), "momentum_policy");
  }
  if (policy == "opt") {
    const double root = 1 - 0.5 * std::sqrt(rate);
    const double optimum = root * root;
    return param.has_max_momentum() ? std::min(optimum, double(param.max_momentum())) : optimum;
  }
  Fail("unknown momentum_policy '", policy, "': valid are fixed, poly and opt");
}

double WeightDecay(const SolverParameter& param, int iter) {
  const std::string& policy = param.weight_decay_policy();
  const double decay = param.weight_decay();
  if (policy == "fixed") return decay;
  if (policy == "poly") {
    return decay + (param.max_weight_decay() - decay) *
                       Share(param, iter, param.weight_decay_power(), "weight_decay_policy");
  }
  Fail("unknown weight_decay_policy '", policy, "': valid are fixed and poly");
}

}  // namespace caffe
