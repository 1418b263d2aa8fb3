#!/usr/bin/env bash
# What a plan knows of its images: caffe build keeps it, and infer, compare, test and inspect use it.
set -euo pipefail
build=$2
source "$1/scripts/tests/lib/common.sh"
small_net
make_images 12 8
quick="-timing_iterations 0"

# Without flags the plan knows nothing: images go in as the flags of infer say, or as they are.
runs "$caffe" build $net -plan bare.plan $quick
runs "$caffe" infer -plan bare.plan -images list.txt -mean 100 -scale 0.01 -channel_order RGB
lacks err.txt '^note: the plan knows'
cp out.txt expected.txt
runs "$caffe" infer -plan bare.plan -images list.txt
has err.txt '^note: the plan knows no mean and scale'
runs "$caffe" infer -plan bare.plan -npy rows.npy
lacks err.txt '^note: the plan knows'
runs "$caffe" inspect -plan bare.plan
lacks out.txt '^images for'

# With them it needs none.
printf 'ant\nbee\ncat\ndog\neel\n' > labels.txt
runs "$caffe" build $net -plan net.plan $quick -mean 100 -scale 0.01 -channel_order RGB \
  -labels labels.txt
runs "$caffe" inspect -plan net.plan
has out.txt '^images for data: resized to 8x8, RGB, (value - 100) \* 0.01$'
has out.txt '^class names: 5$'
runs "$caffe" inspect -plan net.plan -json
has out.txt '"channel_order": "RGB"'
runs "$caffe" infer -plan net.plan -images list.txt
lacks err.txt '^note: the plan knows'
sed -E 's/^(  [0-9.]+  [0-4])  (ant|bee|cat|dog|eel)$/\1/' out.txt > unnamed.txt
cmp expected.txt unnamed.txt
has out.txt '  ant$'
printf 'a\nb\nc\nd\ne\n' > letters.txt
runs "$caffe" infer -plan net.plan -labels letters.txt 0.png
has out.txt '  a$'

# Flags may say the same, and nothing else.
runs "$caffe" infer -plan net.plan -images list.txt -mean 100,100,100 -scale 0.01 -channel_order RGB
cmp -s unnamed.txt <(sed -E 's/  (ant|bee|cat|dog|eel)$//' out.txt) || fail 'the same is not the same'
refuses '^.*-mean 90 contradicts the plan, which has 100: .*build the plan again' \
  "$caffe" infer -plan net.plan -mean 90 0.png
refuses '-scale 1 contradicts the plan, which has 0.01' \
  "$caffe" infer -plan net.plan -scale 1 0.png
refuses '-channel_order BGR contradicts the plan, which has RGB' \
  "$caffe" infer -plan net.plan -channel_order BGR 0.png
refuses '-resize 12x12 contradicts the plan, which has the size of the input' \
  "$caffe" infer -plan net.plan -resize 12x12 0.png
refuses '-mean 90 contradicts' "$caffe" compare $net -plan net.plan -images list.txt -mean 90
refuses '-mean 90 contradicts' "$caffe" test -plan net.plan -images list.txt -mean 90
runs "$caffe" compare $net -plan net.plan -images list.txt
has out.txt '^no blob is below'
GLOG_minloglevel=0 runs "$caffe" test -plan net.plan -images list.txt
has err.txt '] Tested on 12 images.'

# An engine that normalizes: mean and scale are not done twice.
runs "$caffe" build $net -plan pixels.plan $quick -normalize -mean 100 -scale 0.01 -channel_order RGB
runs "$caffe" infer -plan pixels.plan -images list.txt
cmp expected.txt out.txt
refuses '-mean: the plan was built with -normalize and computes (value - 100) \* 0.01 itself' \
  "$caffe" infer -plan pixels.plan -mean 100 0.png
refuses '-scale: the plan was built with -normalize' \
  "$caffe" infer -plan pixels.plan -scale 0.01 0.png
