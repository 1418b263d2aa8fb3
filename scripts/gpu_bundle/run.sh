#!/usr/bin/env bash
# Runs this bundle's GPU tests, a part of them under compute-sanitizer where there is one, and then
# the benchmarks. The last lines are a table and "N passed, N failed".
set -uo pipefail

usage() {
  cat <<'TEXT'
usage: run.sh [--tests-only] [--filter PATTERN] [--iterations N]

  --tests-only      no benchmarks
  --filter PATTERN  the tests to run, as GoogleTest's --gtest_filter (default: all GPU tests)
  --iterations N    of each benchmark (default 20)

CUDA's and cuDNN's libraries are looked for where the system's loader looks, in /usr/local/cuda and
among Python's packages (nvidia/*/lib); LD_LIBRARY_PATH names other places.
TEXT
}

die() {
  echo "run.sh: $*" >&2
  exit 1
}

here=$(cd "$(dirname "$0")" && pwd)
filter='*ADeviceGivesTheSame*:*OnDevice*:SnapshotAcrossModes*:*/SnapshotAcrossModes*'
filter+=':GpuMath*:GpuRandom*:*Gpu*:*Cuda*:*ChannelsLast*:DeviceMemory*'
benchmarks=yes
iterations=20
while [ $# -gt 0 ]; do
  case $1 in
    --filter | --iterations) [ $# -ge 2 ] || die "$1 needs a value; --help shows how" ;;
  esac
  case $1 in
    --tests-only) benchmarks=no; shift ;;
    --filter) filter=$2; shift 2 ;;
    --iterations) iterations=$2; shift 2 ;;
    -h | --help | -help) usage; exit 0 ;;
    *) die "unknown argument '$1'; --help shows what there is" ;;
  esac
done
[[ $iterations =~ ^[1-9][0-9]*$ ]] || die "--iterations needs a positive number, not '$iterations'"

