#!/usr/bin/env sh
# Trains the siamese net on the databases of create_mnist_siamese.sh. Further arguments go to caffe.
set -eu
cd "$(dirname "$0")/../.."
exec "${BUILD:-build}/tools/caffe" train \
  -solver examples/siamese/mnist_siamese_solver.prototxt "$@"
