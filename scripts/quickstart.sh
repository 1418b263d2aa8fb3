#!/usr/bin/env bash
# From nothing to a trained net: installs what is missing, builds, makes a data set, trains LeNet on
# it, tests it, and compares it with the same in half precision and with engines of three precisions.
set -euo pipefail
export LC_ALL=C

usage() {
  cat <<'TEXT'
usage: scripts/quickstart.sh [--data digits | --data mnist DIR] [--build-dir DIR]

  --data digits      scikit-learn's handwritten digits, 1797 images (the default)
  --data mnist DIR   MNIST's idx files in DIR, gzipped or not; trains longer, to 99%
  --build-dir DIR    where to build (default: build)

example:
  scripts/quickstart.sh --data mnist ~/mnist
TEXT
}

die() {
  echo "quickstart.sh: $*" >&2
  exit 1
}

root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/scripts/idx_files.sh"
build=$root/build
data=digits
idx=
while [ $# -gt 0 ]; do
  case $1 in
    --data)
      data=${2:-}
      case $data in
        digits) shift 2 ;;
        mnist)
          [ -d "${3:-}" ] || die "--data mnist needs the folder with MNIST's idx files, got '${3:-}'"
          idx=$(cd "$3" && pwd)
          shift 3 ;;
        *) die "--data is 'digits' or 'mnist DIR', not '$data'" ;;
      esac ;;
    --build-dir)
      [ $# -ge 2 ] || die "--build-dir needs a folder"
      mkdir -p "$2"
      build=$(cd "$2" && pwd)
      shift 2 ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 1 ;;
  esac
done

# Says which step failed, and the end of its log.
step=
log=
on_exit() {
  local status=$?
  [ "$status" != 0 ] && [ -n "$step" ] || return 0
  if [ -n "$log" ] && [ -s "$log" ]; then tail -n 10 "$log" >&2; fi
  echo "quickstart.sh: failed while $step${log:+; the whole log is $log}" >&2
}
trap on_exit EXIT
step() {
  step=$1
  log=${2:-}
  printf '== %s\n' "${step^}"
}
seconds() { date +%s.%N; }
since() { awk "BEGIN { printf \"%.${2:-1}f\", $(seconds) - $1 }"; }

# named PATTERN: the idx files that fit; says so where there is none.
named() {
  local files
  files=$(idx_files "$idx" "$1")
  [ -n "$files" ] || { echo "there is no $1 in $idx" >> "$log"; return 1; }
  echo "$files"
}

# convert PREFIX DATABASE: under another name until it is complete.
convert() {
  local images labels
  images=$(named "$1-images*idx3-ubyte*")
  labels=$(named "$1-labels*idx1-ubyte*")
  rm -rf "$2" "$2.part"
  "$build/tools/convert_mnist_data" "$images" "$labels" "$2.part" --backend=lmdb 2>> "$log"
  mv "$2.part" "$2"
}

make_data() {
  : > "$log"
  if [ "$data" = digits ]; then
    idx=$work/idx
    if [ ! -f "$idx/t10k-labels-idx1-ubyte" ]; then
      python3 "$root/examples/digits/create_digits.py" "$idx" 2>&1 | tee "$log"
    fi
  fi
  convert train train_lmdb
  convert t10k test_lmdb
}

# LeNet as in models/lenet, with this data and this many iterations.
write_net() {
  sed -e 's#examples/mnist/mnist_train_lmdb#train_lmdb#' \
    -e 's#examples/mnist/mnist_test_lmdb#test_lmdb#' \
    -e "s#batch_size: 100 #batch_size: $test_batch #" \
    "$root/models/lenet/lenet_train_test.prototxt" > net.prototxt
  sed -e 's#^net:.*#net: "net.prototxt"#' \
    -e "s#^test_iter:.*#test_iter: $test_iterations#" \
    -e "s#^test_interval:.*#test_interval: $iterations#" \
    -e "s#^max_iter:.*#max_iter: $iterations#" \
    -e "s#^snapshot:.*#snapshot: $iterations#" \
    -e 's#^snapshot_prefix:.*#snapshot_prefix: "lenet"#' \
    -e '/^# rate = /d' -e '/^gamma:/d' \
    -e 's#^base_lr:.*#base_lr: 0.02#' \
    -e 's#^lr_policy:.*#lr_policy: "poly"  \# down to 0 at the end: a short run gets furthest so#' \
    -e 's#^power:.*#power: 1#' \
    "$root/models/lenet/solver.prototxt" > solver.prototxt
  echo 'random_seed: 1' >> solver.prototxt
}

# Of the log's lines like "Iteration 100 (75.2 iter/s, 1.3s/100 iters), loss = 0.2" what a person
# wants to see.
show_progress() {
  sed -n -u 's/.*\] Iteration \([0-9]*\) (\([0-9.e+-]*\) iter.* loss = \(.*\)/\1 \2 \3/p' |
    while read -r iteration speed loss; do
      awk -v n="$iteration" -v all="$iterations" -v speed="$speed" -v loss="$loss" 'BEGIN {
        left = speed > 0 && n < all ? sprintf(", %.0f s left", (all - n) / speed) : ""
        printf "   iteration %d of %d, loss %s%s\n", n, all, loss, left }'
    done
}

