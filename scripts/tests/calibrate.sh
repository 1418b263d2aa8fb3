#!/usr/bin/env bash
# caffe calibrate on the command line: what it prints and writes, and how it refuses bad input.
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
# refuses WANTED ARGUMENTS...: status 1, and the last lines of stderr say WANTED.
refuses() {
  local wanted=$1 status=0
  shift
  "$caffe" calibrate "$@" > out.txt 2> err.txt || status=$?
  [ $status = 1 ] || fail "status $status of: $*"
  tail -n 2 err.txt | grep -q -- "$wanted" || fail "no '$wanted' from: $*"
}

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

# 12 pictures of noise, the same ones as NumPy's rows (RGB, less 100), and a list of the pictures.
python3 - <<'PYTHON'
import random
import struct
import zlib
random.seed(1)
def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
rows = []
for number in range(12):
    pixels = [[[random.randrange(256) for _ in range(3)] for _ in range(4)] for _ in range(4)]
    data = b''.join(b'\0' + bytes(sum(row, [])) for row in pixels)
    with open(f'{number}.png', 'wb') as file:
        file.write(b'\x89PNG\r\n\x1a\n' +
                   chunk(b'IHDR', struct.pack('>IIBBBBB', 4, 4, 8, 2, 0, 0, 0)) +
                   chunk(b'IDAT', zlib.compress(data)) + chunk(b'IEND', b''))
    rows += [pixels[y][x][c] - 100. for c in range(3) for y in range(4) for x in range(4)]
header = "{'descr': '<f4', 'fortran_order': False, 'shape': (12, 3, 4, 4), }"
header += ' ' * (-(10 + len(header) + 1) % 64) + '\n'
with open('rows.npy', 'wb') as file:
    file.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header.encode() +
               struct.pack(f'<{len(rows)}f', *rows))
with open('list.txt', 'w') as file:
    file.writelines(f'{number}.png {number % 3}\n' for number in range(12))
PYTHON
list="$net -images list.txt -min_images 12"

"$caffe" calibrate --help > out.txt
has out.txt 'usage: caffe calibrate'
has out.txt '^example:'
"$caffe" --help > out.txt
has out.txt 'caffe calibrate --help'

# Each calibrator writes a table of all blobs, and the table that is printed lines up.
for calibrator in entropy minmax percentile mse; do
  "$caffe" calibrate $list -calibrator $calibrator -calibration_table $calibrator.table \
    -plot plot.svg > out.txt 2> err.txt
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

# NumPy's rows are the pictures as the net takes them.
"$caffe" calibrate $list -mean 100 -channel_order RGB -calibration_table list.table > out.txt \
  2> err.txt
"$caffe" calibrate $net -npy rows.npy -min_images 12 -calibration_table npy.table > out.txt \
  2> err.txt
"$caffe" calibrate $net -npy data=rows.npy -min_images 12 -calibration_table named.table \
  > out.txt 2> err.txt
for table in npy named; do
  # The fillers draw other weights in each run: only the input is the same.
  diff <(grep '^"data"' list.table) <(grep '^"data"' $table.table) || fail "$table.table differs"
done

# Fewer batches, of two pictures each.
"$caffe" calibrate $net -images list.txt -batches 3 -min_images 6 -calibration_table few.table \
  > out.txt 2> err.txt
has few.table '^images: 6'

# A database.
"$build"/tools/convert_imageset "$work/" list.txt pictures_lmdb > out.txt 2> err.txt
"$caffe" calibrate $net -data pictures_lmdb -min_images 12 -leave_out scores \
  -calibration_table db.table > out.txt 2> err.txt
has db.table '^images: 12'
grep -q '^"scores"  ' db.table && fail 'scores were not left out'

# Batches of five: the last one is filled up with pictures that count once.
sed 's/dim: 2 dim: 3/dim: 5 dim: 3/' net.prototxt > five.prototxt
for input in '-images list.txt' '-data pictures_lmdb' '-npy rows.npy'; do
  "$caffe" calibrate -model five.prototxt -weights net.caffemodel $input -min_images 12 \
    -calibration_table five.table > out.txt 2> err.txt
  has five.table '^images: 12'
done

# To TensorRT and back; by way of an ncnn table.
"$caffe" calibrate -model net.prototxt -from_table entropy.table -tensorrt_cache a.cache \
  -tensorrt_version 8401 > out.txt 2> err.txt
has a.cache '^TRT-8401-EntropyCalibration2$'
has a.cache '^data: 4000'
"$caffe" calibrate -model net.prototxt -from_table a.cache -calibration_table trt.table \
  -tensorrt_cache b.cache -tensorrt_version 8401 > out.txt 2> err.txt
cmp a.cache b.cache
has trt.table '^"conv"  .* s8 '
has out.txt '^blob  *type  *threshold  *scale$'
printf 'conv_param_0 63.5 127.0\nconv 63.500000\n' > ncnn.table
"$caffe" calibrate -model net.prototxt -from_table ncnn.table -calibration_table from_ncnn.table \
  > out.txt 2> err.txt
has from_ncnn.table '^"data"  2 '

# Bad input.
refuses 'needs a net definition' -calibration_table a.table
refuses 'needs to know where the table goes' $net -images list.txt
refuses 'needs trained weights' -model net.prototxt -images list.txt -calibration_table a.table
refuses 'Give -images LIST, -data DB or -npy FILE' $net -calibration_table a.table
refuses 'needs 100 images or more, there are 12' $net -images list.txt -calibration_table a.table
refuses "'kl' is not known: valid are entropy, minmax, percentile and mse" $list -calibrator kl \
  -calibration_table a.table
refuses 'a percentile lies above 0' $list -calibrator percentile -percent 101 \
  -calibration_table a.table
refuses "no blob 'score'" $list -leave_out score -calibration_table a.table
refuses "blob 'data' of layer 'data' is zero on all images" $list -scale 0 \
  -calibration_table a.table
refuses '/no/such/folder' $list -calibration_table /no/such/folder/a.table
refuses "rows.npy: the net has no input 'date'" $net -npy date=rows.npy -calibration_table a.table
refuses 'missing.npy: cannot be read' $net -npy missing.npy -calibration_table a.table
echo 'TRT-8401-EntropyCalibration2
data 3f800000' > bad.cache
refuses "bad.cache, line 2: 'data 3f800000' is not" -model net.prototxt -from_table bad.cache \
  -calibration_table a.table
[ ! -e a.table ] || fail 'a table was written though the command failed'
echo 'calibrate: passed'
