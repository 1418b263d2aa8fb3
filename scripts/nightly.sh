#!/usr/bin/env bash
# What takes too long for every change: all tests with other random numbers and the slow ones among them,
# the unit tests with sanitizers and under valgrind, a build with precompiled headers, the fuzz targets,
# kills of trainings, ranks that fail, what runs for long, and busy cores. Goes on after a failure; the
# last line says what failed.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/nightly.sh [PART...]

  tests        all tests, with random seeds and CAFFE_SLOW_TESTS=1
  address      the unit tests with AddressSanitizer and UndefinedBehaviorSanitizer
  thread       the unit tests with ThreadSanitizer; needs Clang
  memcheck     the unit tests of what reads files under valgrind (scripts/memcheck.sh)
  precompiled  all programs, with precompiled headers and without a compiler cache
  fuzz         the fuzz targets, a minute each (scripts/fuzz.sh); needs Clang
  kills        1000 kills at random moments of a training (scripts/tests/kills.sh), after a build
  ranks        ranks killed, stopped and cut off, 20 rounds (scripts/tests/failing_ranks.sh), after a build
  soak         an engine, a training and nets in Python for half an hour (scripts/soak.sh), after a build
  busy         what cores that others want cost (benchmarks/busy_cores/run.py), after a build

Without PART: all of them.

example:
  scripts/nightly.sh tests precompiled
TEXT
}

root=$(cd "$(dirname "$0")/.." && pwd)
# run_part's status is looked at, so that `set -e` does not hold in it: what follows a build follows &&.
build() { TARGETS="all $*" "$root/scripts/build.sh" "$root/build"; }
run_part() {
  case $1 in
    tests) CAFFE_SLOW_TESTS=1 CAFFE_TEST_SEED=random "$root/scripts/test.sh" --werror ;;
    address) "$root/scripts/test.sh" --sanitize address,undefined ;;
    thread) "$root/scripts/test.sh" --sanitize thread ;;
    memcheck) "$root/scripts/memcheck.sh" ;;
    precompiled)
      CCACHE_DISABLE=1 TARGETS="all benchmarks" "$root/scripts/build.sh" \
        "$root/build-precompiled" -DCAFFE_PCH=ON -DCAFFE_UNITY=ON -DUSE_CUDA=OFF -DCAFFE_WERROR=ON ;;
    fuzz) "$root/scripts/fuzz.sh" all 60 ;;
    kills)
      build && KILLS=1000 CAFFE_TEST_SEED=random "$root/scripts/tests/kills.sh" "$root" "$root/build" ;;
    ranks)
      build && ROUNDS=20 RANK_TIMEOUT=20 CAFFE_TEST_SEED=random \
        "$root/scripts/tests/failing_ranks.sh" "$root" "$root/build" ;;
    soak) build engine_soak && "$root/scripts/soak.sh" --together 1800 ;;
    busy) build && "$root/benchmarks/busy_cores/run.py" --rounds 5 ;;
  esac
}

all=(tests address thread memcheck precompiled fuzz kills ranks soak busy)
parts=("$@")
for part in "${parts[@]}"; do
  case $part in
    -h | --help) usage; exit 0 ;;
  esac
  [[ " ${all[*]} " == *" $part "* ]] || { usage >&2; exit 1; }
done
[ ${#parts[@]} -gt 0 ] || parts=("${all[@]}")

failed=()
for part in "${parts[@]}"; do
  echo "== nightly: $part"
  run_part "$part" || failed+=("$part")
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "failed: ${failed[*]}"
  exit 1
fi
echo "all passed: ${parts[*]}"
