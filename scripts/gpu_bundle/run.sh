#!/usr/bin/env bash
# Runs this bundle on a machine with an NVIDIA GPU, step by step; --help says what there is. What is
# found is written at once, so that a run that is cut off has lost nothing.
set -uo pipefail

usage() {
  cat <<'TEXT'
usage: run.sh [STEP...] [--out DIR] [--limit SECONDS] [--filter PATTERN] [--jobs N] [--nets A,B]
              [--batches N,N] [--engines TYPE,TYPE]

steps, in this order when none is named; each ends after a time limit of its own:
  tests       every suite of GPU tests, one process each, --jobs of them at a time
  nets        outputs of engines on the GPU compared with those of the net in FP32 on the CPU: the signal of
              no blob may be weaker than a bound for the engine's type
  training    LeNet and CIFAR-10 quick in FLOAT and FLOAT16 on GPU and CPU: losses side by side, and
              snapshots of one resumed on the other (a bundle with data: make_gpu_bundle.sh --data)
  engines     time of engines in FP32, TF32, FP16, BF16 and INT8 at batch 1, 32 and 256
  steps       time of training steps in FLOAT and FLOAT16 at batch 256
  peers       the same nets in PyTorch, where python3 has it
  sanitizer   the kernels' tests under compute-sanitizer: memcheck, racecheck, synccheck

  --out DIR         results.txt, and the logs of what failed (default: results, in the bundle)
  --limit SECONDS   no program runs longer than until then (default: none)
  --filter PATTERN  of "tests": those to run, as GoogleTest's --gtest_filter
  --jobs N          suites at a time (default: a quarter of the cores, 8 at most)
  --nets A,B        those to time (default: all of the bundle)
  --batches 1,32    in batches of these sizes
  --engines fp16,int8  engines of these types

CUDA's and cuDNN's libraries are looked for in LD_LIBRARY_PATH, among Python's packages
(nvidia/*/lib), where the system's loader looks and in /usr/local/cuda. The last line is
"N passed, N failed".

example:
  run.sh tests --filter 'On/CudaKernels*' --out /tmp/results
TEXT
}

die() {
  echo "run.sh: $*" >&2
  exit 1
}

here=$(cd "$(dirname "$0")" && pwd)
filter='*ADeviceGivesTheSame*:*OnDevice*:SnapshotAcrossModes*:*/SnapshotAcrossModes*'
filter+=':GpuMath*:GpuRandom*:*Gpu*:*Cuda*:*ChannelsLast*:DeviceMemory*'
filter+=':IntegerOperations*:WeightedDefinition*'
all_steps=(tests nets training engines steps peers sanitizer)
steps=() out=$here/results limit=86400 nets= batches=1,32,256 engines=fp32,tf32,fp16,bf16,int8
jobs=$(($(nproc) / 4))
while [ $# -gt 0 ]; do
  case $1 in
    --filter | --out | --limit | --jobs | --nets | --batches | --engines)
      [ $# -ge 2 ] || die "$1 needs a value; --help shows how" ;;
  esac
  case $1 in
    --filter) filter=$2; shift 2 ;;
    --out) out=$2; shift 2 ;;
    --limit) limit=$2; shift 2 ;;
    --jobs) jobs=$2; shift 2 ;;
    --nets) nets=$2; shift 2 ;;
    --batches) batches=$2; shift 2 ;;
    --engines) engines=$2; shift 2 ;;
    -h | --help | -help) usage; exit 0 ;;
    *)
      [[ " ${all_steps[*]} " == *" $1 "* ]] || die "unknown argument '$1'; --help shows what there is"
      steps+=("$1"); shift ;;
  esac
done
[ "${#steps[@]}" -gt 0 ] || steps=("${all_steps[@]}")
for number in "$limit" "$jobs"; do
  [[ $number =~ ^[0-9]+$ ]] || die "--limit and --jobs need a number, not '$number'"
done
jobs=$((jobs < 1 ? 1 : jobs > 8 ? 8 : jobs))
mkdir -p "$out/logs" || die "$out: cannot be written to"
out=$(cd "$out" && pwd)

# --- The libraries ------------------------------------------------------------------------------

