#!/usr/bin/env sh
# Trains LeNet on the databases of create_mnist.sh. Further arguments go to caffe, for instance
#
#     examples/mnist/train_lenet.sh -snapshot examples/mnist/lenet_iter_5000.solverstate
set -eu
cd "$(dirname "$0")/../.."
exec "${BUILD:-build}/tools/caffe" train -solver models/lenet/solver.prototxt "$@"