# accuracy FLAG...: on the test images, 0 to 1.
accuracy() {
  "$build/tools/caffe" test "$@" > "$log" 2>&1
  sed -n 's/.*\] accuracy = \([0-9.e-]*\).*/\1/p' "$log" | tail -n 1 | grep .
}

# latency FLAG...: milliseconds that an image takes, and the kilobytes that the program has in memory
# at most.
latency() {
  python3 - "$build/tools/caffe" time -iterations 300 "$@" > "$log" 2>&1 << 'PYTHON'
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print("peak memory", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
PYTHON
  sed -n -e 's/.*Average Forward pass of the whole net.*: \([0-9.e-]*\) ms.*/\1/p' \
    -e 's/^latency: .* median \([0-9.e-]*\) ms.*/\1/p' \
    -e 's/^peak memory //p' "$log" | paste -sd' ' -
}

# build_engine NAME FLAG...: writes lenet_NAME.plan; NAME is a precision, or one and more behind "_".
build_engine() {
  local name=$1
  shift
  "$build/tools/caffe" build -model "$deploy" -weights "$weights" -max_batch "$engine_batch" \
    -precision "${name%%_*}" -plan "lenet_$name.plan" "$@" >> "$log" 2>&1
}

# row NAME FILE ACCURACY LATENCY MEMORY
row() {
  printf '%-26s %9s%% %9s MB %9s ms %9s MB\n' "$1" \
    "$(awk "BEGIN { printf \"%.2f\", 100 * $3 }")" \
    "$(awk "BEGIN { printf \"%.2f\", $(stat -c %s "$2") / 1e6 }")" \
    "$(awk "BEGIN { printf \"%.3f\", $4 }")" "$(awk "BEGIN { printf \"%.0f\", $5 / 1024 }")"
}

started=$(seconds)
step "installing what is missing"
"$root/scripts/install_dependencies.sh"

step "building"
# In a new folder: what is needed here, without a compiler cache's demands, with kernels for this
# processor, and with CUDA where it can run.
options=()
if [ ! -f "$build/CMakeCache.txt" ]; then
  options+=(-DCAFFE_PCH=ON -DCAFFE_UNITY=ON -DCAFFE_CPU_KERNELS=NATIVE)
  nvidia-smi -L > /dev/null 2>&1 || options+=(-DUSE_CUDA=OFF)
fi
TARGETS="tool_caffe tool_convert_mnist_data tool_upgrade_net_fp16" \
  "$root/scripts/build.sh" "$build" "${options[@]}"

work=$build/quickstart/$data
mkdir -p "$work"
cd "$work"
step "making the data set ($data)" "$work/data.log"
# Another folder of idx files is another data set.
if [ "$(cat source 2> /dev/null)" != "$data $idx" ] || [ ! -d train_lmdb ] || [ ! -d test_lmdb ]; then
  source="$data $idx"
  make_data
  echo "$source" > source
fi

if [ "$data" = digits ]; then
  iterations=600 test_batch=99 test_iterations=3
  engine_batch=9 engine_iterations=33 reported_images=297
else
  iterations=4000 test_batch=100 test_iterations=100
  engine_batch=10 engine_iterations=1000 reported_images=1000
fi
write_net

step "training LeNet, $iterations iterations of 64 images" "$work/train.log"
training=$(seconds)
"$build/tools/caffe" train -solver solver.prototxt 2>&1 | tee train.log | show_progress
trained_in=$(since "$training" 3)

step "testing" "$work/test.log"
weights=lenet_iter_$iterations.caffemodel
deploy=$root/models/lenet/deploy.prototxt
float_accuracy=$(accuracy -model net.prototxt -weights "$weights" -iterations "$test_iterations")

step "migrating to half precision" "$work/migration.log"
half_weights=lenet_fp16.caffemodel
"$build/tools/upgrade_net_fp16" -input net.prototxt -model "$weights" -output "$half_weights" \
  > migration.log 2>&1
log=$work/test_fp16.log
half_accuracy=$(accuracy -model lenet_fp16.prototxt -weights "$half_weights" \
  -iterations "$test_iterations")
log=$work/time.log
as_deployed=(-model "$deploy" -phase TEST -weights)
read -r float_ms float_memory <<< "$(latency "${as_deployed[@]}" "$weights")"
read -r half_ms half_memory <<< "$(latency "${as_deployed[@]}" "$half_weights" -forward_type FLOAT16)"

step "building engines" "$work/engines.log"
pixels=(-scale 0.00390625)
"$build/tools/caffe" calibrate -model "$deploy" -weights "$weights" -data train_lmdb \
  "${pixels[@]}" -batches 1000 -calibration_table lenet.table > "$log" 2>&1
build_engine fp32
build_engine fp16
build_engine int8 -calibration_table lenet.table \
  -report report.html -report_seconds 0.3 -data test_lmdb "${pixels[@]}" \
  -batches "$reported_images"
build_engine int8_integers -calibration_table lenet.table -quantization affine \
  -arithmetic integer_only
declare -A engine_accuracy engine_ms engine_memory
engines=(fp32 fp16 int8 int8_integers)
for engine in "${engines[@]}"; do
  plan=lenet_$engine.plan
  log=$work/test_$engine.log
  engine_accuracy[$engine]=$(accuracy -plan "$plan" -data test_lmdb "${pixels[@]}" \
    -iterations "$engine_iterations")
  read -r "engine_ms[$engine]" "engine_memory[$engine]" <<< "$(latency -plan "$plan" -batch 1)"
done
step=

echo
echo "Trained in $trained_in s, $(awk "BEGIN { printf \"%.0f\", 64 * $iterations / $trained_in }") images a second; all in $(since "$started") s"
echo
printf '%-26s %10s %12s %12s %12s\n' net accuracy "model size" "an image" "peak memory"
row "LeNet FP32" "$weights" "$float_accuracy" "$float_ms" "$float_memory"
row "LeNet FP16" "$half_weights" "$half_accuracy" "$half_ms" "$half_memory"
for engine in "${engines[@]}"; do
  precision=${engine%%_*}
  name="engine ${precision^^}"
  if [ "$engine" = int8_integers ]; then name+=", integers only"; fi
  row "$name" "lenet_$engine.plan" "${engine_accuracy[$engine]}" "${engine_ms[$engine]}" \
    "${engine_memory[$engine]}"
done
echo
echo "Weights:     $work/$weights"
echo "In FP16:     $work/$half_weights, lenet_fp16.prototxt"
echo "Engines:     $work/lenet_fp32.plan, lenet_fp16.plan, lenet_int8.plan, lenet_int8_integers.plan"
echo "Report:      $work/report.html"
echo "All the rest: cmake --build $build"
echo "              cmake -DCAFFE_CPU_KERNELS=ALL $build: kernels for other processors, too"
echo "To go on:    $work/lenet_iter_$iterations.solverstate"
