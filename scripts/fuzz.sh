#!/usr/bin/env bash
# Builds the fuzz targets with Clang, libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer, runs
# them, and those of writers in Python, and prints a table of what each came to. Goes on after a finding;
# the last line says which targets have some.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/fuzz.sh [--jobs N] [TARGET[,TARGET...] [SECONDS [EXECUTIONS]]]

  TARGET       a file of fuzz/targets/ without its extension, onnx_writer, or "all" (default)
  SECONDS      how long each target runs (default 60)
  EXECUTIONS   and with how many inputs at most (default 1000000)
  --jobs N     how many targets run at a time (default 1); more than there are cores make the limit of
               10 seconds an input a tight one

Builds in build-fuzz. What was learned stays in build-fuzz/corpus/TARGET, inputs that were found in
build-fuzz/findings/TARGET, what a target printed in build-fuzz/logs/TARGET.txt. Seconds of the table
are processor time, with the seeds'. CXX names the compiler (default: clang++). onnx_writer needs no
build, but the Python package onnx; PYTHON names the interpreter (default: python3).

examples:
  scripts/fuzz.sh net_prototxt 600
  scripts/fuzz.sh --jobs 2 image,hdf5_data,hdf5_weights 7200
TEXT
}

die() {
  echo "fuzz.sh: $*" >&2
  exit 1
}

jobs=1
while [[ ${1:-} == -* ]]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --jobs) [ $# -ge 2 ] || die "--jobs needs a value"; jobs=$2; shift 2 ;;
    *) usage >&2; exit 1 ;;
  esac
done
[ $# -le 3 ] || { usage >&2; exit 1; }
target=${1:-all} seconds=${2:-60} executions=${3:-1000000}
for number in "$jobs" "$seconds" "$executions"; do
  [[ $number =~ ^[1-9][0-9]*$ ]] || die "'$number' is not a number above 0"
done
root=$(cd "$(dirname "$0")/.." && pwd)
source "$root/scripts/tests/lib/shards.sh"
build=$root/build-fuzz
all=()
for file in "$root"/fuzz/targets/*.cpp; do all+=("$(basename "$file" .cpp)"); done
all+=(onnx_writer)
compiled=() scripts=()
IFS=, read -ra wanted <<< "$target"
[ "$target" != all ] || wanted=("${all[@]}")
for name in "${wanted[@]}"; do
  [[ " ${all[*]} " == *" $name "* ]] || die "there is no target $name: ${all[*]}"
  if [ "$name" = onnx_writer ]; then scripts+=("$name"); else compiled+=("$name"); fi
done

if [ ${#compiled[@]} -gt 0 ]; then
  cxx=${CXX:-clang++}
  command -v "$cxx" > /dev/null || die "$cxx was not found: install clang, or name a Clang in CXX"
  # Files in one piece and lines alone of what debuggers want to know: half the time of a build.
  CC=${CC:-${cxx/clang++/clang}} CXX=$cxx TARGETS=fuzzers "$root/scripts/build.sh" "$build" \
    -DBUILD_FUZZERS=ON -DSANITIZE=address,undefined -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O2 -g1" -DCAFFE_PCH=ON -DCAFFE_UNITY=ON \
    -DUSE_CUDA=OFF -DBUILD_TESTING=OFF -DBUILD_python=OFF -DCAFFE_CPU_KERNELS=NATIVE
  "$root/fuzz/make_corpus.sh" "$build" "$build/corpus"
fi

# Folders of processes that a finding ends.
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
# Leaks are not looked for: libraries keep what they read for the life of the process. Where one asks
# for more than there is, it hears of it, as without AddressSanitizer.
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 OMP_NUM_THREADS=1
python=${PYTHON:-python3}
logs=$build/logs
mkdir -p "$logs" "$build/findings"

# Seconds and MiB that an input may take.
run_compiled() {
  local name=$1 sanitizer=$ASAN_OPTIONS
  shift
  # libhdf5 asks for as much as a file says that it has, and takes a refusal.
  [[ $name != hdf5_* ]] || sanitizer+=:max_allocation_size_mb=1024
  # libFuzzer's weighing of inputs by rare features costs two thirds of the time where there are many.
  ASAN_OPTIONS=$sanitizer "$build/fuzz/fuzz_$name" "$build/corpus/$name" "$@" -max_total_time="$seconds" -runs="$executions" \
    -entropic=0 -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=1024 -max_len=65536 -print_final_stats=1 \
    -artifact_prefix="$build/findings/$name/"
}

run_script() {
  local name=$1
  shift
  "$python" "$root/fuzz/$name.py" "$root/fuzz/seeds/nets" "$root/models" "$@" \
    -seconds "$seconds" -runs "$executions" -findings "$build/findings/$name"
}

# The row of a target's log: executions and what they reached. libFuzzer counts edges, the writers lines.
row() {
  local name=$1 processor=$2 status=$3 log=$logs/$1.txt ran reached findings=none
  ran=$(sed -n -e 's/^stat::number_of_executed_units: *//p' \
    -e "s/^$name: \([0-9]*\) executions .*/\1/p" "$log" | tail -n 1)
  reached=$(sed -n -e 's/^#.* cov: \([0-9]*\) .*/\1/p' \
    -e "s/^$name: .* executions .*; \([0-9]* of [0-9]* lines\).*/\1/p" "$log" | tail -n 1)
  [ "$status" = 0 ] || findings="some, in $build/findings/$name"
  printf '| %-20s | %10s | %7s | %18s | %s |\n' "\`$name\`" "${ran:-?}" "$processor" "${reached:-?}" "$findings"
}

