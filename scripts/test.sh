#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test. The last line is "N passed, N failed", and
# ", N skipped" where some could not run here.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/test.sh [--quick] [--filter PATTERN] [--build-dir DIR] [--sanitize WHAT] [--werror]
                       [--from-scratch]

  --quick            without slow tests and most of the programs' scripts: minutes
  --filter PATTERN   only the unit tests whose names fit, as GoogleTest's --gtest_filter: seconds
  --build-dir DIR    where to build (default: build)
  --sanitize WHAT    the unit tests but for slow ones with sanitizers, address,undefined or thread
                     (which needs Clang); where --build-dir does not say, built in build-WHAT
  --werror           treat compiler warnings as errors
  --from-scratch     compile files together, with precompiled headers, though there is a compiler
                     cache: half the time where that cache is empty

example:
  scripts/test.sh --filter 'Float16*'
TEXT
}

die() {
  echo "test.sh: $*" >&2
  exit 1
}

# What runs in the background does not hear of Ctrl-C.
trap 'trap "" TERM; kill 0; exit 130' INT

root=$(cd "$(dirname "$0")/.." && pwd)
source "$root/scripts/tests/lib/sanitizers.sh"
source "$root/scripts/tests/lib/shards.sh"
build=
filter=
quick=
sanitize=
options=()
while [ $# -gt 0 ]; do
  case $1 in
    --filter | --build-dir | --sanitize) [ $# -ge 2 ] || die "$1 needs a value; --help shows how" ;;
  esac
  case $1 in
    --quick) quick=1; shift ;;
    --filter) filter=$2; shift 2 ;;
    --build-dir) mkdir -p "$2"; build=$(cd "$2" && pwd); shift 2 ;;
    --sanitize)
      sanitize=$2
      build=${build:-$root/build-${2//,/-}}
      shift 2 ;;
    --werror) options+=(-DCAFFE_WERROR=ON); shift ;;
    --from-scratch) options+=(-DCAFFE_PCH=ON -DCAFFE_UNITY=ON); shift ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 1 ;;
  esac
done
build=${build:-$root/build}
# Where there is no GPU that the tests could run on, one architecture shows that it compiles.
nvidia-smi -L > /dev/null 2>&1 || options+=(-DCMAKE_CUDA_ARCHITECTURES=90)

export CMAKE_GENERATOR=Ninja # of the projects that tests build: make need not be here

passed=0 failed=0 skipped=0
logs=$build/test-logs

# What one run of the unit tests came to, from its log and exit status. A run that ended without its
# summary has crashed in the test that it began last.
count() { grep -c "^\[ *$1 *\] .*(.*ms)$" "$2" || true; }
add_unit_tests() {
  local log=$1 status=$2 bad
  bad=$(count FAILED "$log")
  passed=$((passed + $(count OK "$log"))) skipped=$((skipped + $(count SKIPPED "$log")))
  if ! grep -q '^\[==========\] .* ran\.' "$log"; then
    echo "CRASHED (status $status): $(grep '^\[ RUN' "$log" | tail -n 1); the end of $log:"
    tail -n 20 "$log"
    bad=$((bad + 1))
  elif [ "$status" != 0 ] && [ "$bad" = 0 ]; then
    echo "the unit tests ended with status $status; the end of $log:"
    tail -n 20 "$log"
    bad=1
  elif [ "$bad" != 0 ]; then
    # Each failed test from its start to its end.
    awk '/^\[ RUN / { text = "" } { text = text $0 "\n" }
         /^\[  FAILED  \] .*ms\)$/ { printf "%s", text }' "$log" | sed -n '1,300p'
  fi
  failed=$((failed + bad))
}

# One process a core, with a filter one in all, each with two threads: what runs in parallel has to be
# tested in parallel. A sanitizer's report ends its process: with it goes a fortieth of the tests.
run_unit_tests() {
  local i tests=${filter:-*} shards=0
  [ -z "$sanitize" ] || shards=40
  [ -z "$filter" ] || shards=1
  if [ -n "$sanitize" ]; then
    case $tests in
      *-*) tests+=: ;;
      *) tests+=- ;;
    esac
    tests+=$(sanitizer_skips "$sanitize")
  fi
  OMP_NUM_THREADS=2 in_shards "$shards" "$logs/unit" \
    "$build/caffe_tests" --gtest_color=no --gtest_filter="$tests"
  for i in "${!shard_statuses[@]}"; do
    add_unit_tests "$logs/unit-$i.log" "${shard_statuses[i]}"
  done
}

