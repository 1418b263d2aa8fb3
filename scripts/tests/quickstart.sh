#!/usr/bin/env bash
# The first command of the README, on the digits: it has to learn them.
set -euo pipefail
root=$1 build=$2
rm -rf "$build/quickstart/digits"
"$root/scripts/quickstart.sh" --build-dir "$build" | tee "$build/quickstart.out"
accuracy=$(sed -n 's/^LeNet *\([0-9.]*\)%.*/\1/p' "$build/quickstart.out")
awk "BEGIN { exit !($accuracy > 95) }"
test -s "$build/quickstart/digits/lenet_iter_600.caffemodel"
test -s "$build/quickstart/digits/lenet_iter_600.solverstate"
