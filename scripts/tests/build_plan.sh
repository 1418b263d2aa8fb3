#!/usr/bin/env bash
# caffe build and caffe inspect on the command line: what they write and print, and how they refuse
# bad input.
set -euo pipefail
build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
caffe=$build/tools/caffe
export GLOG_minloglevel=1

fail() {
  echo "$1"
  cat out.txt err.txt
  exit 1
}
# has FILE TEXT: the file has a line with this pattern.
has() { grep -q -- "$2" "$1" || fail "no '$2' in $1"; }
# refuses WANTED ARGUMENTS...: status 1, and the last line of stderr says WANTED.
refuses() {
  local wanted=$1 status=0
  shift
  "$caffe" "$@" > out.txt 2> err.txt || status=$?
  [ $status = 1 ] || fail "status $status of: $*"
  tail -n 1 err.txt | grep -q -- "$wanted" || fail "no '$wanted' from: $*"
}

# A caffemodel without blobs keeps the fillers' values.
cat > net.prototxt <<'TEXT'
name: "small"
layer { name: "data" type: "Input" top: "data"
  input_param { shape { dim: 2 dim: 3 dim: 8 dim: 8 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "bn" type: "BatchNorm" bottom: "conv" top: "conv" }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "drop" type: "Dropout" bottom: "conv" top: "conv" }
layer { name: "fc" type: "InnerProduct" bottom: "conv" top: "fc"
  inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
layer { name: "prob" type: "Softmax" bottom: "fc" top: "prob" }
TEXT
printf '\n\005small' > net.caffemodel
net="-model net.prototxt -weights net.caffemodel"

"$caffe" build --help > out.txt
has out.txt 'usage: caffe build'
"$caffe" --help > out.txt
has out.txt 'caffe build --help'

"$caffe" build -list_passes > out.txt 2> err.txt
has out.txt '^affine  *BatchNorm, Scale'
passes=$(wc -l < out.txt)

"$caffe" build $net -plan net.plan -dump_passes passes > out.txt 2> err.txt
has out.txt 'wrote net.plan: 6 layers became 3'
[ "$(find passes -name '*.txt' | wc -l)" = $((passes + 1)) ] || fail 'not a text for each pass'
has passes/00_parsed.txt '^drop = Dropout'
has passes/02_identities.txt '^bn = BatchNorm'
has passes/05_affine.txt '^relu = ReLU'
has passes/08_activations.txt '^conv = Convolution(data) \[4x3x3x3, 4\] + ReLU -> conv: 2x4x6x6'
has passes/08_activations.dot '^digraph'
if command -v dot > /dev/null; then
  has passes/00_parsed.svg '</svg>'
else
  has out.txt 'Graphviz (dot) is not installed'
fi

"$caffe" inspect -plan net.plan > out.txt 2> err.txt
has out.txt "^engine 'small': largest batch 2"
has out.txt '^conv = Convolution(data)'
has out.txt '^output prob'

"$caffe" build $net -plan eight.plan -max_batch 8 -skip_pass activations,memory > out.txt 2> err.txt
"$caffe" inspect -plan eight.plan > out.txt 2> err.txt
has out.txt 'input data: 8x3x8x8'
has out.txt '^relu = ReLU'

# Bad input.
refuses 'build needs a net definition' build -weights net.caffemodel -plan a.plan
refuses 'build needs trained weights' build -model net.prototxt -plan a.plan
refuses 'build needs a plan to write' build $net
refuses 'inspect needs a plan' inspect
refuses "no pass 'afine'" build $net -plan a.plan -skip_pass afine
refuses 'max_batch must not be negative' build $net -plan a.plan -max_batch -1
refuses '/no/such/folder/a.plan' build $net -plan /no/such/folder/a.plan
refuses 'dump_passes /proc/none' build $net -plan a.plan -dump_passes /proc/none
refuses 'is what the net is read from' build $net -plan net.caffemodel
refuses 'net.prototxt: it is no plan' inspect -plan net.prototxt
head -c 100 net.plan > cut.plan
refuses 'cut.plan: it is truncated' inspect -plan cut.plan
[ ! -e a.plan ] || fail 'a plan was written though the command failed'
echo 'build_plan: passed'
