#!/usr/bin/env bash
# Plans on the command line: caffe time, test, infer and compare.
set -euo pipefail
build=$2
source "$1/scripts/tests/lib/common.sh"
small_net
make_images 12 8
runs "$caffe" build $net -plan net.plan

for command in time test infer compare; do
  runs "$caffe" $command --help
  has out.txt "usage: caffe $command"
  has out.txt '^example:'
done
runs "$caffe" --help
has out.txt '^  infer '
has out.txt '^  compare '

# time
runs "$caffe" time -plan net.plan -iterations 20
has out.txt "^engine 'small', batch 2, 20 runs"
has out.txt '^latency:    min .* ms, mean .* ms, median .* ms, 99% .* ms$'
has out.txt '^throughput: .* items/s$'
has out.txt '^layer  *type  *implementation  *precision  *median  *mean  *share  *rate  *of peak$'
has out.txt '^conv  *Convolution .* %  *[0-9.]* .FLOP/s  *[0-9.]* %$'
runs "$caffe" time -plan net.plan -batch 1 -iterations 2
has out.txt 'batch 1, 2 runs'

# test, on images with labels and on the data of a net: the same share of them.
export GLOG_minloglevel=0
runs "$caffe" test -plan net.plan -images list.txt -mean 100
has err.txt '] Batch 5, accuracy = '
has err.txt '] Tested on 12 images.'
has err.txt '] accuracy_top5 = 1$'
score=$(sed -n 's/.*] accuracy = //p' err.txt)
runs "$build"/tools/convert_imageset "$work/" list.txt images_lmdb
runs "$caffe" test -plan net.plan -data images_lmdb -mean 100 -iterations 6
has err.txt "] accuracy = $score\$"
{
  cat <<'TEXT'
layer { name: "images" type: "Data" top: "data" top: "label"
  data_param { source: "images_lmdb" backend: LMDB batch_size: 4 }
  transform_param { mean_value: 100 } }
TEXT
  sed '/type: "Input"/,/input_param/d; /Softmax/d' net.prototxt
  cat <<'TEXT'
layer { name: "accuracy" type: "Accuracy" bottom: "fc" bottom: "label" top: "accuracy" }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" }
TEXT
} > train_val.prototxt
runs "$caffe" test -model train_val.prototxt -weights net.caffemodel -iterations 3
has err.txt "] accuracy = $score\$"
loss=$(sed -n 's/.*] Loss: //p' err.txt)
# Two images at once, of four that a batch of the data has.
runs "$caffe" test -plan net.plan -model train_val.prototxt -iterations 3
has err.txt '] Batch 2, accuracy = '
has err.txt "] accuracy = $score\$"
has err.txt '] loss = .* (\* 1 = .* loss)'
awk -v a="$loss" -v b="$(sed -n 's/.*] Loss: //p' err.txt)" \
  'BEGIN { exit !(a - b < 1e-3 && b - a < 1e-3) }' || fail "the loss is not $loss"
# Where the engine computes probabilities in another type they are found behind the reorder.
runs "$caffe" build $net -plan half.plan -layer_precision prob=fp16,fc=fp16 -timing_iterations 1
runs "$caffe" test -plan half.plan -model train_val.prototxt -iterations 3
has err.txt "] accuracy = $score\$"
# Twelve records in batches of five: each counts once.
runs "$caffe" build $net -plan five.plan -max_batch 5
runs "$caffe" test -plan five.plan -data images_lmdb -mean 100
has err.txt '] Tested on 12 images.'
lacks err.txt 'nan'
export GLOG_minloglevel=1
# Labels of the net's own data.
runs "$caffe" build -model train_val.prototxt -weights net.caffemodel -plan own.plan \
  -precision best -max_accuracy_loss 0.5 -batches 2 -min_images 8 -timing_iterations 1
has out.txt '^top-1 of 8 images in FP32: .*; it may lose 50.00 %$'

