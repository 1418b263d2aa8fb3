#!/usr/bin/env bash
# The unit tests of what reads files under valgrind's memcheck, which finds uses of memory that nothing
# has been written to. Builds them without sanitizers.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/memcheck.sh [--build-dir DIR | --program FILE] [--filter PATTERN]

  --build-dir DIR    where to build (default: build)
  --program FILE     a caffe_tests that has been built, without sanitizers
  --filter PATTERN   other unit tests, as GoogleTest's --gtest_filter

example:
  scripts/memcheck.sh --filter 'Npy*'
TEXT
}

die() {
  echo "memcheck.sh: $*" >&2
  exit 1
}

root=$(cd "$(dirname "$0")/.." && pwd)
source "$root/scripts/tests/lib/shards.sh"
build=$root/build
program=
# Weights, records, images, arrays, texts and plans; what upgrades and converts them.
readers=(
  'Caffemodel*' 'BatchNormForms.*' 'BatchNormWeights.*' 'ForkFields.*' 'Proto*' 'Upgrade*' 'ParamStr.*'
  '*DatabaseTest*' 'DatabaseBackendTest.*' 'LMDBTest.*' 'Cursor.*' 'DataReader.*' 'Hdf5.*' 'NetHdf5.*'
  'HDF5DataLayer*' 'ImageSize.*' 'ImageTest.*' 'ImageFiles.*' 'Npy*' 'ReadMeanImage.*' '*Annotations.*'
  'LabelMaps.*' 'Readers.*' 'DamagedPlans.*' 'PlanSafety.*' 'PlanIntegers.*' 'PlanArena.*'
  '*CalibrationTable.*' 'BadTables.*' 'NcnnTable.*' 'TensorRtCache.*' 'CalibrationCache.*' 'TimingCache.*'
  'Limits.*' 'Resume.*'
)
# What takes minutes there: files of gigabytes, and images that say that they are.
long=(CaffemodelDamage.HeadersWithoutEndAreAnError '*DatabaseTest.GrowsAsNeeded*' ImageSize.BombsAreNotDecoded)
filter=$(IFS=:; echo "${readers[*]}-${long[*]}")
while [ $# -gt 0 ]; do
  case $1 in
    --build-dir | --program | --filter) [ $# -ge 2 ] || die "$1 needs a value; --help shows how" ;;
  esac
  case $1 in
    --build-dir) mkdir -p "$2"; build=$(cd "$2" && pwd); shift 2 ;;
    --program) program=$2; shift 2 ;;
    --filter) filter=$2; shift 2 ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 1 ;;
  esac
done
if ! command -v valgrind > /dev/null; then
  "$root/scripts/install_dependencies.sh" --sanitizers || die "valgrind was not found"
fi
if [ -z "$program" ]; then
  TARGETS=caffe_tests "$root/scripts/build.sh" "$build"
  program=$build/caffe_tests
fi

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
# Valgrind 3.19 has no AVX-512, and says so: the library takes AVX2. Leaks are AddressSanitizer's matter,
# and so is memory that is given back in another way than it was taken: tests that replace operator new
# and delete have half of them replaced again by valgrind, which then reports each block.
export OMP_NUM_THREADS=1 CAFFE_SLOW_TESTS=0
pass_in_shards "$logs/memcheck" valgrind --quiet --leak-check=no --show-mismatched-frees=no \
  --error-limit=no --error-exitcode=1 --num-callers=30 \
  --suppressions="$root/scripts/tests/lib/memcheck.supp" \
  "$program" --gtest_color=no --gtest_brief=1 --gtest_filter="$filter"
echo "memcheck: no error in $(awk '/^\[==========\] .* ran\./ { count += $2 } END { print +count }' "$logs"/*) tests"
