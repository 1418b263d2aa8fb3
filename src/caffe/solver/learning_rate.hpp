#ifndef CAFFE_LEARNING_RATE_HPP_
#define CAFFE_LEARNING_RATE_HPP_

#include "caffe/proto/caffe.pb.h"

namespace caffe {

// Policies of solvers as functions of the iteration. Each throws Error naming the field that is
// missing or wrong.

/// What the others check, all at once, so that a mistake is said before training begins.
void CheckPolicies(const SolverParameter& param);

/// The learning rate. `step` is the number of steps made so far, which policies step and multistep
/// bring up to date, and plateau takes as it is. Rates are not below min_lr; the first
/// rampup_interval iterations warm up: rampup_lr + (base_lr - rampup_lr) (iter /
/// rampup_interval)^2.
double LearningRate(const SolverParameter& param, int iter, int* step);

/// Policy plateau (SSD's fork): makes a step where `loss`, the displayed one, has had no new
/// minimum for plateau_winsize[step] iterations since the last event, a minimum or a step. There
/// are as many steps as numbers. Nothing for other policies.
void FollowPlateau(const SolverParameter& param, int iter, double loss, float* minimum_loss,
                   int* iter_last_event, int* step);

/// momentum_policy fixed: momentum; poly: from momentum to max_momentum as (iter / max_iter) ^
/// momentum_power; opt: (1 - sqrt(rate) / 2)^2, at most max_momentum if that is set.
double Momentum(const SolverParameter& param, int iter, double rate);

/// weight_decay_policy fixed: weight_decay; poly: from weight_decay to max_weight_decay as (iter /
/// max_iter) ^ weight_decay_power.
double WeightDecay(const SolverParameter& param, int iter);

}  // namespace caffe

#endif  // CAFFE_LEARNING_RATE_HPP_
