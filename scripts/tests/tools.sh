#!/usr/bin/env bash
# Tools answer --help with a usage, and bad input with one line and status 1.
set -euo pipefail
root=$1 build=$2
source "$1/scripts/tests/lib/common.sh"
export GLOG_minloglevel=0

for tool in "$build"/tools/*; do
  [ -x "$tool" ] && [ -f "$tool" ] || continue
  "$tool" --help > help.txt
  grep -qi usage help.txt || { echo "$tool --help shows no usage"; exit 1; }
done

# Without a command: all of them. Misspelt commands and flags are answered with the nearest ones.
answers 1 "$caffe"
mv out.txt overview.txt
for command in train test test_detection time build inspect infer compare calibrate check_fp16 layers \
  device_query completion; do
  has overview.txt "^  $command "
  runs "$caffe" $command --help
  has out.txt "^usage: caffe $command"
  # Man pages are made of the same text; groff, where it is, has nothing to complain of.
  runs "$caffe" $command --man
  has out.txt "^.SH SYNOPSIS"
  ! command -v groff > /dev/null || [ -z "$(groff -man -ww -z out.txt 2>&1)" ] || fail "roff of $command"
done
refuses 'there is no flag -qqqqqq; --help lists' "$caffe" time -qqqqqq 3
refuses "unknown command 'qqqqqq'. Valid are" "$caffe" qqqqqq
refuses "there is no flag -itertions; did you mean '-iterations'" "$caffe" time -itertions 3
refuses 'there is no flag -foo; --help lists' "$caffe" time -foo
refuses "no flag -noitertions" "$caffe" time --noitertions
refuses "-iterations abc: it takes a whole number" "$caffe" time -iterations abc
refuses "-scale x: it takes a number" "$caffe" infer -scale=x
refuses "-json perhaps: it takes true or false" "$caffe" infer -json=perhaps
refuses "-model needs a value" "$caffe" time -model
refuses "caffe build has no flag -bisect" "$caffe" build -bisect
refuses "caffe time has no flag -min_images" "$caffe" time -min_images 3
# Caffe's own commands take each other's flags.
refuses "time needs a net definition" "$caffe" time -solver none.prototxt -sigint_effect stop
refuses "'x.prototxt' is not expected" "$caffe" time x.prototxt

# What the processor does at most, measured unless the flag says no; by the units of the set in use.
runs "$caffe" device_query -threads 2
has err.txt 'CPU peaks, measured with [0-9]* threads*  *unit  *rate$'
has err.txt ' FLOAT  *[a-z0-9_]*  *[0-9.]* [GT]FLOP/s$'
has err.txt ' 8-bit integers  *[a-z0-9_]*  *[0-9.]* [GT]OP/s$'
has err.txt 'reading memory  *[0-9.]* GB/s$'
has err.txt 'a cache line from core to core  *\([0-9.]*\( to [0-9.]*\)* ns\|other programs have the cores\)$'
CAFFE_CPU_ISA=emulated_amx runs "$caffe" device_query -threads 1
has err.txt 'measured with 1 thread  *unit  *rate$'
has err.txt ' BFLOAT16  *emulated_amx  *[0-9.]* GFLOP/s$'
runs "$caffe" device_query -peaks=false
lacks err.txt 'CPU peaks'

# A system that refuses AMX's registers: the next set computes, and one line says so.
without_tiles() { python3 "$root/scripts/tests/lib/refuse_tiles.py" "$@"; }
if [ "$(uname -sm)" = 'Linux x86_64' ] && without_tiles true; then
  runs "$caffe" device_query -peaks=false
  lines=0
  ! grep -q 'instruction set:  *amx$' err.txt || lines=1
  runs without_tiles "$caffe" device_query -peaks=false
  [ "$(grep -c 'refuses this process the registers of amx_int8' err.txt)" = $lines ] ||
    fail "not $lines lines about refused registers"
  has err.txt 'matrix products in tiles  *none$'
  CAFFE_CPU_ISA=amx refuses '^caffe: CAFFE_CPU_ISA is .* runs generic' without_tiles "$caffe" device_query
  [ "$(wc -l < err.txt)" = 1 ] || fail "more than a line"
fi

# Completion: scripts that the shells can read, with commands, flags and choices.
runs "$caffe" completion bash
bash -n out.txt
has out.txt "int8"
bash -c 'source ./out.txt; COMP_WORDS=(caffe bu); COMP_CWORD=1; _caffe; [ "${COMPREPLY[*]}" = build ]
  COMP_WORDS=(caffe build -preci); COMP_CWORD=2; _caffe; [ "${COMPREPLY[*]}" = -precision ]
  COMP_WORDS=(caffe build -precision i); COMP_CWORD=3; _caffe; [ "${COMPREPLY[*]}" = int8 ]' ||
  fail "bash does not complete"
runs "$caffe" completion zsh
has out.txt "#compdef caffe"
! command -v zsh > /dev/null || zsh -n out.txt
refuses "valid are bash and zsh" "$caffe" completion fish
refuses "did you mean 'train'" "$caffe" trian
refuses "solver" "$caffe" train
refuses "no_such.prototxt" "$caffe" train -solver no_such.prototxt
refuses "weights" "$caffe" test -model x.prototxt
refuses "iterations must be positive" "$caffe" time -model x.prototxt -iterations 0
: > empty.prototxt
refuses "empty.prototxt" "$caffe" time -model empty.prototxt
head -c 1000 /dev/urandom > random.prototxt
refuses "random.prototxt" "$caffe" time -model random.prototxt
cat > net.prototxt <<'TEXT'
name: "net"
layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 1 dim: 3 } } }
layer { name: "relu" type: "RelU" bottom: "x" top: "y" }
TEXT
refuses "layer 'relu'.*unknown layer type.*ReLU" "$caffe" time -model net.prototxt
sed -i 's/RelU/ReLU/' net.prototxt
"$caffe" time -model net.prototxt -iterations 2 2> time.txt
grep -q 'Average Forward pass:' time.txt
grep -q '\*\*\* Benchmark ends \*\*\*' time.txt
# What is wrong in a later forward pass has the layer's name, too.
printf 'P3 1 1 255 1 2 3\n' > image.ppm
printf '%s 0\n' image.ppm image.ppm missing.ppm > images.txt
cat > listed.prototxt <<'TEXT'
layer { name: "in" type: "ImageData" top: "x" top: "y" image_data_param { source: "images.txt" batch_size: 1 } }
TEXT
refuses "layer 'in' (ImageData): .*missing.ppm" "$caffe" time -model listed.prototxt -iterations 3
# A net in the TEST phase that has thrown away what its gradients need is timed forward.
sed 's/"ReLU" bottom: "x" top: "y"/"PReLU" bottom: "x" top: "x" prelu_param { filler { value: 0 } }/' \
  net.prototxt > prelu.prototxt
"$caffe" time -model prelu.prototxt -phase TEST -iterations 2 2> time.txt
has time.txt "Only forward passes are timed: .*layer 'relu' (PReLU)"
has time.txt 'Average Forward pass:'
lacks time.txt 'Average Backward pass:'
# The types of a net, and those that the command line puts in their place.
sed -i '1a default_forward_type: FLOAT16' net.prototxt
sed -i 's/top: "y"/top: "y" backward_math: DOUBLE/' net.prototxt
types() { "$caffe" time -model net.prototxt -iterations 1 "$@" 2>&1 | sed -n 's/.*] *relu\t\(.*math.*\)\tengine: .*/\1/p'; }
[ "$(types)" = $'forward: FLOAT16 (math FLOAT16)\tbackward: FLOAT (math DOUBLE)' ] || { types; exit 1; }
[ "$(types -forward_type FLOAT -backward_type FLOAT16 -forward_math FLOAT16 -backward_math FLOAT)" = \
  $'forward: FLOAT (math FLOAT16)\tbackward: FLOAT16 (math FLOAT)' ] || { types; exit 1; }
