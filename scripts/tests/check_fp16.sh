#!/usr/bin/env bash
# caffe check_fp16 on the command line: what it prints and writes, and how it refuses bad input.
set -euo pipefail
build=$2
source "$1/scripts/tests/lib/common.sh"

# A net with values of 255e4 between two layers, and its weights: a caffemodel without blobs keeps
# the fillers' values.
cat > net.prototxt <<'TEXT'
name: "jump"
layer { name: "data" type: "Input" top: "data"
  input_param { shape { dim: 2 dim: 3 dim: 4 dim: 4 } } }
layer { name: "up" type: "Convolution" bottom: "data" top: "up"
  convolution_param { num_output: 2 kernel_size: 1 weight_filler { value: 1e4 } } }
layer { name: "relu" type: "ReLU" bottom: "up" top: "up" }
layer { name: "down" type: "InnerProduct" bottom: "up" top: "down"
  inner_product_param { num_output: 3 weight_filler { value: 1e-6 } } }
layer { name: "prob" type: "Softmax" bottom: "down" top: "prob" }
TEXT
printf '\n\004jump' > net.caffemodel
net="-model net.prototxt -weights net.caffemodel"

runs "$caffe" check_fp16 --help
has out.txt 'usage: caffe check_fp16'
runs "$caffe" --help
has out.txt 'check_fp16'

runs "$caffe" check_fp16 $net -random 2 -plot plot.svg
has out.txt "region: from layer 'up' to layer 'down'"
has out.txt '^!  up     Convolution'
has plot.svg '^<svg'

runs "$caffe" check_fp16 $net -random 2 -json
cp out.txt out.json
python3 - <<'PYTHON'
import json
report = json.load(open('out.json'))
assert report['batches'] == 2, report['batches']
assert [layer['name'] for layer in report['layers']] == ['data', 'up', 'relu', 'down', 'prob']
assert report['regions'][0]['from'] == 'up' and report['regions'][0]['to'] == 'down'
assert report['layers'][1]['tops'][0]['share_above'] > 0.9
PYTHON

# The cured net, from files, computes the same and fits.
runs "$caffe" check_fp16 $net -random 2 -fix fp16.prototxt fp16.caffemodel
has out.txt "scaled by 1/p"
has out.txt "output 'prob' in FLOAT: differs by at most 0,"
has fp16.prototxt '^default_forward_type: FLOAT16'
runs "$caffe" check_fp16 -model fp16.prototxt -weights fp16.caffemodel -random 2
has out.txt "no blob leaves FP16's range"
runs "$caffe" time -phase TEST -model fp16.prototxt -weights fp16.caffemodel -iterations 1

# Images: a grey one of 8 x 8, with a space in its name, and a list with a label.
python3 - <<'PYTHON'
import struct
import zlib
def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
rows = b''.join(b'\0' + bytes(range(8 * y, 8 * y + 8)) for y in range(8))
with open('an image.png', 'wb') as file:
    file.write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 8, 8, 8, 0, 0, 0, 0)) +
               chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))
PYTHON
printf 'an image.png 3\n\n' > list.txt
runs "$caffe" check_fp16 $net -images list.txt -mean 10,20,30 -scale 2 -channel_order RGB
# The last four pixels, 54, 55, 62 and 63, become 59 at half the size: (59 - 10) * 2.
has out.txt '^   data  *Input  *data  *98 '
has out.txt "region: from layer 'up'"

# Bad input.
wrong() { refuses "$1" "$caffe" check_fp16 "${@:2}"; }
wrong 'needs a net definition' -weights net.caffemodel
wrong 'needs trained weights' -model net.prototxt
wrong 'Give -images FOLDER (or a list), -data DB or -npy FILE' $net
wrong 'give one of -images, -data, -npy and -random' $net -random 1 -images list.txt
wrong 'missing.txt: there is no such file' $net -images missing.txt
: > empty.txt
wrong 'empty.txt: the file is empty' $net -images empty.txt
printf '\n\n' > blank.txt
wrong 'blank.txt: the list names no images' $net -images blank.txt
# What no terminal should get is not shown: binary files, and names in other encodings.
wrong 'an image.png: this is not a list of images, it looks like an image (PNG): -images takes' \
  $net -images 'an image.png'
printf 'a\033[31mb\n' > binary.txt
wrong 'binary.txt: this is not a list of images, byte 1 is no text' $net -images binary.txt
printf 'caf\351.png\n' > latin.txt
wrong "latin.txt, line 1: 'caf.xe9.png': there is no such image" $net -images latin.txt
! LC_ALL=C grep -q "$(printf '\351')" err.txt || fail 'a byte that is not text was printed'
echo 'no_such.png 1' > wrong.txt
wrong "wrong.txt, line 1: 'no_such.png 1': there is no such image" $net -images wrong.txt
wrong 'missing_lmdb' $net -data missing_lmdb
wrong '/no/such/folder/plot.svg' $net -random 1 -plot /no/such/folder/plot.svg
wrong '/no/such/folder/a.prototxt' $net -random 1 -fix /no/such/folder/a.prototxt b.caffemodel
wrong 'fix takes two files' $net -random 1 -fix a.prototxt
wrong 'net.prototxt would be overwritten, which -model reads' $net -random 1 -fix net.prototxt b.caffemodel
wrong "'out.json' is not expected" $net -random 1 -json out.json
wrong '1,1x: cannot be opened' $net -random 1 -mean 1,1x
wrong "'x' in '1,x' is not a number" $net -random 1 -constant data=1,x
wrong 'valid are BGR and RGB' $net -random 1 -channel_order GBR
wrong 'headroom must be 1 or more' $net -random 1 -headroom 0.5
wrong 'max_subnormal must be a share between 0 and 1, got 7' \
  $net -random 1 -max_subnormal 7 -fix a.prototxt b.caffemodel
[ ! -s out.txt ] || fail '-max_subnormal was refused only after the inspection'
wrong "no input 'other'" $net -random 1 -constant other=1
[ ! -e a.prototxt ] && [ ! -e b.caffemodel ] || fail 'files were written though the command failed'
sed 's/num_output: 2/num_output: 7/' fp16.prototxt > other.prototxt
wrong "up.*shape" -model other.prototxt -weights fp16.caffemodel -random 1
echo 'check_fp16: passed'
