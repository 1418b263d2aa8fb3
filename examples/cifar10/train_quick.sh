#!/usr/bin/env sh
# Trains CIFAR-10 quick on the databases of create_cifar10.sh: 4000 iterations at rate 0.001, then
# 1000 at a tenth of it.
set -eu
cd "$(dirname "$0")/../.."
caffe=${BUILD:-build}/tools/caffe
model=models/cifar10_quick
"$caffe" train -solver "$model/solver.prototxt" "$@"
exec "$caffe" train -solver "$model/solver_lr1.prototxt" \
  -snapshot examples/cifar10/cifar10_quick_iter_4000.solverstate "$@"