# run_target HOW NAME: runs it, with its regressions among the seeds; leaves its row, and a file where
# it has findings.
run_target() {
  local how=$1 name=$2 status=0 regressions=("$root/fuzz/regressions/$2") TIMEFORMAT='%U %S'
  [ -d "${regressions[0]}" ] || regressions=()
  mkdir -p "$build/corpus/$name" "$build/findings/$name"
  echo "== fuzz: $name"
  { time "$how" "$name" "${regressions[@]}" > "$logs/$name.txt" 2>&1; } 2> "$TMPDIR/$name.time" || status=$?
  [ "$status" = 0 ] || {
    touch "$TMPDIR/$name.found"
    echo "== fuzz: $name: findings; the end of $logs/$name.txt:"
    tail -n 30 "$logs/$name.txt"
  }
  row "$name" "$(awk '{ printf "%.0f", $1 + $2 }' "$TMPDIR/$name.time")" "$status" > "$TMPDIR/$name.row"
}

ran=()
for name in "${compiled[@]}"; do
  [ -x "$build/fuzz/fuzz_$name" ] || {
    echo "== fuzz: $name is not built: a library is missing"
    continue
  }
  wait_for_turn "$jobs"
  run_target run_compiled "$name" &
  ran+=("$name")
done
for name in "${scripts[@]}"; do
  "$python" -c 'import onnx' 2> /dev/null || {
    echo "== fuzz: $name is left out: the Python package onnx is not installed"
    continue
  }
  wait_for_turn "$jobs"
  run_target run_script "$name" &
  ran+=("$name")
done
wait

[ ${#ran[@]} -gt 0 ] || die "nothing could run"
printf '| %-20s | %10s | %7s | %18s | %s |\n' target executions seconds 'edges (lines)' findings
printf '| --- | ---: | ---: | ---: | --- |\n'
found=()
for name in "${ran[@]}"; do
  if [ ! -f "$TMPDIR/$name.row" ]; then
    printf '| %-20s | ? | ? | ? | ended from outside |\n' "\`$name\`" > "$TMPDIR/$name.row"
    touch "$TMPDIR/$name.found"
  fi
  cat "$TMPDIR/$name.row"
  [ ! -e "$TMPDIR/$name.found" ] || found+=("$name")
done
if [ ${#found[@]} -gt 0 ]; then
  echo "findings: ${found[*]}"
  exit 1
fi
echo "no findings: ${ran[*]}"