# Folders that may hold CUDA's libraries, those that the user names first.
folders() {
  local part python
  IFS=: read -r -a parts <<< "${LD_LIBRARY_PATH:-}"
  for part in "${parts[@]}"; do echo "$part"; done
  ldconfig -p 2> /dev/null | sed -n 's/.* => \(.*\)\/lib\(cublasLt\|cudnn\|nccl\|cuda\)\.so.*/\1/p'
  ls -d /usr/local/cuda/lib64 /usr/local/cuda/targets/*/lib /usr/local/cuda-1[23]*/lib64 2> /dev/null
  for python in python3 python; do
    "$python" - 2> /dev/null <<'PYTHON'
import glob, site, sys
places = set(sys.path) | set(site.getsitepackages()) | {site.getusersitepackages()}
for place in sorted(filter(None, places)):
    for folder in sorted(glob.glob(place + "/nvidia/*/lib") + glob.glob(place + "/nvidia/*/lib/x86_64")):
        print(folder)
PYTHON
  done
  ls -d /opt/conda/lib /usr/lib/python3*/*-packages/nvidia/*/lib /usr/local/lib/python3*/*-packages/nvidia/*/lib \
    "$HOME"/.local/lib/python3*/site-packages/nvidia/*/lib 2> /dev/null
}
mapfile -t candidates < <(folders | awk 'length && !seen[$0]++')

# The first folder with a file of this pattern.
folder_of() {
  local folder
  for folder in "${candidates[@]}"; do
    if compgen -G "$folder/$1" > /dev/null; then
      echo "$folder"
      return 0
    fi
  done
  return 1
}

# The CUDA that the programs were built with decides which cuBLAS fits: 12 or 13.
cuda=$(grep -a -o 'libcublasLt\.so\.\(12\|13\)' "$here"/lib/libcaffe.so* | head -1 | grep -o '1[23]$')
cuda=${cuda:-13}
folder_of 'libcuda.so.1' > /dev/null || [ -e /dev/nvidiactl ] ||
  die "no NVIDIA driver is installed here: the tests need an NVIDIA GPU with its driver"
blas=$(folder_of "libcublasLt.so.$cuda") || die "libcublasLt.so.$cuda was not found: install CUDA $cuda's" \
  "libraries (pip install nvidia-cublas, or the CUDA toolkit), or name their folder in LD_LIBRARY_PATH"
dnn=$(folder_of 'libcudnn.so.9') || die "libcudnn.so.9 was not found: install cuDNN 9" \
  "(pip install nvidia-cudnn-cu$cuda), or name its folder in LD_LIBRARY_PATH"
paths=$here/lib:$blas:$dnn
for file in 'libnccl.so.2' 'libcurand.so.10' 'libnvrtc.so.1*' "libcublas.so.$cuda"; do
  if folder=$(folder_of "$file"); then paths+=:$folder; fi
done
folder_of 'libnvrtc.so.1*' > /dev/null ||
  echo "libnvrtc was not found (pip install nvidia-cuda-nvrtc): cuDNN cannot join convolutions with what follows"
export LD_LIBRARY_PATH=$paths${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export GLOG_logtostderr=1

facts=$(cd "$here" && bin/caffe device_query -gpu 0 2>&1) || die "$(tail -1 <<< "$facts")"
gpu=$(sed -n 's/.*\] Name: *//p' <<< "$facts" | head -1)
echo "GPU: $gpu"
echo "cuBLAS: $blas"
echo "cuDNN: $dnn"
cat "$here/contents.txt"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0
failures=()

# One process a suite: a kernel that goes astray ruins all that its process does afterwards.
run_suite() {  # name, filter, what runs the tests
  local name=$1 tests=$2 status count
  shift 2
  { (cd "$here" && GLOG_minloglevel=3 timeout 1800 "$@" bin/caffe_tests --gtest_color=no \
    --gtest_filter="$tests") > "$work/log" 2>&1; } 2> /dev/null  # nor the shell's "Aborted"
  status=$?
  count=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$work/log" | tail -1)
  passed=$((passed + ${count:-0}))
  count=$(sed -n 's/^\[  SKIPPED \] \([0-9]*\) test.*/\1/p' "$work/log" | tail -1)
  skipped=$((skipped + ${count:-0}))
  count=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) test.*/\1/p' "$work/log" | tail -1)
  if [ "$status" -ne 0 ]; then
    failed=$((failed + ${count:-1}))
    failures+=("$name")
    echo "FAILED $name (status $status)"
    grep -E '^\[  FAILED  \]|Failure|error|Error|ERROR SUMMARY|what\(\)' "$work/log" | head -20 | sed 's/^/    /'
    cp "$work/log" "$here/failed-${name//[^A-Za-z0-9_]/_}.log" 2> /dev/null
  fi
}

mapfile -t suites < <(cd "$here" && bin/caffe_tests --gtest_list_tests --gtest_filter="$filter" 2> /dev/null |
  sed -n 's/^\([^ #]*\)\..*/\1/p')
[ "${#suites[@]}" -gt 0 ] || die "no test fits the filter '$filter'"
echo "Tests: ${#suites[@]} suites"
for suite in "${suites[@]}"; do
  # Only those tests of the suite that the filter has.
  tests=$(cd "$here" && bin/caffe_tests --gtest_list_tests --gtest_filter="$filter" 2> /dev/null |
    awk -v wanted="$suite." '/^[^ ]/ { inside = ($1 == wanted) } /^ / && inside { printf "%s%s:", wanted, $1 }')
  run_suite "$suite" "$tests"
done

sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2> /dev/null)
if [ -n "$sanitizer" ]; then
  subset='GpuMath*:GpuRandom*:*RulesOnDevice*:*ReLU*ADeviceGivesTheSame*:*Pooling*ADeviceGivesTheSame*'
  for tool in memcheck racecheck; do
    run_suite "compute-sanitizer $tool" "$subset" "$sanitizer" --tool "$tool" --error-exitcode 99
  done