# infer: classes of images, from a plan or a net, as text or JSON.
printf 'ant\nbee\ncat\ndog\neel\n' > labels.txt
runs "$caffe" infer -plan net.plan -mean 100 -labels labels.txt -top 2 0.png 1.png 2.png
[ "$(grep -c '^[0-2].png$' out.txt)" = 3 ] || fail 'not three images'
[ "$(grep -c '^  [01]\.[0-9]\{4\}  [0-4]  [a-e]' out.txt)" = 6 ] || fail 'not two classes each'
cp out.txt plan.txt
runs "$caffe" infer $net -mean 100 -labels labels.txt -top 2 0.png 1.png 2.png
cmp out.txt plan.txt
runs "$caffe" infer -plan net.plan -input_shape 1x3x8x8 -mean 100 -labels labels.txt -top 2 \
  0.png 1.png 2.png
cmp out.txt plan.txt
refuses "layer 'fc'" "$caffe" infer -plan net.plan -input_shape data=1x3x9x9 -mean 100 0.png
refuses "no input 'date'" "$caffe" infer -plan net.plan -input_shape date=1x3x8x8 -mean 100 0.png
runs "$caffe" infer -plan net.plan -mean 100 -labels labels.txt -images list.txt -top 2
[ "$(head -n 9 out.txt | sed 's|^./||')" = "$(cat plan.txt)" ] || fail 'the list gives others'
runs "$caffe" infer -plan net.plan -mean 100 -labels labels.txt -json 0.png
python3 - <<'PYTHON'
import json
results = json.load(open('out.txt'))['results']
assert [result['name'] for result in results] == ['0.png'], results
top = results[0]['outputs'][0]['top']
assert results[0]['outputs'][0]['output'] == 'prob' and len(top) == 5, results
assert top[0]['label'] == ['ant', 'bee', 'cat', 'dog', 'eel'][top[0]['class']], top
assert abs(sum(entry['score'] for entry in top) - 1) < 1e-5, top
PYTHON
# Fewer images than the least batch of a plan for a range; a name that begins with a dash.
runs "$caffe" build $net -plan range.plan -min_shape 2x3x8x8 -max_shape 4x3x8x8 \
  -timing_iterations 0
cp 0.png ./-x.png
runs "$caffe" infer -plan range.plan -mean 100 -labels labels.txt -top 2 0.png
[ "$(cat out.txt)" = "$(head -n 3 plan.txt)" ] || fail 'the least batch gives others'
runs "$caffe" infer -plan net.plan -mean 100 -labels labels.txt -top 2 -- -x.png 1.png
[ "$(sed 's/-x/0/' out.txt)" = "$(head -n 6 plan.txt)" ] || fail 'behind -- are other images'
# The rows of the .npy file are the images, red first; raw values are the classes' in their order.
runs "$caffe" infer -plan net.plan -npy rows.npy -raw
has out.txt '^row 11 5 (5):'
rows=$(sed 's/^.*(5): //' out.txt)
runs "$caffe" infer -plan net.plan -images list.txt -mean 100 -channel_order RGB -raw
[ "$(sed 's/^.*(5): //' out.txt)" = "$rows" ] || fail 'images and rows differ'

# -resize cuts the middle out: of an 8 x 8 image that was 12 x 12 the same 8 x 8.
cat > same.prototxt <<'TEXT'
name: "same"
layer { name: "data" type: "Input" top: "data"
  input_param { shape { dim: 1 dim: 3 dim: 8 dim: 8 } } }
layer { name: "out" type: "Power" bottom: "data" top: "out" power_param { power: 1 } }
TEXT
printf '\n\004same' > same.caffemodel
make_images 1 12
same="-model same.prototxt -weights same.caffemodel"
refuses "rows do not have the shape of input 'data'" "$caffe" infer $same -npy rows.npy -raw
runs "$caffe" infer $same -channel_order RGB -mean 100 -resize 12x12 -raw 0.png
python3 - <<'PYTHON'
import struct
data = open('rows.npy', 'rb').read()
rows = struct.unpack('<432f', data[-4 * 432:])
middle = [rows[(c * 12 + y + 2) * 12 + x + 2] for c in range(3) for y in range(8) for x in range(8)]
values = [float(v) for v in open('out.txt').read().split(': ')[1].split()]
assert values == middle, (values, middle)
PYTHON
refuses 'less than input' "$caffe" infer $same -resize 4x4 0.png
refuses 'is not HxW' "$caffe" infer $same -resize 12 0.png
make_images 12 8

