#!/usr/bin/env sh
# Trains LeNet on the databases of create_mnist.sh. Further arguments go to caffe.
set -eu
cd "$(dirname "$0")/../.."
exec "${BUILD:-build}/tools/caffe" train -solver examples/mnist/lenet_solver_adam.prototxt "$@"
