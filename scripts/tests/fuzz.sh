#!/usr/bin/env bash
# The fuzz targets on their seeds, on inputs that once went wrong, and on a few mutations of them.
set -euo pipefail
root=$1 build=$2
source "$1/scripts/tests/lib/common.sh"

# Packages that python.sh has fetched whole, for its interpreter.
python=$(built_python)
python=${python:-python3} packages=$build/python-packages
[ ! -e "$packages/installed.txt" ] || export PYTHONPATH=$packages${PYTHONPATH:+:$PYTHONPATH}
if "$python" -c 'import onnx' 2> /dev/null; then
  inputs=("$root/fuzz/seeds/nets")
  [ ! -d "$root/fuzz/regressions/onnx_writer" ] || inputs+=("$root/fuzz/regressions/onnx_writer")
  runs "$python" "$root/fuzz/onnx_writer.py" "${inputs[@]}" -runs 300 -seconds 900
  has out.txt '^onnx_writer: 300 executions .* types written'
  has out.txt '^onnx_writer: no findings'
  refuses 'onnx_writer: no nets in ' "$python" "$root/fuzz/onnx_writer.py" "$root/scripts"
else
  echo "note: onnx_writer is left out: the Python package onnx is not installed"
fi
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
  has out.txt '^examples\?:'
done
refuses 'there is no target frobnication: ' "$root/scripts/fuzz.sh" frobnication
echo "fuzz: passed"
