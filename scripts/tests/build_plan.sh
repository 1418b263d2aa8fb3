#!/usr/bin/env bash
# caffe build and caffe inspect on the command line: what they write and print, and how they refuse
# bad input.
set -euo pipefail
build=$2
source "$1/scripts/tests/lib/common.sh"
small_net

runs "$caffe" build --help
has out.txt 'usage: caffe build'
has out.txt '^example:'
runs "$caffe" inspect --help
has out.txt 'usage: caffe inspect'
runs "$caffe" --help
has out.txt '^  build '

runs "$caffe" build -list_passes
has out.txt '^affine  *BatchNorm, Scale'
has out.txt '^kernels  *\*  each layer gets the kernel'
has out.txt '^memory  *every blob gets its place'
has out.txt '^\* -skip_pass cannot leave it out$'
sed '1d;/^\*/d' out.txt | awk '{print $1}' > listed.txt

runs "$caffe" build $net -plan net.plan -dump_passes passes
has out.txt 'wrote net.plan: 6 layers became [0-9]*, [0-9.]* KB of weights'
# Before the first, and after each of those that a build in floats has.
find passes -name '*.txt' | sed 's/.*[0-9]_//;s/\.txt//' | sort > dumped.txt
grep -v -e '^integer' -e '^equalization$' listed.txt | cat - <(echo parsed) | sort | cmp - dumped.txt ||
  fail 'not a text for each pass'
has passes/00_parsed.txt '^drop = Dropout'
has passes/02_identities.txt '^bn = BatchNorm'
has passes/05_affine.txt '^relu = ReLU'
has passes/09_activations.txt '^conv = Convolution(data) \[4x3x3x3, 4\] + ReLU -> conv: 2x4x6x6'
has passes/09_activations.dot '^digraph'
if command -v dot > /dev/null; then
  has passes/00_parsed.svg '</svg>'
else
  has out.txt 'Graphviz (dot) is not installed'
fi

# What a plan holds: a table, JSON, the graph.
runs "$caffe" inspect -plan net.plan
has out.txt "^engine 'small': largest batch 2, [0-9.]* KB of weights, [0-9.]* [KM]*B of act"
has out.txt '^input data: 2x3x8x8$'
has out.txt '^output prob: 2x5$'
has out.txt '^layer  *type  *implementation  *precision  *makes  *time  *weights  *activations$'
has out.txt '^conv + relu  *Convolution  *[a-z]'
has out.txt '^fc  *InnerProduct '
lacks out.txt 'conv = Convolution'
runs "$caffe" inspect -plan net.plan -json
python3 - <<'PYTHON'
import json
engine = json.load(open('out.txt'))
assert engine['name'] == 'small' and engine['max_batch'] == 2, engine
assert engine['inputs'] == [{'name': 'data', 'shape': [2, 3, 8, 8]}], engine['inputs']
layers = {layer['name']: layer for layer in engine['layers']}
assert layers['conv']['fused'] == ['relu'], layers['conv']
assert layers['conv']['precision'] == 'FLOAT', layers['conv']
assert layers['prob']['tops'] == [[2, 5]], layers['prob']
PYTHON

# What could compute each layer, what does, and why the rest could not, in columns.
runs "$caffe" build $net -plan verbose.plan -verbose
has out.txt '^layer conv + relu (Convolution)$'
has out.txt '^    possible  *computes in  reads  *writes  *time$'
has out.txt '^ \*  [a-z_0-9:]*  *FLOAT  '
has out.txt '^    not possible  *because it$'
has out.txt '^    int8_winograd, int8.*computes in INT8, which is not asked for$'
has out.txt '^    crop  *is for Crop of positions$'
[ "$(grep -c '^ \*  ' out.txt)" = "$(grep -c '^layer ' out.txt)" ] || fail 'not one chosen each'
runs "$caffe" build $net -plan quiet.plan
lacks out.txt '^layer '