else
  echo "compute-sanitizer was not found: that part is left out"
fi

rows=()
time_net() {  # folder, file, phase
  local model=models/$1/$2 forward backward
  if (cd "$here" && timeout 900 bin/caffe time -model "$model" -phase TEST -gpu 0 \
      -iterations "$iterations") > "$work/log" 2>&1; then
    forward=$(sed -n 's/.*Average Forward pass: *\([0-9.e+-]*\) ms.*/\1/p' "$work/log" | tail -1)
    backward=$(sed -n 's/.*Average Backward pass: *\([0-9.e+-]*\) ms.*/\1/p' "$work/log" | tail -1)
    rows+=("$(printf '%-20s %-22s %12s %12s' "$1" "$2" "${forward:--}" "${backward:--}")")
  else
    failed=$((failed + 1))
    failures+=("caffe time $model")
    rows+=("$(printf '%-20s %-22s %s' "$1" "$2" "$(tail -1 "$work/log" | cut -c1-100)")")
  fi
}
# Engines, with weights by chance: what they compute is the tests' business.
engines=()
run_step() {  # what it is for, then a command, in the bundle's folder
  local step=$1
  shift
  (cd "$here" && timeout 1800 "$@") > "$work/log" 2>&1 && return 0
  failed=$((failed + 1))
  failures+=("$step: $(tail -1 "$work/log" | cut -c1-100)")
  return 1
}
time_engines() {  # folder
  local model=models/$1/deploy.prototxt weights=$work/$1.caffemodel pictures=$work/$1 table=$work/$1.table
  local precision batch ranges median
  run_step "weights of $1" bin/net_benchmark -deploy "$model" -batch 8 -save "$weights" \
    -reference "$pictures" || return
  run_step "calibration of $1" bin/inference_benchmark -model "$model" -weights "$weights" \
    -reference "$pictures" -batch 8 -calibrate -table "$table" || return
  for batch in 1 32 256; do
    for precision in fp32 fp16 bf16 int8; do
      ranges=()
      if [ "$precision" = int8 ]; then ranges=(-calibration_table "$table"); fi
      run_step "engine of $1 in $precision" bin/caffe build -model "$model" -weights "$weights" \
        -plan "$work/net.plan" -gpu 0 -precision "$precision" -max_batch "$batch" "${ranges[@]}" \
        -timing_cache "$work/timing" || continue
      run_step "time of $1 in $precision" bin/caffe time -plan "$work/net.plan" -gpu 0 \
        -batch "$batch" -iterations "$iterations" || continue
      median=$(sed -n 's/^latency:.* median \([^,]*\),.*/\1/p' "$work/log" | tail -1)
      engines+=("$(printf '%-20s %6s %-10s %14s' "$1" "$batch" "$precision" "${median:--}")")
    done
  done
}
if [ "$benchmarks" = yes ]; then
  for net in "$here"/models/*; do
    for file in deploy.prototxt deploy_fp16.prototxt; do
      if [ -e "$net/$file" ]; then time_net "$(basename "$net")" "$file"; fi
    done
    if [ -x "$here/bin/inference_benchmark" ]; then time_engines "$(basename "$net")"; fi
  done
fi

echo
echo "GPU: $gpu"
if [ "${#rows[@]}" -gt 0 ]; then
  printf '%-20s %-22s %12s %12s\n' net file 'forward, ms' 'backward, ms'
  printf '%s\n' "${rows[@]}"
fi
if [ "${#engines[@]}" -gt 0 ]; then
  printf '\n%-20s %6s %-10s %14s\n' net batch engine 'median latency'
  printf '%s\n' "${engines[@]}"
fi
for failure in "${failures[@]}"; do echo "failed: $failure"; done
[ "$skipped" -eq 0 ] || echo "$skipped skipped"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
