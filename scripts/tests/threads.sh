#!/usr/bin/env bash
# How long OpenMP's threads wait for work before they sleep: libcaffe's setting, in its programs, in
# programs that link the installed library, and in Python; what the user says goes before it.
set -euo pipefail
root=$1 build=$2
source "$root/scripts/tests/lib/common.sh"
unset OMP_WAIT_POLICY GOMP_SPINCOUNT OMP_NUM_THREADS
if ! ldd "$caffe" | grep -q libgomp; then
  echo "skipped: this build's OpenMP is not libgomp"
  exit 77
fi

# says COUNT COMMAND...: libgomp's description of its settings has this count.
says() {
  local count=$1
  shift
  runs env OMP_DISPLAY_ENV=verbose "$@"
  has err.txt "GOMP_SPINCOUNT = '$count'"
}
# heeds COMMAND...: so with the library's setting, and with the user's.
heeds() {
  says 3000 "$@"
  says 777 env GOMP_SPINCOUNT=777 "$@"
  says 0 env OMP_WAIT_POLICY=passive "$@"
}

heeds "$caffe" layers
heeds "$build/tools/upgrade_net_proto_text" --help

cmake --install "$build" --prefix "$work/caffe" > /dev/null
cmake -S "$root/src/caffe/test/consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$work/caffe" \
  > out.txt
cmake --build "$work/consumer" --target consumer > out.txt
heeds "$work/consumer/consumer"
heeds "$work/caffe/bin/caffe" layers

python=$(sed -n 's/^_Python_EXECUTABLE:INTERNAL=//p' "$build/CMakeCache.txt")
sanitizer=$(sed -n 's/^SANITIZE:STRING=//p' "$build/CMakeCache.txt")
if [ -n "$python" ] && [ -z "$sanitizer" ] && ls "$root"/python/caffe/_caffe.*.so > /dev/null 2>&1; then
  export PYTHONPATH=$root/python PYTHONDONTWRITEBYTECODE=1
  heeds "$python" -c 'import caffe'
  # Child processes find the environment as the user left it.
  runs "$python" -c 'import caffe, os; os.execvp("env", ["env"])'
  lacks out.txt GOMP_SPINCOUNT
  runs env GOMP_SPINCOUNT=777 "$python" -c 'import caffe, os; os.execvp("env", ["env"])'
  has out.txt '^GOMP_SPINCOUNT=777$'
fi
