#!/usr/bin/env sh
# Writes CIFAR-10's binary files to the databases that models/cifar10_quick reads, and their mean
# image to examples/cifar10/mean.binaryproto.
#
#     examples/cifar10/create_cifar10.sh [DIR [lmdb|leveldb]]
#
# DIR holds data_batch_1.bin to data_batch_5.bin and test_batch.bin (default: data/cifar10).
set -eu
cd "$(dirname "$0")/../.."
bin=${1:-data/cifar10}
backend=${2:-lmdb}
tools=${BUILD:-build}/tools
out=examples/cifar10

if [ ! -x "$tools/convert_cifar_data" ]; then
  echo "create_cifar10.sh: $tools/convert_cifar_data is not there; scripts/build.sh makes it" >&2
  exit 1
fi
if [ ! -f "$bin/data_batch_1.bin" ]; then
  echo "create_cifar10.sh: there is no data_batch_1.bin in $bin; the argument names its folder" >&2
  exit 1
fi

rm -rf "$out/cifar10_train_$backend" "$out/cifar10_test_$backend"
"$tools/convert_cifar_data" "$bin" "$out" "$backend"
"$tools/compute_image_mean" --backend="$backend" "$out/cifar10_train_$backend" \
  "$out/mean.binaryproto"
echo "$out/cifar10_train_$backend"
echo "$out/cifar10_test_$backend"
echo "$out/mean.binaryproto"