# Programs, scripts and the install tree: one test a file, called with the root and the build folder.
# Its status goes to a file; 77 says that it cannot run here.
run_script() {
  local name status=0
  name=$(basename "$1" .sh)
  title "$name"
  CAFFE_TEST_MINUTES=$((SECONDS / 60)) "$1" "$root" "$build" > "$logs/$name.log" 2>&1 < /dev/null ||
    status=$?
  echo "$status" > "$logs/$name.status"
  case $status in
    0) sed -n "s/^note: /$name: /p" "$logs/$name.log" ;;
    77) ;;
    *)
      echo "FAILED (status $status): scripts/tests/$name.sh; the end of $logs/$name.log:"
      tail -n 20 "$logs/$name.log" ;;
  esac
}

# One a core, four at most: much of what they do waits, or has one thread.
run_scripts() {
  local script status lanes
  lanes=$(nproc)
  [ "$lanes" -le 4 ] || lanes=4
  for script; do
    wait_for_turn "$lanes"
    run_script "$script" &
  done
  wait
  for script; do
    status=$(cat "$logs/$(basename "$script" .sh).status" 2> /dev/null || echo none)
    case $status in
      0) passed=$((passed + 1)) ;;
      77) skipped=$((skipped + 1)) ;;
      *)
        [ "$status" != none ] || echo "FAILED: $script was ended from outside"
        failed=$((failed + 1)) ;;
    esac
  done
}

if [ -n "$quick" ]; then
  export CAFFE_SLOW_TESTS=0 CAFFE_TEST_PACKAGES=0
fi
if [ -n "$sanitize" ]; then
  "$root/scripts/install_dependencies.sh" --sanitizers || "$root/scripts/install_dependencies.sh"
  why=$(why_unsanitized "$sanitize")
  [ -z "$why" ] || die "--sanitize $sanitize: $why"
  sanitizer_options "$sanitize"
  sanitizer_environment
  export CAFFE_SLOW_TESTS=${CAFFE_SLOW_TESTS:-0}
  targets=caffe_tests
elif [ -n "$filter" ]; then
  "$root/scripts/install_dependencies.sh"
  targets=caffe_tests
elif [ -n "$quick" ]; then
  "$root/scripts/install_dependencies.sh"
  targets=all
else
  "$root/scripts/install_dependencies.sh" --tests || {
    echo "test.sh: what only tests need could not be installed: some of them are skipped"
    "$root/scripts/install_dependencies.sh"
  }
  targets="all benchmarks"  # these are not in "all", and should compile all the same
fi
TARGETS=$targets "$root/scripts/build.sh" "$build" "${options[@]}"

rm -rf "$logs"
mkdir -p "$logs"
title "Unit tests"
run_unit_tests
if [ -n "$filter$sanitize" ]; then
  scripts=()
elif [ -n "$quick" ]; then
  scripts=("$root"/scripts/tests/{python,flags,progress,watch_blobs}.sh)
else
  # The quick start configures and builds where the others run: alone. Then those that take long on one
  # core.
  scripts=("$root"/scripts/tests/{quickstart,python,failing_ranks}.sh)
  for script in "$root"/scripts/tests/*.sh; do
    [[ " ${scripts[*]} " == *" $script "* ]] || scripts+=("$script")
  done
  run_scripts "${scripts[0]}"
  scripts=("${scripts[@]:1}")
fi
run_scripts "${scripts[@]}"

[ $((passed + failed + skipped)) -gt 0 ] || echo "no test is called like '$filter'"
if [ "$skipped" != 0 ]; then
  echo "$passed passed, $failed failed, $skipped skipped"
else
  echo "$passed passed, $failed failed"
fi
[ "$failed" = 0 ] && [ $((passed + skipped)) != 0 ]
