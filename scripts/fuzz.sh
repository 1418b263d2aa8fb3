#!/usr/bin/env bash
# Builds the fuzz targets with Clang, libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer, and
# runs them, and those of writers in Python. Goes on after a finding; the last line says which targets
# have some.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/fuzz.sh [TARGET] [SECONDS]

  TARGET    a file of fuzz/targets/ without its extension, onnx_writer, or "all" (default)
  SECONDS   how long each target runs (default 60)

Builds in build-fuzz. What was learned stays in build-fuzz/corpus/TARGET, inputs that were found in
build-fuzz/findings/TARGET. CXX names the compiler (default: clang++). onnx_writer needs no build, but
the Python package onnx; PYTHON names the interpreter (default: python3).

example:
  scripts/fuzz.sh net_prototxt 600
TEXT
}

case ${1:-} in
  -h | --help) usage; exit 0 ;;
esac
[ $# -le 2 ] || { usage >&2; exit 1; }
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build-fuzz
seconds=${2:-60}
target=${1:-all}
compiled=() scripts=()
for file in "$root"/fuzz/targets/*.cpp; do compiled+=("$(basename "$file" .cpp)"); done
case $target in
  all) scripts=(onnx_writer) ;;
  onnx_writer) scripts=("$target") compiled=() ;;
  *)
    [ -f "$root/fuzz/targets/$target.cpp" ] || {
      echo "fuzz.sh: there is no target $target: ${compiled[*]} onnx_writer" >&2
      exit 1
    }
    compiled=("$target")
    ;;
esac

if [ ${#compiled[@]} -gt 0 ]; then
  cxx=${CXX:-clang++}
  command -v "$cxx" > /dev/null || {
    echo "fuzz.sh: $cxx was not found: install clang, or name a Clang in CXX" >&2
    exit 1
  }
  CC=${CC:-${cxx/clang++/clang}} CXX=$cxx TARGETS=fuzzers "$root/scripts/build.sh" "$build" \
    -DBUILD_FUZZERS=ON -DSANITIZE=address,undefined -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DUSE_CUDA=OFF -DBUILD_TESTING=OFF -DBUILD_python=OFF
  "$root/fuzz/make_corpus.sh" "$build" "$build/corpus"
fi

# Folders of processes that a finding ends.
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
# Leaks are not looked for: libraries keep what they read for the life of the process.
export ASAN_OPTIONS=detect_leaks=0 OMP_NUM_THREADS=1

found=()
for name in "${compiled[@]}"; do
  program=$build/fuzz/fuzz_$name
  [ -x "$program" ] || { echo "== fuzz: $name is not built: a library is missing"; continue; }
  echo "== fuzz: $name"
  mkdir -p "$build/corpus/$name" "$build/findings/$name"
  regressions=("$root/fuzz/regressions/$name")
  [ -d "${regressions[0]}" ] || regressions=()
  # Seconds and MiB that an input may take.
  "$program" "$build/corpus/$name" "${regressions[@]}" -max_total_time="$seconds" -timeout=10 \
    -rss_limit_mb=2048 -malloc_limit_mb=1024 -max_len=65536 -print_final_stats=1 \
    -artifact_prefix="$build/findings/$name/" || found+=("$name")
done
python=${PYTHON:-python3}
for name in "${scripts[@]}"; do
  "$python" -c 'import onnx' 2> /dev/null || {
    echo "== fuzz: $name is left out: the Python package onnx is not installed"
    continue
  }
  echo "== fuzz: $name"
  regressions=("$root/fuzz/regressions/$name")
  [ -d "${regressions[0]}" ] || regressions=()
  "$python" "$root/fuzz/$name.py" "$root/fuzz/seeds/nets" "$root/models" "${regressions[@]}" \
    -seconds "$seconds" -findings "$build/findings/$name" || found+=("$name")
done
if [ ${#found[@]} -gt 0 ]; then
  echo "findings: ${found[*]}"
  exit 1
fi
ran=("${compiled[@]}" "${scripts[@]}")
echo "no findings: ${ran[*]}"