# What computes each layer.
sed 's/name: "net"/engine: "REFERENCE"/; s/ReLU/Softmax/' net.prototxt > engine.prototxt
"$caffe" time -model engine.prototxt -iterations 1 2> time.txt
grep -q $'relu\tforward: .*\tengine: reference$' time.txt
"$caffe" time -model net.prototxt -iterations 1 2> time.txt
grep -q $'relu\tforward: .*\tengine: native$' time.txt
refuses "-forward_type INT8: valid are FLOAT, FLOAT16 and DOUBLE" "$caffe" time -model net.prototxt -forward_type INT8
refuses '-backward_math "": valid are FLOAT, FLOAT16, BFLOAT16 and DOUBLE' "$caffe" time -model net.prototxt -backward_math ""
cat > train.prototxt <<'TEXT'
layer { name: "d" type: "DummyData" top: "x" dummy_data_param { shape { dim: 2 dim: 3 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y" inner_product_param { num_output: 2 } }
layer { name: "e" type: "DummyData" top: "z" dummy_data_param { shape { dim: 2 dim: 2 } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "y" bottom: "z" top: "loss" }
TEXT
echo 'net: "train.prototxt" base_lr: 0.01 lr_policy: "fixed" max_iter: 2 snapshot_after_train: false' > solver.prototxt
"$caffe" train -solver solver.prototxt -forward_type FLOAT16 2> train.txt
grep -q '^default_forward_type: FLOAT16' train.txt
"$caffe" train -solver solver.prototxt 2> train.txt
! grep -q 'default_forward_type' train.txt || { echo "a type without a flag"; exit 1; }
# A loss that names no top, in the phase in which blobs are freed.
sed 's/ top: "loss" / /' train.prototxt > untopped.prototxt
"$caffe" time -model untopped.prototxt -phase TEST -iterations 2 2> time.txt || { cat time.txt; exit 1; }
grep -q $'loss\tbackward: ' time.txt
"$caffe" time -model untopped.prototxt -phase TEST -iterations 2 -forward_type FLOAT16 2> time.txt
sed 's/snapshot_after_train: false/snapshot_prefix: "trained"/' solver.prototxt > snapshot.prototxt
"$caffe" train -solver snapshot.prototxt 2> train.txt
"$build"/tools/extract_features trained_iter_2.caffemodel untopped.prototxt y features 2 lmdb 2> features.txt \
  || { cat features.txt; exit 1; }
grep -q 'Extracted features of 4 query images for feature blob y' features.txt
head -c 100 /dev/urandom > bad.caffemodel
refuses "bad.caffemodel" "$caffe" test -model net.prototxt -weights bad.caffemodel
refuses "no LMDB\|cannot be opened" "$caffe" time -model /dev/stdin <<'TEXT'
layer { name: "d" type: "Data" top: "x" data_param { source: "nowhere" batch_size: 1 backend: LMDB } }
TEXT
refuses "begins with" "$build/tools/convert_mnist_data" net.prototxt net.prototxt out_lmdb

# Documents and models that programs write are as they write them.
"$caffe" layers > layers.md
sed -n '/^|/p' "$root/docs/layers.md" | diff - layers.md ||
  { echo "docs/layers.md is out of date: build/tools/caffe layers > docs/layers.md"; exit 1; }
python3 "$root/models/generate.py" --check

# What a killed program left of a database is replaced, other folders are not.
make_images 3 4
runs "$build"/tools/convert_imageset "$work/" list.txt made_lmdb
cp -r made_lmdb again_lmdb.unfinished
runs "$build"/tools/convert_imageset "$work/" list.txt again_lmdb
[ ! -e again_lmdb.unfinished ] || fail 'again_lmdb.unfinished is still there'
mkdir own_lmdb.unfinished
refuses 'own_lmdb.unfinished: is in the way' "$build"/tools/convert_imageset "$work/" list.txt own_lmdb