# infer: boxes. One prior box, 4 x 4 in the middle of 8 x 8, with a score of 0.8.
cat > boxes.prototxt <<'TEXT'
name: "boxes"
layer { name: "data" type: "Input" top: "data"
  input_param { shape { dim: 2 dim: 3 dim: 8 dim: 8 } } }
layer { name: "none" type: "Power" bottom: "data" top: "none" power_param { scale: 0 } }
layer { name: "loc" type: "InnerProduct" bottom: "none" top: "loc"
  inner_product_param { num_output: 4 } }
layer { name: "conf" type: "InnerProduct" bottom: "none" top: "conf"
  inner_product_param { num_output: 2 bias_filler { value: 0.8 } } }
layer { name: "prior" type: "PriorBox" bottom: "none" bottom: "data" top: "prior"
  prior_box_param { min_size: 4 step: 8 variance: 0.1 } }
layer { name: "cut" type: "Slice" bottom: "prior" top: "first" top: "rest"
  slice_param { axis: 2 slice_point: 4 } }
layer { name: "unused" type: "Silence" bottom: "rest" }
layer { name: "boxes" type: "DetectionOutput" bottom: "loc" bottom: "conf" bottom: "first"
  top: "boxes" detection_output_param { num_classes: 2 keep_top_k: 5
    nms_param { nms_threshold: 0.5 } } }
