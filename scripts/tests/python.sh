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

# Packages for tests of exports, which skip without them. Where there are some already, those are taken.
requirements=$root/python/tests/requirements.txt
packages=$build/python-packages
if ! "$python" -c 'import onnxruntime, ai_edge_litert, tflite' 2> /dev/null &&
  ! cmp -s "$requirements" "$packages/installed.txt"; then
  rm -rf "$packages" "$build/python-venv"
  if "$python" -m venv "$build/python-venv" &&
    "$build/python-venv/bin/pip" install -q --disable-pip-version-check --no-deps \
      --target "$packages" -r "$requirements"; then
    cp "$requirements" "$packages/installed.txt"
  else
    echo "PyPI's packages cannot be had here: tests of exports are skipped"
    rm -rf "$packages"
  fi
fi

cd "$root"
PYTHONPATH=python
[ ! -d "$packages" ] || PYTHONPATH+=:$packages
export PYTHONPATH
OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive PYTHONDONTWRITEBYTECODE=1 \
  "$python" -m pytest -q -p no:cacheprovider python/tests --build "$build"
