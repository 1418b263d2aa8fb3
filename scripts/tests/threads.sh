#!/usr/bin/env bash
# How long OpenMP's threads wait for work before they sleep, and which processor OpenBLAS computes for:
# libcaffe's settings, in its programs, in programs that link the installed library, and in Python;
# what the user says goes before them.
set -euo pipefail
root=$1 build=$2
source "$root/scripts/tests/lib/common.sh"
unset OMP_WAIT_POLICY GOMP_SPINCOUNT OMP_NUM_THREADS OPENBLAS_CORETYPE
ldd "$caffe" > libraries.txt
if ! grep -q libgomp libraries.txt; then
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

python=$(built_python)
sanitizer=$(sed -n 's/^SANITIZE:STRING=//p' "$build/CMakeCache.txt")
if [ -n "$python" ] && [ -z "$sanitizer" ] && ls "$root"/python/caffe/_caffe.*.so > /dev/null 2>&1; then
  export PYTHONPATH=$root/python PYTHONDONTWRITEBYTECODE=1
  heeds "$python" -c 'import caffe'
  # Child processes find the environment as the user left it.
  runs "$python" -c 'import caffe, os; os.execvp("env", ["env"])'
  lacks out.txt 'GOMP_SPINCOUNT\|OPENBLAS_CORETYPE'
  runs env GOMP_SPINCOUNT=777 "$python" -c 'import caffe, os; os.execvp("env", ["env"])'
  has out.txt '^GOMP_SPINCOUNT=777$'
  runs env OPENBLAS_CORETYPE=Haswell "$python" -c 'import caffe, os; os.execvp("env", ["env"])'
  has out.txt '^OPENBLAS_CORETYPE=Haswell$'
fi

# -threads holds for every command; without it OMP_NUM_THREADS does.
export GLOG_minloglevel=0
OMP_NUM_THREADS=3 runs "$caffe" device_query
has err.txt 'CPU threads:  *3$'
has err.txt 'CPU features:  *[a-z]'
has err.txt 'CPU kernels  *instruction set$'
has err.txt '8-bit integers  *[a-z0-9_]*$'
if grep -q 'by OpenBLAS' err.txt; then
  OPENBLAS_CORETYPE=Nehalem runs "$caffe" device_query
  has err.txt 'matrix products by OpenBLAS  *of Nehalem$'
fi
CAFFE_CPU_ISA=generic runs "$caffe" device_query
has err.txt 'elementwise loops  *generic$'
CAFFE_CPU_ISA=emulated_amx runs "$caffe" device_query
has err.txt 'matrix products in tiles  *emulated_amx$'
# A wrong name is refused whatever computes, and in every program.
no_set="CAFFE_CPU_ISA is 'avx3', no instruction set: this machine runs generic"
CAFFE_CPU_ISA=avx3 refuses "$no_set" "$caffe" device_query
small_net
CAFFE_CPU_ISA=avx3 refuses "$no_set" "$caffe" time -model net.prototxt -iterations 1
CAFFE_CPU_ISA=avx3 refuses "$no_set" "$build/tools/upgrade_net_proto_text" net.prototxt new.prototxt
OMP_NUM_THREADS=3 runs "$caffe" device_query -threads 2
has err.txt 'CPU threads:  *2$'
export GLOG_minloglevel=1
refuses '-threads must not be negative, got -1' "$caffe" device_query -threads -1
small_net
make_images 7 8
refuses '--cpuThreads must be 1 or more, got -1' "$build/tools/caffe_exec" --deploy=net.prototxt --cpuThreads=-1

# A plan remembers the threads that it was tuned for; other numbers run it, too.
runs "$caffe" build $net -plan latency.plan -threads 3
runs "$caffe" inspect -plan latency.plan
has out.txt ' of activations, tuned for 3 threads$'
runs "$caffe" build $net -plan throughput.plan -threads 3 -hint throughput
runs "$caffe" inspect -plan throughput.plan
has out.txt ' of activations, tuned for 1 thread$'
time_plan() { runs "$caffe" time -iterations 3 -threads 3 "$@"; }
time_plan -plan latency.plan
has out.txt "^engine 'small', batch 2, 3 runs, 3 threads$"
lacks out.txt '^note:'
time_plan -plan latency.plan -hint throughput
has out.txt "^engine 'small', batch 2, 9 runs, 3 at a time with 1 thread$"
has out.txt '^note: the plan was tuned for 3 threads, a run has 1 here:'
time_plan -plan throughput.plan -hint throughput
lacks out.txt '^note:'
refuses "no hint 'speed': give latency or throughput" "$caffe" time -plan latency.plan -hint speed

# Side by side or one after another, images have the same results in the same order.
infer() { runs "$caffe" infer -mean 100 -raw -plan latency.plan "$@" 0.png 1.png 2.png 3.png 4.png 5.png 6.png; }
infer
cp out.txt in_turn.txt
infer -threads 3 -hint throughput
cmp out.txt in_turn.txt
infer -threads 2 -hint throughput
cmp out.txt in_turn.txt
runs "$caffe" infer -mean 100 -raw -plan latency.plan -threads 2 -hint throughput -images list.txt
[ "$(sed 's/^.*(5): //' out.txt)" = "$(sed 's/^.*(5): //' in_turn.txt)" ] || fail 'the list gives others'
