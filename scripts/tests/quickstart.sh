#!/usr/bin/env bash
# The first command of the README, on the digits: it has to learn them.
set -euo pipefail
root=$1 build=$2
rm -rf "$build/quickstart/digits"
"$root/scripts/quickstart.sh" --build-dir "$build" | tee "$build/quickstart.out"
for type in FP32 FP16; do
  row=$(grep "^LeNet $type" "$build/quickstart.out")
  awk '{ exit !($3 > 95 && $4 > 0 && $6 > 0 && $8 > 0) }' <<< "$row"
done
test -s "$build/quickstart/digits/lenet_iter_600.caffemodel"
test -s "$build/quickstart/digits/lenet_fp16.caffemodel"
test -s "$build/quickstart/digits/lenet_iter_600.solverstate"
