#!/usr/bin/env bash
# Flags of the tools that programs and scripts of other Caffes give, and what a missing GPU and unknown
# fields come to.
set -euo pipefail
root=$1 build=$2
source "$1/scripts/tests/lib/common.sh"
export CUDA_VISIBLE_DEVICES= # a GPU that is here is not to be seen
unset CAFFE_GPU_FALLBACK

# Every tool says its version, in Caffe's words.
version=$(sed -n 's/^project(.*VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
[ -n "$version" ] || fail "CMakeLists.txt names no version"
for tool in "$build"/tools/*; do
  [ -x "$tool" ] && [ -f "$tool" ] && [ ! -L "$tool" ] || continue
  for flag in -version --version; do
    runs "$tool" $flag
    grep -qx "$(basename "$tool") version $version" out.txt || fail "$tool $flag"
  done
done

cat > net.prototxt <<'TEXT'
name: "tiny"
layer { name: "data" type: "DummyData" top: "data" top: "label" dummy_data_param {
  shape { dim: 4 dim: 3 } shape { dim: 4 } data_filler { type: "gaussian" }
  data_filler { type: "constant" value: 1 } } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
TEXT
solver() { echo "net: \"net.prototxt\" base_lr: 0.1 lr_policy: \"fixed\" max_iter: 2 snapshot_prefix: \"tiny\" $*"; }
solver > none.prototxt
solver solver_mode: CPU > cpu.prototxt
solver solver_mode: GPU > gpu.prototxt
runs "$caffe" train -solver cpu.prototxt
weights=tiny_iter_2.caffemodel

# -weights and -snapshot take the place of the weights that the solver names.
solver solver_mode: CPU 'weights: "gone.caffemodel"' > own.prototxt
refuses 'gone.caffemodel' "$caffe" train -solver own.prototxt
runs "$caffe" train -solver own.prototxt -weights $weights
runs "$caffe" train -solver own.prototxt -snapshot tiny_iter_2.solverstate

# What the first update would fail at is said before the first test, with the file.
solver solver_mode: CPU test_iter: 1 test_interval: 1 | sed 's/lr_policy: "fixed"//' > policy.prototxt
export GLOG_minloglevel=0
refuses '^caffe: policy.prototxt: lr_policy is missing' "$caffe" train -solver policy.prototxt
lacks err.txt 'Testing net'
export GLOG_minloglevel=1
solver solver_mode: CPU | sed 's#"tiny"#"no/folder/tiny"#' > nowhere.prototxt
refuses '^caffe: nowhere.prototxt: .*snapshot_prefix' "$caffe" train -solver nowhere.prototxt

# Without a GPU all that asks for one ends alike, with the ways out...
way_out="no GPU can be used: .*CAFFE_GPU_FALLBACK=1"
refuses "gpu.prototxt: solver_mode: GPU: $way_out" "$caffe" train -solver gpu.prototxt
for gpu in 0 0,1 all; do
  refuses "-gpu $gpu: $way_out" "$caffe" train -solver cpu.prototxt -gpu $gpu
  refuses "-gpu $gpu: $way_out" "$caffe" train -solver cpu.prototxt -gpus $gpu
done
refuses "-gpu 0: $way_out" "$caffe" test -model net.prototxt -weights $weights -gpu 0
refuses "-gpu 0: $way_out" "$caffe" time -model net.prototxt -gpu 0
refuses "-gpu 0: $way_out" "$caffe" build -model net.prototxt -weights $weights -plan x.plan -gpu 0
refuses "-gpu all: $way_out" "$caffe" device_query -gpu all
extract() { "$build/tools/extract_features" $weights net.prototxt ip "$1" 1 lmdb GPU 0 "${@:2}"; }
refuses "GPU: $way_out" extract ip_lmdb
refuses "--device 0: $way_out" "$build/tools/caffe_exec" --deploy=net.prototxt --device=0
# ... unless the flag or the environment lets the CPU compute in its place, with one warning.
falls_back() {
  runs "$@"
  [ "$(grep -c '^W.*no GPU can be used: .*The CPU computes in its place' err.txt)" = 1 ] ||
    fail "not one warning of: $*"
}
falls_back "$caffe" train -solver gpu.prototxt -gpu_fallback
falls_back "$caffe" train -solver cpu.prototxt -gpu 0,1 -gpu_fallback
export CAFFE_GPU_FALLBACK=1
falls_back "$caffe" train -solver gpu.prototxt
falls_back "$caffe" train -solver gpu.prototxt -gpu 0
falls_back "$caffe" test -model net.prototxt -weights $weights -gpu 0 -iterations 1
falls_back "$caffe" time -model net.prototxt -gpu all -iterations 1
falls_back "$caffe" build -model net.prototxt -weights $weights -plan x.plan -gpu 0 -timing_iterations 0
falls_back "$caffe" device_query -gpu 0
falls_back extract ip_lmdb
refuses "solver_mode: GPU: $way_out" "$caffe" train -solver gpu.prototxt -gpu_fallback=false
CAFFE_GPU_FALLBACK=yes refuses "CAFFE_GPU_FALLBACK=yes" "$caffe" train -solver gpu.prototxt
unset CAFFE_GPU_FALLBACK
# A solver that does not say which is trained on what is here, as before; -1 was the CPU of old.
for flags in "" "-gpu=-1" "-gpu -1"; do
  runs "$caffe" train -solver none.prototxt $flags
  lacks err.txt 'GPU'
done
runs "$caffe" train -solver gpu.prototxt -gpu=-1
refuses "-gpu 0 and -gpus 1 are two names" "$caffe" time -model net.prototxt -gpu 0 -gpus 1

# Intel's.
GLOG_minloglevel=0 runs "$caffe" time -model net.prototxt -iterations 1 -forward_only
has err.txt 'Average Forward pass:'
lacks err.txt '[Bb]ackward pass\|Performing Backward\|forward-backward'
GLOG_minloglevel=0 runs "$caffe" time -model net.prototxt -iterations 1 -engine REFERENCE
has err.txt $'ip\tforward: .*\tengine: reference'
refuses "engine 'FASTEST' is not known" "$caffe" time -model net.prototxt -engine FASTEST
GLOG_minloglevel=0 runs "$caffe" train -solver cpu.prototxt -engine REFERENCE
has err.txt '^engine: "REFERENCE"'
answers 1 "$caffe" test_detection -model net.prototxt -weights $weights -iterations 1
cp err.txt detection.txt
answers 1 "$caffe" test -detection -model net.prototxt -weights $weights -iterations 1
[ "$(tail -n 1 err.txt)" = "$(tail -n 1 detection.txt)" ] || fail "test -detection is not test_detection"

# Fields of a fork that this Caffe does not know, in nets and solvers.
{
  echo 'frobnication: "much"'
  sed 's/inner_product_param {/frob_param { kind: FAST list: [1, -2.5] deep < deeper { x: "}" } > } &/' net.prototxt
} > frob.prototxt
solver 'frob_lr: 0.5' | sed 's/net.prototxt/frob.prototxt/' > frob_solver.prototxt
refuses 'frob.prototxt:1:13: .*no field named "frobnication"' "$caffe" time -model frob.prototxt
refuses 'frob_solver.prototxt:1:.*no field named "frob_lr"' "$caffe" train -solver frob_solver.prototxt
warns() {
  [ "$(grep -c '^W' err.txt)" = $# ] || fail "not $# warnings"
  local line
  for line in "$@"; do has err.txt "^W.*$line"; done
}
runs "$caffe" time -model frob.prototxt -iterations 1 -ignore_unknown_fields
warns 'frob.prototxt:1:13: .*no field named "frobnication"' 'frob.prototxt:[67]:.*no field named "frob_param"'
runs "$caffe" train -solver frob_solver.prototxt -ignore_unknown_fields
has err.txt '^W.*frob_solver.prototxt:1:.*no field named "frob_lr"'
has err.txt '^W.*frob.prototxt:1:13: .*no field named "frobnication"'
runs "$build/tools/extract_features" $weights frob.prototxt ip frob_lmdb 1 lmdb -ignore_unknown_fields
refuses "frob.prototxt:1:13" "$build/tools/upgrade_net_proto_text" frob.prototxt new.prototxt
runs "$build/tools/upgrade_net_proto_text" frob.prototxt new.prototxt -ignore_unknown_fields
lacks new.prototxt frob
has new.prototxt 'num_output: 2'
runs "$build/tools/upgrade_solver_proto_text" frob_solver.prototxt new.prototxt -ignore_unknown_fields
lacks new.prototxt frob_lr
runs "$build/tools/upgrade_net_fp16" -input frob.prototxt -model $weights -output half.caffemodel -ignore_unknown_fields
# What files may ask for.
refuses 'net.prototxt: the text asks for .* and the limit (read_bytes) is 10 bytes.*-limits read_bytes=N' \
  "$caffe" time -model net.prototxt -limits read_bytes=10
refuses "layer '.*the limit (blob_bytes) is 8 bytes" "$caffe" time -model net.prototxt -limits untrusted,blob_bytes=8,layer_files=true
refuses "layer 'own' (Python): python_param names code.*the limit python_layers is false" \
  "$caffe" time -model <(echo "layer { name: 'own' type: 'Python' top: 'y' python_param { module: 'm' layer: 'L' } }") \
  -limits untrusted
refuses "^caffe: -limits: there is no limit 'layer'; did you mean 'layers'" "$caffe" time -model net.prototxt -limits layer=3
refuses "^caffe: -limits: limit layers=many: a number above 0" "$caffe" time -model net.prototxt -limits layers=many
refuses "the limit (read_bytes)" "$build/tools/upgrade_net_proto_text" frob.prototxt new.prototxt -limits read_bytes=10
refuses "the limit (read_bytes)" "$build/tools/upgrade_net_fp16" -input net.prototxt -model $weights -output half.caffemodel \
  -limits read_bytes=10
refuses "the limit (read_bytes)" "$build/tools/caffe_exec" --deploy=net.prototxt --limits=read_bytes=10
# A value that a known field does not have decides what is computed: it stays an error.
sed 's/"SoftmaxWithLoss"/& loss_param { normalization: FROB }/' net.prototxt > value.prototxt
refuses 'Unknown enumeration value.*FROB.*it may be BATCH_SIZE' "$caffe" time -model value.prototxt -ignore_unknown_fields
