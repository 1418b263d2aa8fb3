#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test. The last line is "N passed, N failed".
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/test.sh [--filter PATTERN] [--build-dir DIR] [--sanitize address|undefined|thread]

  --filter PATTERN   only the unit tests whose names fit, as GoogleTest's --gtest_filter: seconds
  --build-dir DIR    where to build (default: build)
  --sanitize WHAT    build with a sanitizer, in a folder of its own
  --werror           treat compiler warnings as errors

example:
  scripts/test.sh --filter 'Float16*'
TEXT
}

root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build
filter=
options=()
while [ $# -gt 0 ]; do
  case $1 in
    --filter) filter=${2:?}; shift 2 ;;
    --build-dir) build=${2:?}; shift 2 ;;
    --sanitize) build=$root/build-$2; options+=("-DSANITIZE=$2" -DCMAKE_BUILD_TYPE=RelWithDebInfo); shift 2 ;;
    --werror) options+=(-DCAFFE_WERROR=ON); shift ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 1 ;;
  esac
done

"$root/scripts/install_dependencies.sh"
"$root/scripts/build.sh" "$build" "${options[@]}"

if [ -n "$filter" ]; then
  exec "$build/caffe_tests" --gtest_filter="$filter"
fi

logs=$build/test-logs
rm -rf "$logs"
mkdir -p "$logs"
passed=0 failed=0 skipped=0

# The unit tests, one part on each core; a part that ends without its summary has crashed.
shards=$(nproc)
for ((i = 0; i < shards; ++i)); do
  OMP_NUM_THREADS=2 GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$i \
    "$build/caffe_tests" --gtest_color=no > "$logs/unit-$i.log" 2>&1 &
done
wait || true
count() { sed -n "s/^$1/\1/p" "$2" | tail -n 1; }
for log in "$logs"/unit-*.log; do
  ran=$(count '\[  PASSED  \] \([0-9]*\) test.*' "$log")
  bad=$(count '\[  FAILED  \] \([0-9]*\) test.*' "$log")
  out=$(count '\[  SKIPPED \] \([0-9]*\) test.*' "$log")
  if [ -z "$ran" ]; then
    echo "the unit tests crashed; the end of $log:"
    tail -n 20 "$log"
    bad=$((${bad:-0} + 1))
  fi
  grep -E '^\[  FAILED  \] [A-Za-z]' "$log" | sort -u || true
  grep -A12 -E ': Failure$' "$log" | head -n 200 || true
  passed=$((passed + ${ran:-0})) failed=$((failed + ${bad:-0})) skipped=$((skipped + ${out:-0}))
done

# Programs, scripts and the install tree: one test a file.
for test in "$root"/scripts/tests/*.sh; do
  name=$(basename "$test" .sh)
  if "$test" "$root" "$build" > "$logs/$name.log" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $name"
    tail -n 20 "$logs/$name.log"
  fi
done

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
