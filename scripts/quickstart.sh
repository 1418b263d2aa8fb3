#!/usr/bin/env bash
# From nothing to a trained net: installs what is missing, builds, makes a data set, trains LeNet on
# it and tests it.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/quickstart.sh [--data digits | --data mnist DIR] [--build-dir DIR]

  --data digits      scikit-learn's handwritten digits, 1797 pictures (the default)
  --data mnist DIR   MNIST's idx files in DIR, gzipped or not; trains longer, to 99%
  --build-dir DIR    where to build (default: build)

example:
  scripts/quickstart.sh --data mnist ~/mnist
TEXT
}

root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build
data=digits
mnist=
while [ $# -gt 0 ]; do
  case $1 in
    --data)
      data=${2:-}
      case $data in
        digits) shift 2 ;;
        mnist)
          mnist=${3:-}
          [ -d "$mnist" ] || { echo "quickstart.sh: --data mnist needs the folder of the idx files" >&2; exit 1; }
          mnist=$(cd "$mnist" && pwd)
          shift 3 ;;
        *) echo "quickstart.sh: --data is 'digits' or 'mnist DIR', not '$data'" >&2; exit 1 ;;
      esac ;;
    --build-dir) build=${2:?}; shift 2 ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 1 ;;
  esac
done

step=
log=
step() {
  step=$1
  log=$2
  printf '== %s\n' "$step"
}
trap 'status=$?; [ $status = 0 ] || echo "quickstart.sh: \"$step\" failed${log:+; its log is $log}" >&2' EXIT

started=$(date +%s)
step "Installing what is missing" ""
"$root/scripts/install_dependencies.sh"

step "Building" "$build/configure.log"
"$root/scripts/build.sh" "$build"

work=$build/quickstart/$data
mkdir -p "$work"
cd "$work"
step "Making the data set ($data)" "$work/data.log"
if [ ! -f train_lmdb/data.mdb ] || [ ! -f test_lmdb/data.mdb ]; then
  rm -rf train_lmdb test_lmdb
  if [ "$data" = digits ]; then
    python3 "$root/examples/digits/create_digits.py" idx | tee data.log
    source=idx
  else
    source=$mnist
  fi
  # Several files of training images follow one another in the order of their names.
  list() { find "$source" -maxdepth 1 -name "$1" | sort | paste -sd, -; }
  images=$(list 'train-images*idx3-ubyte*')
  labels=$(list 'train-labels*idx1-ubyte*')
  [ -n "$images" ] && [ -n "$labels" ] || { echo "there are no idx files in $source" >&2; exit 1; }
  "$build/tools/convert_mnist_data" "$images" "$labels" train_lmdb 2>> data.log
  "$build/tools/convert_mnist_data" "$(list 't10k-images*idx3-ubyte*')" \
    "$(list 't10k-labels*idx1-ubyte*')" test_lmdb 2>> data.log
fi

if [ "$data" = digits ]; then
  iterations=600 test_batch=99 test_iterations=3
else
  iterations=3000 test_batch=100 test_iterations=100
fi
sed -e 's#examples/mnist/mnist_train_lmdb#train_lmdb#' -e 's#examples/mnist/mnist_test_lmdb#test_lmdb#' \
  -e "s#batch_size: 100 #batch_size: $test_batch #" \
  "$root/models/lenet/lenet_train_test.prototxt" > net.prototxt
sed -e 's#^net:.*#net: "net.prototxt"#' -e "s#^test_iter:.*#test_iter: $test_iterations#" \
  -e "s#^max_iter:.*#max_iter: $iterations#" -e "s#^snapshot:.*#snapshot: $iterations#" \
  -e "s#^test_interval:.*#test_interval: $iterations#" -e 's#^snapshot_prefix:.*#snapshot_prefix: "lenet"#' \
  "$root/models/lenet/solver.prototxt" > solver.prototxt
echo 'random_seed: 1' >> solver.prototxt

step "Training LeNet, $iterations iterations of 64 pictures" "$work/train.log"
training=$(date +%s)
"$build/tools/caffe" train -solver solver.prototxt 2>&1 | tee train.log |
  sed -n -u 's/.*\] \(Iteration [0-9]* (.*\)/   \1/p'
trained=$(date +%s)

step "Testing" "$work/test.log"
weights=lenet_iter_$iterations.caffemodel
"$build/tools/caffe" test -model net.prototxt -weights "$weights" -iterations "$test_iterations" \
  > test.log 2>&1

accuracy=$(sed -n 's/.*\] accuracy = \([0-9.]*\).*/\1/p' test.log | tail -n 1)
speed=$(sed -n 's/.*Iteration [1-9][0-9]* (\([0-9.]*\) iter.*/\1/p' train.log | sort -g | tail -n 1)
size=$(stat -c %s "$weights")
step=
echo
printf '%-12s %12s %12s %14s %12s %12s\n' net accuracy "model size" "training speed" "trained in" "all in"
printf '%-12s %11s%% %9s MB %8s img/s %10s s %10s s\n' LeNet \
  "$(awk "BEGIN { printf \"%.2f\", 100 * $accuracy }")" \
  "$(awk "BEGIN { printf \"%.2f\", $size / 1e6 }")" \
  "$(awk "BEGIN { printf \"%.0f\", 64 * $speed }")" \
  "$((trained - training))" "$(($(date +%s) - started))"
echo
echo "Weights:      $work/$weights"
echo "To go on:     $work/lenet_iter_$iterations.solverstate"
