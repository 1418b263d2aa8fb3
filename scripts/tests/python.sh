#!/usr/bin/env bash
# The Python package, with pytest: its module as the build made it.
set -euo pipefail
root=$1 build=$2
python=$(sed -n 's/^_Python_EXECUTABLE:INTERNAL=//p' "$build/CMakeCache.txt")
if ! ls "$root"/python/caffe/_caffe.*.so > /dev/null 2>&1 || [ -z "$python" ]; then
  echo "skipped: this build has no Python module"
  exit 77
fi
if grep -q '^SANITIZE:STRING=.\+' "$build/CMakeCache.txt"; then
  echo "skipped: a module with a sanitizer does not load into an interpreter without"
  exit 77
fi
if ! "$python" -c 'import pytest'; then
  echo "skipped: $python has no pytest (Debian: python3-pytest)"
  exit 77
fi

# Tests of exports need packages of PyPI, and skip without them. They are fetched once, into the build
# folder; where the interpreter has its own, those are taken.
requirements=$root/python/tests/requirements.txt
packages=$build/python-packages
imports='import ai_edge_litert.interpreter, flatbuffers, onnx, onnxruntime, tflite'

# No sources, which would take long to compile; no dependencies, which would hide Debian's numpy and
# protobuf. Without a network pip gives up soon.
fetch_packages() {
  rm -rf "$packages" "$packages.venv"
  timeout 240 "$python" -m venv "$packages.venv" &&
    timeout 240 "$packages.venv/bin/pip" install -q --disable-pip-version-check --no-input --retries 1 \
      --timeout 20 --no-deps --only-binary :all: --target "$packages" -r "$requirements" &&
    echo "$wanted" > "$packages/installed.txt"
}

# Sets `path`, what PYTHONPATH is for the tests.
find_packages() {
  path=python
  PYTHONPATH='' "$python" -c "$imports" 2> /dev/null && return
  if [ "${CAFFE_TEST_PACKAGES:-1}" = 0 ]; then
    echo "note: CAFFE_TEST_PACKAGES=0: tests of exports to ONNX and LiteRT are skipped"
    return
  fi
  wanted=$("$python" -VV && cat "$requirements")
  if [ "$(cat "$packages/installed.txt" 2> /dev/null)" != "$wanted" ]; then
    if ! fetch_packages; then
      rm -rf "$packages" "$packages.venv"
      echo "note: PyPI's packages cannot be had: tests of exports to ONNX and LiteRT are skipped"
      return
    fi
    rm -rf "$packages.venv"
  fi
  if PYTHONPATH=$packages "$python" -c "$imports"; then
    path=python:$packages
  else
    echo "note: python/tests/requirements.txt does not go with $python:" \
      "tests of exports to ONNX and LiteRT are skipped"
  fi
}

find_packages
cd "$root"
OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive PYTHONPATH=$path PYTHONDONTWRITEBYTECODE=1 \
  "$python" -m pytest -q -p no:cacheprovider python/tests --build "$build"
