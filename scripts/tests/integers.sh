#!/usr/bin/env bash
# Engines of integers alone on the command line: building, looking into them, digests, refusals.
set -euo pipefail
build=$2
source "$1/scripts/tests/lib/common.sh"
small_net
make_images 12 8
runs "$caffe" calibrate $net -images list.txt -mean 100 -calibration_table net.table

integers=(-precision int8 -calibration_table net.table -arithmetic integer_only)
runs "$caffe" build $net -plan net.plan -mean 100 "${integers[@]}" -quantization affine
runs "$caffe" inspect -plan net.plan
has out.txt '^conv .* integers '
runs "$caffe" inspect -plan net.plan -json
has out.txt '"zero_point":'
has out.txt '"multipliers":'

# The same digest with every number of threads, in every batch and on every instruction set.
runs "$caffe" infer -plan net.plan -digest -images list.txt
digest=$(cat out.txt)
has out.txt '^[0-9a-f]\{64\}$'
runs "$caffe" infer -plan net.plan -digest -threads 1 -images list.txt
has out.txt "^$digest\$"
for set in generic avx2; do
  export CAFFE_CPU_ISA=$set
  runs "$caffe" build $net -plan $set.plan -mean 100 -max_batch 3 \
    "${integers[@]}" -quantization affine
  runs "$caffe" infer -plan $set.plan -digest -images list.txt
  has out.txt "^$digest\$"
done
unset CAFFE_CPU_ISA

# Each scheme and rounding; what the prototxt says.
for scheme in symmetric paper; do
  runs "$caffe" build $net -plan $scheme.plan -mean 100 "${integers[@]}" -quantization $scheme \
    -rounding single
done
runs "$caffe" build $net -plan float.plan -mean 100 -precision int8 -calibration_table net.table \
  -quantization affine
refuses 'integer_only' "$caffe" infer -plan float.plan -digest -images list.txt
(echo 'quantization { scheme: AFFINE arithmetic: INTEGER_ONLY }' && cat net.prototxt) > own.prototxt
runs "$caffe" build -model own.prototxt -weights net.caffemodel -plan own.plan -mean 100 \
  -precision int8 -calibration_table net.table
runs "$caffe" infer -plan own.plan -digest -images list.txt
has out.txt "^$digest\$"

# Refusals name what is wrong.
refuses "'afine': give symmetric, affine or paper" "$caffe" build $net -plan no.plan \
  "${integers[@]}" -quantization afine
refuses 'is for -precision int8' "$caffe" build $net -plan no.plan -arithmetic integer
refuses 'give -arithmetic integer' "$caffe" build $net -plan no.plan -precision int8 \
  -calibration_table net.table -quantization paper
grep -v '^"conv"' net.table > less.table
refuses "layer 'conv' (Convolution) cannot be computed with integers alone: the range of blob" \
  "$caffe" build $net -plan no.plan -precision int8 -calibration_table less.table \
  -quantization affine -arithmetic integer_only
runs "$caffe" build $net -plan some.plan -precision int8 -calibration_table less.table \
  -quantization affine -arithmetic integer
has out.txt "note: layer 'conv' (Convolution) computes in floats"
echo 'integers: passed'
