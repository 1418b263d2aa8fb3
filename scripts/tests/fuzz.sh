#!/usr/bin/env bash
# The fuzz targets on their seeds, on inputs that once went wrong, and on a few mutations of them.
set -euo pipefail
root=$1 build=$2
source "$1/scripts/tests/lib/common.sh"

if [ ! -x "$build/fuzz/make_seeds" ]; then
  echo "note: the fuzz targets are not built: cmake --build BUILD --target fuzzers"
  exit 77
fi
export TMPDIR=$work OMP_NUM_THREADS=1
runs "$root/fuzz/make_corpus.sh" "$build" corpus
for program in "$build"/fuzz/fuzz_*; do
  name=$(basename "$program")
  name=${name#fuzz_}
  inputs=("corpus/$name")
  [ ! -d "$root/fuzz/regressions/$name" ] || inputs+=("$root/fuzz/regressions/$name")
  [ -d "corpus/$name" ] || fail "no seeds of $name"
  mutations=(--mutate 200)
  case $name in
    hdf5_*) mutations=() ;; # libhdf5 itself does not bear them
  esac
  runs "$program" "${mutations[@]}" "${inputs[@]}"
done
for script in fuzz/make_corpus.sh scripts/fuzz.sh; do
  runs "$root/$script" --help
  has out.txt '^example:'
done
refuses 'there is no target frobnication: ' "$root/scripts/fuzz.sh" frobnication
echo "fuzz: passed"