TEXT
# Weights as the fillers make them.
{
  sed '/"prior" type/,$d' boxes.prototxt
  echo 'layer { name: "sum" type: "Reduction" bottom: "conf" top: "sum" loss_weight: 1 }'
} > boxes_train.prototxt
sed 's/"train.prototxt"/"boxes_train.prototxt"/; s/"net"/"boxes"/' solver.prototxt > boxes_solver.prototxt
runs "$caffe" train -solver boxes_solver.prototxt
mv boxes_iter_0.caffemodel boxes.caffemodel
cat > map.prototxt <<'TEXT'
item { name: "background" label: 0 display_name: "background" }
item { name: "1" label: 1 display_name: "face" }
TEXT
runs "$caffe" build -model boxes.prototxt -weights boxes.caffemodel -plan boxes.plan
runs "$caffe" infer -plan boxes.plan -labels map.prototxt 3.png 4.png
[ "$(cat out.txt)" = '3.png  face  0.8000  0.2500  0.2500  0.7500  0.7500
4.png  face  0.8000  0.2500  0.2500  0.7500  0.7500' ] || fail 'not these boxes'
runs "$caffe" infer -plan boxes.plan -min_score 0.9 3.png
[ ! -s out.txt ] || fail 'boxes below -min_score'
runs "$caffe" infer -plan boxes.plan -json 3.png
has out.txt '"box"'

# infer -draw: a file for each image into a folder, or one file.
drawing=$(printf '\211PNG')
is_drawn() { [ "$(head -c 4 "$1")" = "$drawing" ] || fail "$1 is not an image"; }
runs "$caffe" infer -plan boxes.plan -labels map.prototxt -json -draw found/new 3.png 4.png
has out.txt '"box"'
has err.txt '^drew 2 images into found/new$'
is_drawn found/new/3.png
is_drawn found/new/4.png
runs "$caffe" infer -plan net.plan -mean 100 -labels labels.txt -draw one.png 0.png
has err.txt '^drew 1 image into one.png$'
is_drawn one.png
refuses 'one file cannot take' "$caffe" infer -plan net.plan -draw one.png 0.png 1.png
refuses '0.png lies in this folder' "$caffe" infer -plan net.plan -draw . 0.png
refuses '0.png: this is the image itself' "$caffe" infer -plan net.plan -draw 0.png 0.png
refuses 'labels.txt: this is neither a folder' "$caffe" infer -plan net.plan -draw labels.txt 0.png
refuses '-draw o.bmp: a file is written as .png or .jpg' "$caffe" infer -plan net.plan -draw o.bmp \
  0.png
refuses '-draw needs image files' "$caffe" infer -plan net.plan -draw found -npy rows.npy

# compare: an engine that is right, and one whose weights are others.
runs "$caffe" compare $net -plan net.plan
has out.txt '^   *blob  *layer  *precision  *max error  *mean error  *cosine  *signal/noise$'
has out.txt '^   *conv  *conv  *FLOAT '
has out.txt '^no blob is below 20 dB$'
has out.txt '^error of the outputs: '
runs "$caffe" compare $net -precision fp32 -images list.txt -batches 2 -max_batch 1
has out.txt '^no blob is below 20 dB$'
sed 's/random_seed: 7/random_seed: 8/; s/"net"/"other"/' solver.prototxt > other_solver.prototxt
runs "$caffe" train -solver other_solver.prototxt
mv other_iter_0.caffemodel other.caffemodel
runs "$caffe" build -model net.prototxt -weights other.caffemodel -plan other.plan
answers 2 "$caffe" compare $net -plan other.plan -random 2
has out.txt "^layer 'conv' is the first that goes wrong: its blob 'conv' is at .* dB, below 20 dB"
has out.txt '^!  conv '
runs "$caffe" compare $net -precision fp32 -bisect -max_error 0.001
has out.txt 'nothing has to be widened'
# Without data, inputs that layers read as indices hold some that these have.
cat > words.prototxt <<'TEXT'
layer { name: "words" type: "Input" top: "words" input_param { shape { dim: 3 dim: 2 } } }
layer { name: "order" type: "Input" top: "order" input_param { shape { dim: 4 } } }
layer { name: "embed" type: "Embed" bottom: "words" top: "embed"
  embed_param { input_dim: 7 num_output: 2 weight_filler { type: "gaussian" std: 1 } } }
layer { name: "chosen" type: "BatchReindex" bottom: "embed" bottom: "order" top: "chosen" }
TEXT
{
  cat words.prototxt
  echo 'layer { name: "sum" type: "Reduction" bottom: "chosen" top: "sum" loss_weight: 1 }'
} > words_train.prototxt
sed 's/"train.prototxt"/"words_train.prototxt"/; s/"net"/"words"/' solver.prototxt > words_solver.prototxt
runs "$caffe" train -solver words_solver.prototxt
runs "$caffe" compare -model words.prototxt -weights words_iter_0.caffemodel -precision fp16 -random 3
has out.txt '^   *chosen '
has out.txt '^no blob is below 20 dB$'
# What -bisect says is what brings the error down.
data="-images list.txt -min_images 12"
runs "$caffe" compare $net -precision int8 $data -timing_iterations 1 -bisect -max_error 1e-5
has out.txt '^engine 1: 0 layers in FP32, error '
has out.txt '^widen [1-9] of [1-9] layers: -layer_precision '
widened=$(sed -n 's/^widen .*: //p' out.txt)
runs "$caffe" compare $net -precision int8 $data -timing_iterations 1 $widened -min_sqnr 90
# With a table the images only serve the comparison.
runs "$caffe" calibrate $net $data -calibration_table net.table
int8="-precision int8 -calibration_table net.table -timing_iterations 1"
runs "$caffe" compare $net $int8 -images list.txt -bisect -max_error 1e-5
has out.txt '^widen [1-9] of [1-9] layers: -layer_precision '
runs "$caffe" infer $net $int8 -images list.txt -top 1
has out.txt '^11.png$'
runs "$caffe" compare -model train_val.prototxt -weights net.caffemodel -precision fp32 -max_batch 4
has out.txt '^no blob is below'

# Bad input.
refuses 'missing.plan' "$caffe" time -plan missing.plan
head -c 200 net.plan > cut.plan
refuses 'cut.plan: it is truncated' "$caffe" time -plan cut.plan
refuses 'batch 3: .* is built for 1 to 2' "$caffe" time -plan net.plan -batch 3
refuses 'iterations must be positive' "$caffe" time -plan net.plan -iterations 0
refuses 'give -model or -plan to time' "$caffe" time -plan net.plan -model net.prototxt
refuses 'what shall the plan be tested on' "$caffe" test -plan net.plan
refuses 'a plan has its weights' "$caffe" test -plan net.plan $net
refuses 'reads no data to score the engine on' "$caffe" test -plan net.plan -model net.prototxt
refuses 'NumPy files have no labels' "$caffe" test -plan net.plan -npy rows.npy
sed 's/ [0-9]*$//' list.txt > plain.txt
refuses 'it has no label to test with' "$caffe" test -plan net.plan -images plain.txt
sed 's/ [0-9]*$/ 5/' list.txt > sixth.txt
refuses "0.png: its label 5 is none of the 5 classes of output 'prob', 0 to 4" "$caffe" test \
  -plan net.plan -images sixth.txt
for flag in '-precision fp16' '-workspace 4' '-max_batch 1' '-min_shape 1x3x8x8' '-level 1' \
  '-calibrator mse'; do
  refuses "${flag%% *} is for building an engine" "$caffe" infer -plan net.plan $flag 0.png
done
refuses 'iterations must be positive' "$caffe" infer -plan net.plan -iterations 0 0.png
for flag in '-batch 1' '-shape 1x3x8x8' '-hint latency'; do
  refuses "${flag%% *} is for a plan" "$caffe" time -model net.prototxt $flag
  refuses "${flag%% *} is for a plan" "$caffe" test -model train_val.prototxt $flag
done
# What is NaN in the net too is not compared.
{
  cat net.prototxt
  echo 'layer { name: "log" type: "Log" bottom: "prob" top: "log" log_param { scale: -1 } }'
} > nan.prototxt
runs "$caffe" compare -model nan.prototxt -weights net.caffemodel -precision fp32 -images list.txt
has out.txt 'log *log *FLOAT *NaN or inf in both$'
has out.txt "^note: [0-9]* of [0-9]* values of blob 'log' are NaN or infinite in the net itself"

for flag in '-phase TEST' -forward_only '-weights net.caffemodel' '-level 1' '-engine ONEDNN'; do
  refuses "${flag%% *} is for a net" "$caffe" time -plan net.plan $flag
done
refuses 'batch must be positive' "$caffe" time -plan net.plan -batch 0
refuses "ap_version 'mean' is unknown" "$caffe" test_detection -ap_version mean
refuses 'scale must be a finite number' "$caffe" infer -plan net.plan -scale nan 0.png
refuses 'infer needs an engine' "$caffe" infer 0.png
refuses 'infer needs trained weights' "$caffe" infer -model net.prototxt 0.png
refuses 'not both' "$caffe" infer -plan net.plan $net 0.png
refuses 'not both' "$caffe" infer -plan net.plan -images list.txt 0.png
refuses 'or name images' "$caffe" infer -plan net.plan
refuses 'missing.png: there is no such image' "$caffe" infer -plan net.plan missing.png
refuses 'net.prototxt: cannot be read as an image' "$caffe" infer -plan net.plan net.prototxt
printf 'ant\nbee\n' > two.txt
refuses "two.txt: it names 2 classes, output 'prob' has 5" "$caffe" infer -plan net.plan \
  -labels two.txt 0.png
refuses 'missing.txt' "$caffe" infer -plan net.plan -labels missing.txt 0.png
refuses 'top must be positive' "$caffe" infer -plan net.plan -top 0 0.png
refuses 'compare needs an engine' "$caffe" compare $net
refuses 'not both' "$caffe" compare $net -plan net.plan -precision fp16
refuses 'bisect builds engines' "$caffe" compare $net -plan net.plan -bisect
refuses 'fp32, fp16, bf16, int8' "$caffe" compare $net -precision half
refuses 'give one of -images, -data, -npy and -random' "$caffe" compare $net -plan net.plan \
  -images list.txt -random 2
refuses "has an input 'data' and net" "$caffe" compare -model <(sed 's/"data"/"x"/g' net.prototxt) \
  -weights net.caffemodel -plan net.plan
refuses "batch 4" "$caffe" compare -model train_val.prototxt -weights net.caffemodel -plan net.plan
echo 'use_plan: passed'