runs "$caffe" compare $net -plan pixels.plan -images list.txt
has out.txt '^no blob is below'
# Blobs that are overwritten in the net are not compared under the optimizer's names.
runs "$caffe" build $net -plan steps.plan $quick -normalize -mean 100 -scale 0.01 \
  -skip_pass affine,activations
runs "$caffe" inspect -plan steps.plan -graph
has out.txt 'conv_before_relu'
runs "$caffe" compare $net -plan steps.plan -images list.txt
has out.txt '^   *conv  '
lacks out.txt '_before_'

# A transform_param of the net, with a mean image that is not there any more: it is in the plan.
python3 - <<'PYTHON'
import struct
def field(number, kind, data):
    return bytes([number << 3 | kind]) + data
def varint(value):
    data = b''
    while value > 127:
        data, value = data + bytes([value & 127 | 128]), value >> 7
    return data + bytes([value])
values = [float(i % 200) for i in range(3 * 10 * 10)]
packed = struct.pack(f'<{len(values)}f', *values)
shape = b''.join(field(n, 0, varint(v)) for n, v in ((1, 1), (2, 3), (3, 10), (4, 10)))
open('mean.binaryproto', 'wb').write(shape + field(5, 2, varint(len(packed)) + packed))
PYTHON
runs "$caffe" infer -plan bare.plan -images list.txt -mean mean.binaryproto -scale 0.01
cp out.txt expected.txt
sed '0,/input_param/ s/top: "data"$/& transform_param { mean_file: "mean.binaryproto" scale: 0.01 crop_size: 8 }/' \
  net.prototxt > trained.prototxt
has trained.prototxt 'mean_file'
runs "$caffe" build -model trained.prototxt -weights net.caffemodel -plan trained.plan $quick
rm mean.binaryproto
runs "$caffe" inspect -plan trained.plan
has out.txt '^images for data: resized to 10x10, cut in the middle to 8x8, BGR, (value - an image of 300 values)'
runs "$caffe" infer -plan trained.plan -images list.txt
cmp expected.txt out.txt
runs "$caffe" compare $net -plan trained.plan -images list.txt
has out.txt '^no blob is below'
runs "$caffe" compare $net -plan trained.plan
has out.txt '^no blob is below'
# Without it a build goes on, and says what it could not keep.
runs "$caffe" build -model trained.prototxt -weights net.caffemodel -plan a.plan $quick
has out.txt '^note: the plan will not know how images are prepared: .*mean.binaryproto'

# Calibration sees what infer will.
runs "$caffe" build $net -plan int8.plan $quick -precision int8 -images list.txt -min_images 12 \
  -mean 100 -scale 0.01
runs "$caffe" compare $net -plan int8.plan -images list.txt -min_sqnr 10
runs "$caffe" build $net -plan net.plan $quick -mean 100 -images list.txt -report net.html \
  -report_seconds 0.01
has net.html 'images for'
refuses 'the mean has 2 values' "$caffe" build $net -plan a.plan $quick -mean 1,2

# A detector of plates that finds false ones where mean and scale are left out.
data=${CAFFE_TEST_DATA:-$1/../shared/data}
model=$data/models/hyperlpr_mininet_ssd_v1
if [ ! -e "$model" ]; then
  echo "SKIPPED: no $model"
  exit 0
fi
plates="-model $model/deploy.prototxt -weights $model/weights.caffemodel"
image=$data/images/plates/zeusees_1.jpg
runs "$caffe" build $plates -plan plates.plan $quick -mean 127.5 -scale 0.007843
runs "$caffe" infer -plan plates.plan "$image"
[ "$(wc -l < out.txt)" = 1 ] || fail 'not one plate'
has out.txt '  1  0.93[0-9]*  0.35[0-9]*  0.43[0-9]*  0.55[0-9]*  0.48[0-9]*$'
runs "$caffe" build $plates -plan bare.plan $quick
runs "$caffe" infer -plan bare.plan "$image"
has err.txt '^note: the plan knows no mean and scale'