runs "$caffe" build $net -plan eight.plan -max_batch 8 -skip_pass activations,memory
runs "$caffe" inspect -plan eight.plan -graph
has out.txt 'input data: 8x3x8x8'
has out.txt '^relu = ReLU'
runs "$caffe" inspect -graph -plan eight.plan
has out.txt '^relu = ReLU'
runs "$caffe" inspect -plan eight.plan -graph eight.svg
has err.txt '^wrote eight.svg$'
lacks out.txt '^relu = ReLU'
runs "$caffe" inspect -plan eight.plan -graph=eight.html -json
python3 -c 'import json; json.load(open("out.txt"))'
for page in eight.svg eight.html; do
  has $page 'data-name="relu"'
  python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' $page
done
refuses '-graph eight.png: a drawing is written as .svg or .html' "$caffe" inspect \
  -plan eight.plan -graph eight.png
refuses '/no/such/folder/a.svg' "$caffe" inspect -plan eight.plan -graph /no/such/folder/a.svg

# A timing cache is made, and read the next time.
runs "$caffe" build $net -plan timed.plan -timing_cache here.times -timing_iterations 1
has here.times '^cortado timing cache 1'
cp here.times before.times
runs "$caffe" build $net -plan timed.plan -timing_cache here.times -timing_iterations 1
cmp here.times before.times

# Every precision builds; int8 and best with what they need to know, in place or from a table.
make_images 12 8
data="-images list.txt -min_images 12"
for precision in fp32 fp16 bf16; do
  runs "$caffe" build $net -plan $precision.plan -precision $precision -timing_iterations 1
done
runs "$caffe" build $net -plan mixed.plan -precision FP16 -layer_precision conv=fp32,fc=bf16 \
  -timing_iterations 1 -workspace 64 -memory 64
runs "$caffe" build $net -plan int8.plan -precision int8 $data -timing_iterations 1
has out.txt '^conv  *drop  *u8 '
runs "$caffe" build $net -plan reduced.plan -precision int8 -reduce_range $data -timing_iterations 1
runs "$caffe" infer -plan reduced.plan -images list.txt
runs "$caffe" calibrate $net $data -calibration_table net.table -tensorrt_cache net.cache
# Mean and scale in the plan: pixels give what prepared images gave.
runs "$caffe" build $net -plan prepared.plan -timing_iterations 0
runs "$caffe" build $net -plan pixels.plan -normalize -mean 100 -scale 0.01 -timing_iterations 0
runs "$caffe" infer -plan prepared.plan -images list.txt -mean 100 -scale 0.01
cp out.txt prepared.txt
runs "$caffe" infer -plan pixels.plan -images list.txt
cmp prepared.txt out.txt
runs "$caffe" build $net -plan a.plan -normalize -mean 100 -scale 0.01 -timing_iterations 0 \
  -precision int8 -calibration_table net.table
refuses 'there is neither -mean nor -scale' "$caffe" build $net -plan a.plan -normalize

for table in net.table net.cache; do
  runs "$caffe" build $net -plan int8.plan -precision int8 -calibration_table $table \
    -timing_iterations 1
  lacks out.txt 'note: .* lacks'
done
runs "$caffe" build $net -plan best.plan -precision best -timing_iterations 1
has out.txt 'note: best chooses among fp32, fp16 and bf16'
runs "$caffe" build $net -plan best.plan -precision best $data -max_accuracy_loss 0.1 \
  -timing_iterations 1
has out.txt 'top-1 of 12 images in FP32: .*; it may lose 10.00 %'
runs "$caffe" build $net -plan best.plan -precision best -calibration_table net.table \
  -npy rows.npy -max_accuracy_loss 0.1 -timing_iterations 1
has out.txt 'without labels -max_accuracy_loss bounds the error of the outputs'

# Commas and spaces in names: arrays are found, and what to do next can be given to a shell.
cp rows.npy 'my rows,all.npy'
for npy in 'my rows,all.npy' 'data=my rows,all.npy'; do
  runs "$caffe" build $net -plan 'my net.plan' -precision int8 -npy "$npy" -min_images 12 \
    -timing_iterations 0
done
has out.txt "^  caffe time -plan 'my net.plan'$"
runs "$caffe" inspect -plan 'my net.plan'

# A table for other weights, and one that lacks a blob.
sed 's/^weights: ..../weights: 0123/' net.table > stale.table
runs "$caffe" build $net -plan int8.plan -precision int8 -calibration_table stale.table \
  -timing_iterations 1
