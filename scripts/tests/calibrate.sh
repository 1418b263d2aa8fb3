#!/usr/bin/env bash
# caffe calibrate on the command line: what it prints and writes, and how it refuses bad input.
set -euo pipefail
build=$2
source "$1/scripts/tests/lib/common.sh"

# A net with a blob in place, and its weights: a caffemodel without blobs keeps the fillers' values.
cat > net.prototxt <<'TEXT'
name: "net"
layer { name: "data" type: "Input" top: "data"
  input_param { shape { dim: 2 dim: 3 dim: 4 dim: 4 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 2 kernel_size: 3 weight_filler { value: 0.05 }
    bias_filler { value: 0.1 } } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "scores" type: "InnerProduct" bottom: "conv" top: "scores"
  inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
TEXT
printf '\n\003net' > net.caffemodel
net="-model net.prototxt -weights net.caffemodel"

make_images 12 4
python3 - <<'TEXT'
import struct
header = "{'descr': '<f4', 'fortran_order': False, 'shape': (300, 3, 8, 8), }"
header += " " * (-(10 + len(header) + 1) % 64) + "\n"
values = [0.4 + 0.001 * (i % 97) for i in range(57600)]
values[5] = 300.0
with open("wide.npy", "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    file.write(struct.pack("<57600f", *values))
TEXT
list="$net -images list.txt -min_images 12"

runs "$caffe" calibrate --help
has out.txt 'usage: caffe calibrate'
has out.txt '^example:'
runs "$caffe" --help
has out.txt '^  calibrate '

# Each calibrator writes a table of all blobs, and the table that is printed lines up.
for calibrator in entropy minmax percentile mse; do
  runs "$caffe" calibrate $list -calibrator $calibrator -calibration_table $calibrator.table \
    -plot plot.svg
  has out.txt '^blob  *layer  *type  *min  *max  *threshold  *saturated  *signal/noise$'
  has out.txt "^wrote $calibrator.table"
  has $calibrator.table '^cortado calibration table 1'
  has $calibrator.table '^images: 12'
  has $calibrator.table "^\"data\"    *[0-9.]*  *u8  *0  *25[0-9]  *$calibrator"
  has $calibrator.table "^\"conv\"  .* $calibrator"
  has $calibrator.table "^\"scores\"  .*$calibrator"
  has $calibrator.table '^"scores" [0-9.e-]* [0-9.e-]* [0-9.e-]*$'
  has plot.svg '^<svg'
  has plot.svg '>conv</text>'
  python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("plot.svg")'
done

# Where no calibrator is named the outputs decide, and the table says how. Few images are warned of.
runs "$caffe" calibrate $net -images list.txt -calibration_table auto.table
chosen='error of the outputs on 12 of 12 images: mse .* %, percentile .* %, entropy .* %, minmax'
has out.txt "^$chosen .* %: [a-z]*$"
has auto.table "^# $chosen .* %: [a-z]*$"
has out.txt '^note: 12 images are few: thresholds are better with 100 or more'
method=$(sed -n 's/^# error of the outputs.*: //p' auto.table)
has auto.table "^\"data\" .* $method$"
runs "$caffe" calibrate -model net.prototxt -from_table auto.table -calibration_table same.table
cmp auto.table same.table
runs "$caffe" calibrate $list -calibration_table demanded.table
lacks out.txt 'images are few'

# A blob that INT8 rounds badly is named, with what reads it and what can be done. (A net with trained
# weights: build refuses those that fit no layer.)
mkdir trained
cd trained
small_net
runs "$caffe" build $net -npy ../wide.npy -calibrator minmax -precision int8 -plan wide.plan
has out.txt "^  'data' of layer 'data', read by 'conv': [0-9.]* dB$"
has out.txt '^Remedies: .*-layer_precision conv=fp32'
runs "$caffe" build $net -npy ../wide.npy -calibrator minmax -precision int8 \
  -layer_precision conv=fp32 -plan wide.plan
lacks out.txt "'data' of layer 'data'"
cd ..

# NumPy's rows are the images as the net takes them.
mse="-min_images 12 -calibrator mse" # which of them is the best depends on the weights
runs "$caffe" calibrate $net -images list.txt $mse -mean 100 -channel_order RGB -calibration_table list.table
runs "$caffe" calibrate $net -npy rows.npy $mse -calibration_table npy.table
runs "$caffe" calibrate $net -npy data=rows.npy $mse -calibration_table named.table
for table in npy named; do
  # The fillers draw other weights in each run: only the input is the same.
  diff <(grep '^"data"' list.table | tr -s ' ') <(grep '^"data"' $table.table | tr -s ' ') ||
    fail "$table.table differs"
done

# Fewer batches, of two images each.
runs "$caffe" calibrate $net -images list.txt -batches 3 -min_images 6 -calibration_table few.table
has few.table '^images: 6'

# A database.
runs "$build"/tools/convert_imageset "$work/" list.txt images_lmdb
runs "$caffe" calibrate $net -data images_lmdb -min_images 12 -leave_out scores \
  -calibration_table db.table
has db.table '^images: 12'
grep -q '^"scores"  ' db.table && fail 'scores were not left out'

# Batches of five: the last one is filled up with images that count once.
sed 's/dim: 2 dim: 3/dim: 5 dim: 3/' net.prototxt > five.prototxt
for input in '-images list.txt' '-data images_lmdb' '-npy rows.npy'; do
  runs "$caffe" calibrate -model five.prototxt -weights net.caffemodel $input -min_images 12 \
    -calibration_table five.table
  has five.table '^images: 12'
done

# To TensorRT and back; by way of an ncnn table.
runs "$caffe" calibrate -model net.prototxt -from_table entropy.table -tensorrt_cache a.cache \
  -tensorrt_version 8401
has a.cache '^TRT-8401-EntropyCalibration2$'
has a.cache '^data: 4000'
runs "$caffe" calibrate -model net.prototxt -from_table a.cache -calibration_table trt.table \
  -tensorrt_cache b.cache -tensorrt_version 8401
cmp a.cache b.cache
has trt.table '^"conv"  .* s8 '
has out.txt '^blob  *type  *threshold  *scale$'
printf 'conv_param_0 63.5 127.0\nconv 63.500000\n' > ncnn.table
runs "$caffe" calibrate -model net.prototxt -from_table ncnn.table \
  -calibration_table from_ncnn.table
has from_ncnn.table '^"data"  2 '

# Bad input.
wrong() { refuses "$1" "$caffe" calibrate "${@:2}"; }
wrong 'needs a net definition' -calibration_table a.table
wrong 'needs to know where the table goes' $net -images list.txt
wrong 'needs trained weights' -model net.prototxt -images list.txt -calibration_table a.table
wrong 'Give -images FOLDER (or a list), -data DB or -npy FILE' $net -calibration_table a.table
wrong 'needs 13 images or more, there are 12' $net -images list.txt -min_images 13 \
  -calibration_table a.table
wrong '-min_images must be positive, got 0' $list -min_images 0 -calibration_table a.table
wrong "'kl' is not known: valid are auto, entropy, minmax, percentile and mse" $list -calibrator kl \
  -calibration_table a.table
wrong 'a percentile lies above 0' $list -calibrator percentile -percent 101 \
  -calibration_table a.table
wrong "no blob 'score'" $list -leave_out score -calibration_table a.table
answers 1 "$caffe" calibrate $list -scale 0 -calibration_table a.table
has err.txt "^caffe: blob 'data' of layer 'data' is zero on all images"
for output in '-calibration_table' '-calibration_table a.table -plot' '-tensorrt_cache'; do
  wrong 'net.caffemodel would be overwritten, which -weights reads' $list $output net.caffemodel
done
wrong 'list.txt would be overwritten, which -images reads' $list -calibration_table list.txt
wrong 'is what -calibration_table writes' $list -calibration_table a.table -tensorrt_cache a.table
wrong 'entropy.table would be overwritten, which -from_table reads' -model net.prototxt \
  -from_table entropy.table -calibration_table entropy.table
for flag in '-images list.txt' '-calibrator mse' '-plot a.svg' '-batches 3'; do
  wrong "${flag%% *} needs the net to run" -model net.prototxt -from_table entropy.table $flag \
    -calibration_table a.table
done
wrong 'percent is for -calibrator percentile' $list -calibrator minmax -percent 99 \
  -calibration_table a.table
wrong 'tensorrt_version -1 is no number' $list -tensorrt_version -1 -tensorrt_cache a.table
wrong 'scale is for images' $net -npy rows.npy -scale 2 -calibration_table a.table
wrong '/no/such/folder' $list -calibration_table /no/such/folder/a.table
wrong "rows.npy: the net has no input 'date'" $net -npy date=rows.npy -calibration_table a.table
wrong 'missing.npy: cannot be read' $net -npy missing.npy -calibration_table a.table
echo 'TRT-8401-EntropyCalibration2
data 3f800000' > bad.cache
wrong "bad.cache, line 2: 'data 3f800000' is not" -model net.prototxt -from_table bad.cache \
  -calibration_table a.table
[ ! -e a.table ] || fail 'a table was written though the command failed'
echo 'calibrate: passed'