# Folders that may hold CUDA's libraries, those that the user names first.
folders() {
  local part python
  IFS=: read -r -a parts <<< "${LD_LIBRARY_PATH:-}"
  for part in "${parts[@]}"; do echo "$part"; done
  for python in python3 python; do
    "$python" - 2> /dev/null <<'PYTHON'
import glob, site, sys
places = set(sys.path) | set(site.getsitepackages()) | {site.getusersitepackages()}
for place in sorted(filter(None, places)):
    for folder in sorted(glob.glob(place + "/nvidia/*/lib") + glob.glob(place + "/nvidia/*/lib/x86_64")):
        print(folder)
PYTHON
  done
  ldconfig -p 2> /dev/null | sed -n 's/.* => \(.*\)\/lib\(cublasLt\|cudnn\|nccl\|cuda\)\.so.*/\1/p'
  ls -d /usr/local/cuda/lib64 /usr/local/cuda/targets/*/lib /usr/local/cuda-1[23]*/lib64 2> /dev/null
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
python_path=${LD_LIBRARY_PATH:-}
export LD_LIBRARY_PATH=$paths${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export GLOG_logtostderr=1

# --- Running and saying -------------------------------------------------------------------------

passed=0 failed=0 skipped=0
say() { echo "$*" | tee -a "$out/results.txt"; }
left() {  # seconds, at most $1
  local rest=$((limit - SECONDS))
  echo $((rest < 1 ? 1 : rest < $1 ? rest : $1))
}
fail() {
  failed=$((failed + 1))
  say "FAILED $*"
}
# Runs a program in the bundle's folder with a log; says in one line how it ended where it failed.
step() {  # name of the log, seconds, command...
  local log=$out/logs/$1.log seconds status
  if [ "$SECONDS" -ge "$limit" ]; then
    say "no time for $1"
    return 1
  fi
  seconds=$(left "$2")
  shift 2
  (cd "$here" && timeout -k 5 "$seconds" "$@") > "$log" 2>&1
  status=$?
  [ "$status" -eq 0 ] && return 0
  local why
  why=$(grep -vE '^ *$|Check failure stack|^ *@ |^\*\*\* ' "$log" | tail -1 | cut -c1-300)
  [ "$status" -ne 124 ] || why="no end after $seconds s; $why"
  fail "$(basename "$log" .log) (status $status): $why"
  return 1
}

facts=$(cd "$here" && bin/caffe device_query -gpu 0 2>&1) || die "$(tail -1 <<< "$facts")"
gpu=$(sed -n 's/.*\] Name: *//p' <<< "$facts" | head -1)
say "GPU: $gpu"
say "CPU: $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -1), $(nproc) cores"
say "cuBLAS: $blas"
say "cuDNN: $dnn"
say "$(cat "$here/contents.txt")"
echo "$facts" > "$out/logs/device_query.log"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

models=()
for folder in "$here"/models/*; do
  net=$(basename "$folder")
  if [ -z "$nets" ] || [[ ",$nets," == *",$net,"* ]]; then models+=("$net"); fi
done
[ "${#models[@]}" -gt 0 ] || die "the bundle has none of the nets '$nets'"
IFS=, read -r -a sizes <<< "$batches"
IFS=, read -r -a types <<< "$engines"

# Random weights.
weights_of() {  # net
  local file=$work/$1.caffemodel
  [ -e "$file" ] || step "weights_$1" 120 bin/net_benchmark -deploy "models/$1/deploy.prototxt" -batch 1 \
    -save "$file" || return 1
  echo "$file"
}

# What caffe_exec is given for an engine of a type, a flag a line.
type_flags() {
  echo --strictTypes
  case $1 in
    fp32) echo --noTF32 ;;
    tf32) ;;
    *) echo "--$1" ;;
  esac
}

# --- The steps ----------------------------------------------------------------------------------

# A kernel that goes astray ruins all that its process does afterwards: a process for each suite.
run_suite() {  # suite, its tests, what runs them...
  local log=$out/logs/tests_${1//[^A-Za-z0-9_]/_}.log tests=$2
  shift 2
  if [ "$SECONDS" -ge "$limit" ]; then
    echo "status late" > "$log"
    return
  fi
  (cd "$here" && GLOG_minloglevel=3 timeout -k 5 "$(left 180)" "$@" bin/caffe_tests --gtest_color=no \
    --gtest_filter="$tests") > "$log" 2>&1
  echo "status $?" >> "$log"
}
count_in() { sed -n "s/^\[  $1 *\] \([0-9]*\) test.*/\1/p" "$2" | tail -1; }
add_suite() {  # name, log
  local log=$2 status count
  status=$(sed -n 's/^status //p' "$log" | tail -1)
  count=$(count_in PASSED "$log"); passed=$((passed + ${count:-0}))
  count=$(count_in SKIPPED "$log"); skipped=$((skipped + ${count:-0}))
  [ "$status" = 0 ] && return
  if [ "$status" = late ]; then
    say "no time for $1"
    return
  fi
  count=$(count_in FAILED "$log"); failed=$((failed + ${count:-1}))
  say "FAILED $1 (status $status)"
  grep -E '^\[  FAILED  \] [^0-9]|ERROR SUMMARY|what\(\)' "$log" | sort -u | head -12 | sed 's/^/    /' |
    tee -a "$out/results.txt"
  [ -n "${count:-}" ] || say "    in $(grep '^\[ RUN' "$log" | tail -1)"
}

run_tests() {
  local list suites=() suite tests
  list=$(cd "$here" && bin/caffe_tests --gtest_list_tests --gtest_filter="$filter" 2> /dev/null)
  mapfile -t suites < <(sed -n 's/^\([^ #]*\)\..*/\1/p' <<< "$list")
  [ "${#suites[@]}" -gt 0 ] || die "no test fits the filter '$filter'"
  say "tests: ${#suites[@]} suites"
  for suite in "${suites[@]}"; do
    # Only those tests of the suite that the filter has.
    tests=$(awk -v wanted="$suite." '/^[^ ]/ { inside = ($1 == wanted) }
                                     /^ / && inside { printf "%s%s:", wanted, $1 }' <<< "$list")
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
    run_suite "$suite" "$tests" &
  done
  wait
  for suite in "${suites[@]}"; do add_suite "$suite" "$out/logs/tests_${suite//[^A-Za-z0-9_]/_}.log"; done
  say "tests: $passed passed, $failed failed, $skipped skipped"
}

run_sanitizer() {
  local tool sanitizer subset
  sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2> /dev/null)
  [ -n "$sanitizer" ] || { say "compute-sanitizer was not found: that part is left out"; return; }
  subset='GpuMath*:*RulesOnDevice*:On/CudaKernels*:*ChannelsLastPooling*:*/LayerCases.ADeviceGivesTheSame*'
  subset+=':IntegerOperations*:WeightedDefinition*'
  for tool in memcheck racecheck synccheck; do
    run_suite "sanitizer_$tool" "$subset" "$sanitizer" --tool "$tool" --error-exitcode 99 --print-limit 20 &
  done
  wait
  for tool in memcheck racecheck synccheck; do
    add_suite "sanitizer $tool" "$out/logs/tests_sanitizer_$tool.log"
    say "sanitizer $tool: $(grep -h 'SUMMARY' "$out/logs/tests_sanitizer_$tool.log" | tail -1)"
  done
}

run_nets() {
  local net precision weights flags bound
  say "$(printf '%-16s %-10s %s' net engine 'the outputs compared with the net in FP32 on the CPU')"
  for net in "${models[@]}"; do
    weights=$(weights_of "$net") || continue
    for precision in "${types[@]}"; do
      mapfile -t flags < <(type_flags "$precision")
      step "build_${net}_$precision" 120 bin/caffe_exec --deploy="models/$net/deploy.prototxt" \
        --model="$weights" --batch=2 "${flags[@]}" --device=0 --saveEngine="$work/net.plan" --iterations=1 \
        --duration=0 --warmUp=0 --timingCacheFile="$work/timing" || continue
      case $precision in fp32) bound=60 ;; tf32 | fp16) bound=30 ;; *) bound=10 ;; esac
      step "compare_${net}_$precision" 60 bin/caffe compare -model "models/$net/deploy.prototxt" \
        -weights "$weights" -plan "$work/net.plan" -random 1 -scale 0.00390625 -min_sqnr "$bound"
      say "$(printf '%-16s %-10s %s' "$net" "$precision" \
        "$(tail -2 "$out/logs/compare_${net}_$precision.log" | head -1 | cut -c1-160)")"
    done
  done
}

