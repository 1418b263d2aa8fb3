#!/usr/bin/env bash
# Runs an engine, a training and a loop of nets in Python for long, and says whether their memory and
# their descriptors stay what they are after the first minute, and their outputs the same bits.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/soak.sh [OPTION...] [PART...] [SECONDS]

  engine    SqueezeNet's engine, run by 64 threads; some make contexts for a few runs, some read the plan,
            which is written meanwhile; all outputs' bits are compared
  training  caffe train with data layers, two test nets and snapshots
  python    10000 nets loaded, run and dropped, some with Python layers, data layers or a solver

Without PART: all of them. SECONDS each runs, the nets of Python at least (default 1800).

  --together     all parts at once
  --limit P      percent by which memory may grow after the warm-up (default 1)
  --warm-up S    seconds that do not count (default 60, of less than 4 minutes a third)
  --callers N    threads of the engine (default 64)
  --nets N       nets of Python, at least (default 10000)
  --plot FILE    draw memory over time; needs matplotlib
  --samples DIR  keep the samples there, a CSV file for each part
  --build DIR    the build folder (default: build), with the target engine_soak

Reads /proc each second: scripts/soak/watch.py; what is flat: scripts/soak/report.py.

example:
  scripts/soak.sh --together --plot soak.png
TEXT
}

root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build seconds=1800 limit=1 warm_up='' callers=64 nets=10000
together='' plot='' samples='' parts=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --together) together=1 ;;
    --limit | --warm-up | --callers | --nets | --plot | --samples | --build)
      [ $# -ge 2 ] || { echo "soak.sh: $1 needs a value; --help shows how" >&2; exit 1; }
      name=${1#--}
      printf -v "${name//-/_}" '%s' "$2"
      shift ;;
    engine | training | python) parts+=("$1") ;;
    *[!0-9]* | '')
      echo "soak.sh: '$1' is no part and no number of seconds: engine, training, python" >&2
      exit 1 ;;
    *) seconds=$1 ;;
  esac
  shift
done
[ ${#parts[@]} -gt 0 ] || parts=(engine training python)
[ -n "$warm_up" ] || warm_up=$((seconds >= 240 ? 60 : seconds / 3))
build=$(realpath "$build")
[ -z "$plot" ] || plot=$(realpath "$plot")
if [ -n "$samples" ]; then
  mkdir -p "$samples"
  samples=$(realpath "$samples")
fi
python=$(sed -n 's/^_Python_EXECUTABLE:INTERNAL=//p' "$build/CMakeCache.txt" 2> /dev/null || true)
python=${python:-python3}
soak=$root/scripts/soak

# Works in a folder that is gone at the end.
source "$root/scripts/tests/lib/common.sh"
[ -n "$samples" ] || samples=$work
export OMP_NUM_THREADS=2

# watched PART OPTION... COMMAND...
watched() {
  local part=$1
  shift
  "$python" "$soak/watch.py" "${options[@]}" "$samples/$part.csv" "$@"
}

soak_engine() {
  local program=$build/benchmarks/engine_soak
  [ -x "$program" ] || { echo "engine: $program is not built (target engine_soak)"; return 1; }
  # Without --model the fillers make the weights.
  runs "$build/tools/caffe_exec" --deploy="$root/models/squeezenet_v1.1/deploy.prototxt" \
    --maxBatch=2 --avgTiming=1 --buildOnly --saveEngine=net.plan
  # So many threads would leave the other parts nothing.
  local later=() options=(--seconds "$seconds")
  [ -z "$together" ] || later=(nice -n 9)
  watched engine "${later[@]}" "$program" -plan net.plan -callers "$callers" -seconds "$seconds"
}

soak_training() {
  make_images 200 20
  runs "$build/tools/convert_imageset" "$PWD/" list.txt images_lmdb
  runs "$build/tools/convert_imageset" -backend leveldb "$PWD/" list.txt images_leveldb
  cat > net.prototxt <<'TEXT'
layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TRAIN }
  transform_param { crop_size: 16 mirror: true scale: 0.01 }
  data_param { source: "images_lmdb" backend: LMDB batch_size: 32 } }
layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TEST stage: "database" }
  transform_param { crop_size: 16 scale: 0.01 }
  data_param { source: "images_leveldb" backend: LEVELDB batch_size: 20 } }
layer { name: "data" type: "ImageData" top: "data" top: "label" include { phase: TEST stage: "files" }
  transform_param { crop_size: 16 scale: 0.01 }
  image_data_param { source: "list.txt" batch_size: 20 shuffle: true } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 16 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "bn" type: "BatchNorm" bottom: "conv" top: "bn" }
layer { name: "relu" type: "ReLU" bottom: "bn" top: "bn" }
layer { name: "pool" type: "Pooling" bottom: "bn" top: "pool"
  pooling_param { kernel_size: 2 stride: 2 } }
layer { name: "drop" type: "Dropout" bottom: "pool" top: "pool" }
layer { name: "wide" type: "InnerProduct" bottom: "pool" top: "wide"
  inner_product_param { num_output: 256 weight_filler { type: "xavier" } } }
layer { name: "fc" type: "InnerProduct" bottom: "wide" top: "fc"
  inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" }
layer { name: "accuracy" type: "Accuracy" bottom: "fc" bottom: "label" top: "accuracy"
  include { phase: TEST } }
TEXT
  cat > solver.prototxt <<'TEXT'
net: "net.prototxt" base_lr: 0.001 lr_policy: "fixed" momentum: 0.9 max_iter: 1000000000
test_state { stage: "database" } test_state { stage: "files" }
test_iter: 5 test_iter: 5 test_interval: 100 snapshot: 100 display: 100 average_loss: 20
snapshot_prefix: "snapshot" random_seed: 5
TEXT
  local options=(--seconds "$seconds" --interrupt --keep 4 'snapshot_iter_*')
  watched training "$caffe" train -solver solver.prototxt
  echo "training: $(basename -s .solverstate "$(find . -name '*.solverstate' | sort -t_ -k3 -n |
    tail -n 1)" | sed 's/.*_//') iterations"
}

soak_python() {
  if ! PYTHONPATH=$root/python "$python" -c 'import caffe; caffe.Net' 2> err.txt; then
    echo "python: $(tail -n 1 err.txt)"
    return 1
  fi
  small_net
  make_images 6 8
  runs "$build/tools/convert_imageset" "$PWD/" list.txt images_lmdb
  PYTHONPATH=$root/python:$soak watched python "$python" "$soak/nets.py" \
    --nets "$nets" --seconds "$seconds"
}

# A part in a folder of its own.
run_part() {
  mkdir -p "$work/$1"
  cd "$work/$1"
  : > out.txt
  : > err.txt
  local options=()
  "soak_$1"
}

failed=()
declare -A running
for part in "${parts[@]}"; do
  (run_part "$part") &
  running[$part]=$!
  [ -n "$together" ] || { wait "${running[$part]}" || failed+=("$part"); }
done
if [ -n "$together" ]; then
  for part in "${parts[@]}"; do wait "${running[$part]}" || failed+=("$part"); done
fi

files=()
for part in "${parts[@]}"; do
  [ ! -s "$samples/$part.csv" ] || files+=("$samples/$part.csv")
done
if [ ${#files[@]} -gt 0 ]; then
  "$python" "$soak/report.py" --limit "$limit" --warm-up "$warm_up" ${plot:+--plot "$plot"} \
    "${files[@]}" || failed+=(memory)
fi
if [ ${#failed[@]} -gt 0 ]; then
  echo "soak.sh: failed: ${failed[*]}"
  exit 1
fi
echo "soak.sh: passed: ${parts[*]}"
