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
cd "$root"
OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive PYTHONPATH=python PYTHONDONTWRITEBYTECODE=1 \
  "$python" -m pytest -q -p no:cacheprovider python/tests --build "$build"