has out.txt 'note: the .*stale.table.* its thresholds are taken'
grep -v '^"fc"    *[0-9.]*  *[us]8' net.table > lacking.table
runs "$caffe" build $net -plan int8.plan -precision int8 -calibration_table lacking.table \
  -timing_iterations 1
has out.txt "note: lacking.table lacks 'fc'"

# A smaller image than the prototxt's, up to the largest shape.
runs "$caffe" build $net -plan shape.plan -input_shape data=3x3x8x8
runs "$caffe" inspect -plan shape.plan
has out.txt '^input data: 3x3x8x8$'
runs "$caffe" build $net -plan shape.plan -input_shape 3x3x8x8
runs "$caffe" inspect -plan shape.plan
has out.txt '^input data: 3x3x8x8$'

# Ranges of shapes.
runs "$caffe" build $net -plan range.plan -min_shape 1x3x8x8 -opt_shape 2x3x8x8 -max_shape 4x3x8x8
runs "$caffe" inspect -plan range.plan
has out.txt '^profile 0: from data 1x3x8x8 to data 4x3x8x8, tuned for data 2x3x8x8$'
runs "$caffe" time -plan range.plan -shape 3x3x8x8 -iterations 2
has out.txt "^engine 'small', 3x3x8x8, batch 3, 2 runs"
has out.txt '^layer .* mean  *share  *rate  *of peak$'
has out.txt '^conv.* % .*[0-9.]* [GT]FLOP/s  *[<0-9.]* %$'
has out.txt '^total .* 100.00 % .*[0-9.]* [GT]FLOP/s  *[<0-9.]* %$'
runs "$caffe" time -plan range.plan -shape 3x3x8x8 -iterations 2 -peaks=false
has out.txt '^total .* 100.00 % .*[0-9.]* [GT]FLOP/s$'
lacks out.txt 'of peak'
refuses 'but for profile 0: data 1x3x8x8 to 4x3x8x8' "$caffe" time -plan range.plan -shape 5x3x8x8
runs "$caffe" build $net -plan ranges.plan -min_shape data=1x3x8x8:data=1x3x8x8 \
  -opt_shape 1x3x8x8:4x3x8x8
runs "$caffe" inspect -plan ranges.plan
has out.txt '^profile 1: from data 1x3x8x8 to data 4x3x8x8, tuned for data 4x3x8x8$'
runs "$caffe" time -plan ranges.plan -shape data=2x3x8x8 -iterations 2
has out.txt 'profile 1, batch 2'
refuses 'say 0, 2 and 1 ranges' "$caffe" build $net -plan a.plan -opt_shape 1x3x8x8:2x3x8x8 \
  -max_shape 4x3x8x8
refuses 'leave -max_batch and -input_shape out' "$caffe" build $net -plan a.plan \
  -opt_shape 1x3x8x8 -max_batch 2
refuses "min shapes (data 1x3x4x4) cannot be run: layer 'fc'" "$caffe" build $net -plan a.plan \
  -min_shape 1x3x4x4 -max_shape 1x3x8x8

# Bad input.
rm -f a.plan
refuses 'build needs a net definition' "$caffe" build -weights net.caffemodel -plan a.plan
refuses 'build needs trained weights' "$caffe" build -model net.prototxt -plan a.plan
sed 's/name: "conv"/name: "first"/; s/name: "bn"/name: "norm"/; s/name: "fc"/name: "last"/' \
  net.prototxt > renamed.prototxt
refuses "net.caffemodel: no layer of the net 'small' has weights there" "$caffe" build \
  -model renamed.prototxt -weights net.caffemodel -plan a.plan
refuses 'build needs a plan to write' "$caffe" build $net
refuses 'inspect needs a plan' "$caffe" inspect
refuses "pass 'kernels' cannot be left out" "$caffe" build $net -plan a.plan -skip_pass kernels
refuses "no pass 'afine'" "$caffe" build $net -plan a.plan -skip_pass afine
refuses 'max_batch must not be negative' "$caffe" build $net -plan a.plan -max_batch -1
refuses '/no/such/folder/a.plan' "$caffe" build $net -plan /no/such/folder/a.plan
refuses 'dump_passes /proc/none' "$caffe" build $net -plan a.plan -dump_passes /proc/none
# What is written is neither read nor written twice, by whatever path.
md5sum net.prototxt net.caffemodel net.table list.txt > before.md5
for output in -plan '-plan a.plan -report' '-plan a.plan -plot' '-plan a.plan -timing_cache'; do
  refuses 'net.caffemodel would be overwritten, which -weights reads' "$caffe" build $net \
    $output "$PWD/net.caffemodel"
  refuses 'net.prototxt would be overwritten, which -model reads' "$caffe" build $net \
    $output ./net.prototxt