# The solver of a net for a few hundred iterations that can be compared.
short_solver() {  # file, snapshots' prefix, gpu or cpu -> prints the new file
  local file=$work/$3_$(basename "$(dirname "$1")")_$(basename "$1")
  sed -E -e '/^(max_iter|display|snapshot|snapshot_prefix|test_interval|test_iter|solver_mode|random_seed):/d' \
    "$here/$1" > "$file"
  printf 'max_iter: 400\ndisplay: 100\nsnapshot: 200\ntest_interval: 200\ntest_iter: 10\nrandom_seed: 7\n' >> "$file"
  printf 'snapshot_prefix: "%s"\nsolver_mode: %s\n' "$2" "${3^^}" >> "$file"
  echo "$file"
}
losses() { sed -n 's/.*Iteration \([0-9]*\) .*loss = \([0-9.einfa+-]*\).*/\1:\2/p' "$1" | tr '\n' ' '; }
scores() { sed -n 's/.*Test net output #0: \([a-z]* = [0-9.]*\).*/\1/p' "$1" | tail -1; }
run_training() {
  local pair net solver place other flags name
  if [ ! -d "$here/examples/mnist/mnist_train_lmdb" ]; then
    say "training: this bundle has no data (make_gpu_bundle.sh --data)"
    return
  fi
  for pair in lenet/solver lenet/solver_fp16 cifar10_quick/solver cifar10_quick/solver_fp16; do
    net=$(dirname "$pair")
    for place in gpu cpu; do
      name=train_${pair//\//_}_$place
      flags=()
      if [ "$place" = gpu ]; then flags=(-gpu 0); fi
      solver=$(short_solver "models/$pair.prototxt" "$work/$name" "$place")
      step "$name" 120 bin/caffe train -solver "$solver" "${flags[@]}" -threads 8 || continue
      say "$(printf '%-28s %-4s %s %s' "$pair" "$place" "$(losses "$out/logs/$name.log")" \
        "$(scores "$out/logs/$name.log")")"
    done
    for place in gpu cpu; do  # where the second half is computed
      name=resume_${pair//\//_}_$place
      flags=() other=gpu
      if [ "$place" = gpu ]; then flags=(-gpu 0) other=cpu; fi
      solver=$(short_solver "models/$pair.prototxt" "$work/$name" "$place")
      step "$name" 120 bin/caffe train -solver "$solver" "${flags[@]}" -threads 8 \
        -snapshot "$work/train_${pair//\//_}_${other}_iter_200.solverstate" || continue
      say "$(printf '%-28s %-4s %s %s' "  from the $other's snapshot" "$place" \
        "$(losses "$out/logs/$name.log")" "$(scores "$out/logs/$name.log")")"
    done
  done
}

run_engines() {
  local net batch precision weights flags name median
  say "$(printf '%-16s %6s %-6s %12s %12s' net batch engine 'median, ms' 'images/s')"
  for net in "${models[@]}"; do
    weights=$(weights_of "$net") || continue
    for batch in "${sizes[@]}"; do
      for precision in "${types[@]}"; do
        mapfile -t flags < <(type_flags "$precision")
        name=engine_${net}_${batch}_$precision
        step "$name" 120 bin/caffe_exec --deploy="models/$net/deploy.prototxt" --model="$weights" \
          --batch="$batch" "${flags[@]}" --device=0 --noDataTransfers --iterations=20 --duration=1 \
          --timingCacheFile="$work/timing" --dumpProfile --separateProfileRun || continue
        median=$(sed -n 's/.*GPU Compute Time.*median = \([0-9.]*\) ms.*/\1/p' "$out/logs/$name.log" | tail -1)
        say "$(printf '%-16s %6s %-6s %12s %12s' "$net" "$batch" "$precision" "${median:--}" \
          "$(awk -v n="$batch" -v t="${median:-0}" 'BEGIN { if (t > 0) printf "%.0f", 1000 * n / t }')")"
      done
    done
  done
}

run_steps() {
  local net type name
  say "$(printf '%-16s %-8s %s' net type 'steps, ms')"
  for net in bvlc_alexnet resnet50; do
    for type in FLOAT FLOAT16; do
      name=step_${net}_$type
      step "$name" 150 bash -c "echo 3 10 | tr ' ' '\n' | bin/net_benchmark -deploy models/$net/deploy.prototxt \
        -train models/$net/train_val.prototxt -batch 256 -type $type -gpu 0" || continue
      say "$(printf '%-16s %-8s %s' "$net" "$type" "$(tail -1 "$out/logs/$name.log" | cut -c1-120)")"
    done
  done
}

run_peers() {
  python3 -c 'import torch' 2> /dev/null || { say "peers: python3 has no PyTorch"; return; }
  LD_LIBRARY_PATH=$python_path step peers 600 python3 peers.py --models models --nets "$(IFS=,; echo "${models[*]}")" \
    --batches "$batches" --seconds "$(left 560)"
  grep -E '^(peak|engine|step) ' "$out/logs/peers.log" | tee -a "$out/results.txt"
}

for name in "${steps[@]}"; do
  say "--- $name, after $SECONDS s"
  "run_$name"
done

say "--- end, after $SECONDS s"
[ "$skipped" -eq 0 ] || say "$skipped skipped"
say "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