done
refuses 'net.table would be overwritten, which -calibration_table reads' "$caffe" build $net \
  -precision int8 -calibration_table net.table -plan net.table
refuses 'list.txt would be overwritten, which -images reads' "$caffe" build $net -plan a.plan \
  -precision int8 $data -plot list.txt
refuses '-report: ./a.plan is what -plan writes' "$caffe" build $net -plan a.plan -report ./a.plan
cp net.plan net.svg
refuses 'net.svg would be overwritten, which -plan reads' "$caffe" inspect -plan net.svg \
  -graph net.svg
md5sum --quiet -c before.md5
refuses 'fp32, fp16, bf16, int8' "$caffe" build $net -plan a.plan -precision fp8
refuses 'fp32, fp16, bf16, int8' "$caffe" build $net -plan a.plan -layer_precision conv=half
refuses "'conv' is not NAME=VALUE" "$caffe" build $net -plan a.plan -layer_precision conv
refuses "conf" "$caffe" build $net -plan a.plan -layer_precision conf=fp16
refuses 'int8 needs the range of each blob' "$caffe" build $net -plan a.plan -precision int8
refuses '-reduce_range is for int8, not for -precision fp16' "$caffe" build $net -plan a.plan \
  -precision fp16 -reduce_range
refuses 'int8 needs the range of each blob' "$caffe" build $net -plan a.plan \
  -layer_precision fc=int8
refuses 'not both' "$caffe" build $net -plan a.plan -precision int8 $data \
  -calibration_table net.table
refuses 'missing.table' "$caffe" build $net -plan a.plan -precision int8 \
  -calibration_table missing.table
refuses 'max_accuracy_loss is for -precision best' "$caffe" build $net -plan a.plan \
  -max_accuracy_loss 0.1
refuses 'max_accuracy_loss needs data' "$caffe" build $net -plan a.plan -precision best \
  -max_accuracy_loss 0.1
refuses 'workspace must not be negative' "$caffe" build $net -plan a.plan -workspace -1
refuses 'timing_iterations must not be negative' "$caffe" build $net -plan a.plan \
  -timing_iterations -1
refuses "'1x3xx8' is not a shape" "$caffe" build $net -plan a.plan -input_shape data=1x3xx8
refuses "'2x3x8x8x' is not a shape" "$caffe" build $net -plan a.plan -input_shape 2x3x8x8x
refuses '-resize abc is not HxW' "$caffe" build $net -plan a.plan -resize abc
refuses '-channel_order XYZ: valid are BGR and RGB' "$caffe" build $net -plan a.plan \
  -channel_order XYZ
refuses "-constant: 'foo' is not NAME=V,V,..." "$caffe" build $net -plan a.plan -constant foo
printf 'ant\nbee\n' > two.txt
refuses "two.txt: it names 2 classes, output 'prob' has 5" "$caffe" build $net -plan a.plan \
  -labels two.txt
refuses '-labels net.caffemodel: it is no text' "$caffe" build $net -plan a.plan \
  -labels net.caffemodel
refuses '-threads must be 4096 or less, got 4097' "$caffe" build $net -plan a.plan -threads 4097
refuses 'date' "$caffe" build $net -plan a.plan -input_shape date=1x3x8x8
echo 'no cache' > wrong.times
refuses 'wrong.times' "$caffe" build $net -plan a.plan -timing_cache wrong.times
refuses '/no/such/folder/times' "$caffe" build $net -plan a.plan -timing_cache /no/such/folder/times
refuses 'net.prototxt: it is no plan' "$caffe" inspect -plan net.prototxt
refuses 'missing.plan' "$caffe" inspect -plan missing.plan
head -c 100 net.plan > cut.plan
refuses 'cut.plan: it is truncated' "$caffe" inspect -plan cut.plan
[ ! -e a.plan ] || fail 'a plan was written though the command failed'
echo 'build_plan: passed'
